"""Which classifier suits given data: candidates are tuned, compared and timed within a number of seconds."""
