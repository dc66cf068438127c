"""Data sets and trained weights, each with where it comes from: see README.md"""
