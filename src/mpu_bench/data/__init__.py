"""Datasets: cards, downloads, readers, generators, and prepared memory-mapped arrays."""
