"""The algorithms of the paper on plain numpy. They use the majority classes only through a protocol, `pool.py`."""
