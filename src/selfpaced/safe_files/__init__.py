"""Files that run no code when they are loaded: skops archives with only types on a fixed list."""
