"""User files: read whatever their format, looked at, and made into datasets without a copy."""
