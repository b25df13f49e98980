"""Closes everything that its process has open when it is imported."""

import os

os.closerange(0, 64)
