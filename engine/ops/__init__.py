"""The table of operations: see table.py for what a row is."""
