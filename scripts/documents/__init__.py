"""The pages of docs/ that `scripts/document.py` writes; a file for each kind."""
