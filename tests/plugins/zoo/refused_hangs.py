"""Sleeps when it is imported, with a child that sleeps, too."""

import os
import time

os.fork()
time.sleep(600)
