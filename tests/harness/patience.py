"""Waits of Python tests: always for an event, never for a time. The cap ends only a test that hangs."""

import os
import random
import socket
import time

#: A minute, times the whole number in `IDGATE_TEST_PATIENCE`. No verdict depends on it.
PATIENCE = 60.0 * int(os.environ.get("IDGATE_TEST_PATIENCE") or 1)


def found_by(look, seconds=PATIENCE):
    """Repeats `look` until it finds something, and returns that. At the cap it returns the last result."""
    # reason: the cap, which only a hang reaches
    deadline, pause = time.monotonic() + seconds, 0.001
    # reason: the cap, which only a hang reaches
    while not (found := look()) and time.monotonic() < deadline:
        # reason: the pause between two looks; the test waits for the event
        time.sleep(pause)
        pause = min(2 * pause, 0.05)
    return found


def eventually(what, look):
    """Waits until `look` returns something, and returns it."""
    found = found_by(look)
    if not found:
        raise AssertionError(f"never: {what}")
    return found


def accepts(port):
    """Whether a program listens on this port of this machine."""
    try:
        socket.create_connection(("127.0.0.1", port), timeout=PATIENCE).close()
        return True
    except OSError:
        return False


def free_port():
    """A port for a program that must be told one. The kernel gives it to nothing else: it is below those that it
    draws."""
    while True:
        port = random.randrange(20_000, 32_000)
        try:
            with socket.create_server(("127.0.0.1", port)):
                return port
        except OSError:
            continue
