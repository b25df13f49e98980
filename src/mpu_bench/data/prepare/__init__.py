"""Chunks -> arrays on disk -> a problem."""
