import sys
from pathlib import Path

# tests/references holds what several test folders share
sys.path.insert(0, str(Path(__file__).parents[1]))
