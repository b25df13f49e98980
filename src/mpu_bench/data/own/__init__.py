"""Files of the user's own: read whatever their format, looked at, and made into datasets without a copy."""
