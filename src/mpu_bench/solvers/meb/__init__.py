"""Minimal enclosing balls of frank-wolfe-2012."""
