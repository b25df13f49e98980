"""Trained models as files: one safe format, and what is made of it."""
