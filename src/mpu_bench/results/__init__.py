"""Records on disk, and what is summed up from them."""
