"""Faults injected on purpose, and what must be true after each: in short in the tests, at length by ``make soak``."""
