"""Validation in the order of time: train, wait for the labels, test, roll on."""
