"""Prints megabytes, and what looks like a table."""

import os
import sys

from faults.animal import Animal


class PrintsMuch(Animal):
    name = "prints-much"

    def act(self, state):
        print("a table of its own" * 200_000)
        os.write(1, b"a table of its own\n")
        sys.stderr.write("\x1b]0;a title of its own\x07\n")
