"""From an experiment to records: the plan, the workers that run it, the store that keeps the results."""
