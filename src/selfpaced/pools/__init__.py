"""Where the majority lives: the same verbs for rows in memory, in files and on clusters."""
