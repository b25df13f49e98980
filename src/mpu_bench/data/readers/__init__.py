"""Files of a dataset -> chunks of rows."""
