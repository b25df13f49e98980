"""Starts a program in a session of its own, and leaves it."""

import subprocess
import sys

from faults.animal import Animal


class LeavesADaemon(Animal):
    name = "leaves-a-daemon"

    def act(self, state):
        subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)
