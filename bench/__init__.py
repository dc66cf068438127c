"""Measurements: ratios against the plain PyTorch call, and figures against the targets. Never part of the tests."""
