"""Public implementations to compare with, run whole: one advance finishes them."""
