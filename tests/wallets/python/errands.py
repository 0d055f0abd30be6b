"""A wallet as a separate program: it reads errands in JSON, one a line, and prints the outcome of each in a line."""

import json
import pathlib
import subprocess
import sys
import threading

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "harness"))

from patience import PATIENCE  # noqa: E402


class Errands:
    """The process of this command. It runs one errand after the other, and logs to the file `log`."""

    def __init__(self, log, *command):
        self.log = open(log, "w", encoding="utf-8")
        self.process = subprocess.Popen(
            [str(part) for part in command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.log,
            text=True,
        )

    def run(self, errand):
        """The outcome: the address for the user, or the error."""
        # Without this, a wallet that does not answer would block the next line forever.
        timer = threading.Timer(PATIENCE, self.process.kill)
        timer.start()
        try:
            self.process.stdin.write(json.dumps(errand) + "\n")
            self.process.stdin.flush()
            return json.loads(self.process.stdout.readline())
        finally:
            timer.cancel()

    def stop(self):
        """Ends it."""
        self.process.communicate(timeout=PATIENCE)
        self.log.close()


def run(*command, **environment):
    """Runs a command and returns its output. If it fails, the error shows the output."""
    done = subprocess.run(
        [str(part) for part in command],
        timeout=10 * PATIENCE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        **environment,
    )
    if done.returncode:
        raise AssertionError(f"{command[0]} failed:\n{done.stdout[-4000:]}")
    return done.stdout
