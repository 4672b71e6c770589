"""Comparing recipes, and the ways to make one model of several."""
