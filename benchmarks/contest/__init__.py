"""The parts of `field.py`: tables, methods, results, statistics and the page."""
