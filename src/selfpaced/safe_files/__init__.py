"""Files that run nothing when they are loaded: archives of skops that hold only types on a fixed list."""
