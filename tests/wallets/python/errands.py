"""A wallet that is a program of its own: it reads errands in JSON, one a line, and says in a line how each went."""

import json
import pathlib
import subprocess
import sys
import threading

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "harness"))

from patience import PATIENCE  # noqa: E402


class Errands:
    """The process of this command, which runs one errand after the other; what it logs is in the file `log`."""

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
        """How it went: where the user is sent, or what went wrong."""
        # One that does not answer would leave the line below waiting for ever.
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
    """Runs to the end; what it said is shown if it fails. Gives what it said."""
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
