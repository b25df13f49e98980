"""What a dataset is: one card each."""
