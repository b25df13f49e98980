"""Batch kernel machines of sbp-2012, which keep the responses of all examples."""
