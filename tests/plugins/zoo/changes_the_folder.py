"""Works in another folder, which it removes."""

import os
import tempfile

from faults.animal import Animal


class ChangesTheFolder(Animal):
    name = "changes-the-folder"

    def act(self, state):
        folder = tempfile.mkdtemp()
        os.chdir(folder)
        os.rmdir(folder)
