"""Sends the result of another run over everything that its process has open."""

import json
import os
import struct
from contextlib import suppress

from faults.animal import Animal


class SendsAResult(Animal):
    name = "sends-a-result"

    def act(self, state):
        record = {"status": "done", "reason": "", "objective": -1e9, "peak_memory_mb": 1.0, "train_seconds": 0.0}
        for kind in ("Finished", "finished"):
            text = json.dumps({"kind": kind, "record": record, "checkpoints": []}).encode()
            for number in range(3, 64):
                with suppress(OSError):
                    os.set_blocking(number, False)
                    os.write(number, struct.pack("!i", len(text)) + text)
