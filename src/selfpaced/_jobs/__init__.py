"""From a file to a decision: the work of each command as a function that prints nothing. Internal."""
