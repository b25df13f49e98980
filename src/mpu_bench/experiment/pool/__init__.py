"""Runs in other processes, behind one interface."""
