"""Loops that train and yield progress."""
