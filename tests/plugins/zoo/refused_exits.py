"""Leaves by sys.exit when it is imported."""

import sys

sys.exit(3)
