"""The pools of majority rows, with the same methods for rows in memory, in files and on clusters."""
