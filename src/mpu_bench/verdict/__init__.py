"""Published against measured."""
