"""What the commands share: opening a table, splitting it, cautions about it, engines."""
