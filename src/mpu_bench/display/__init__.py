"""What a person sees in a terminal: tables, and what goes on while an experiment runs."""
