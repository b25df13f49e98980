"""What every solver stands on: rows, kernels, counters, problems and models."""
