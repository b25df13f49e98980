"""A YAML file -> an experiment."""
