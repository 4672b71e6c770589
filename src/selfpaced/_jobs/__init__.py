"""The work of each command as a function that prints nothing. Internal."""
