"""Controls the clocks of a running program, by tests/it/preload/machine.c, which the build compiles."""

import contextlib
import os
import pathlib
import shutil
import struct
import tempfile
import time

BUILD = pathlib.Path(__file__).resolve().parents[2] / "target" / "tested" / "build"
#: The memory page that machine.c reads, in nanoseconds: how far all clocks are ahead, when they were stopped,
#: and the distance from the zero of the monotonic clock to that of the real-time clock.
JUMPED, FROZEN, EPOCH, SIZE = 0, 8, 48, 56


def library():
    """The library from the newest build of tests/it."""
    built = list(BUILD.glob("idgate-it-*/out/preload.so"))
    if not built:
        raise AssertionError(f"no preload.so below {BUILD}: run tests/run.sh --only build")
    return max(built, key=lambda file: file.stat().st_mtime)


class Machine:
    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="idgate-machine-")
        self.path = os.path.join(self.folder, "machine")
        with open(self.path, "wb") as file:
            file.write(bytes(SIZE))
        self.file = os.open(self.path, os.O_RDWR)
        self._write(EPOCH, time.time_ns() - time.clock_gettime_ns(time.CLOCK_MONOTONIC))
        #: The environment for programs that use these clocks.
        self.environment = {"TEST_MACHINE": self.path, "LD_PRELOAD": str(library())}

    def jump(self, seconds):
        """Moves the clocks forward by this time."""
        self._write(JUMPED, self._read(JUMPED) + int(seconds * 1e9))

    def freeze(self):
        """Stops the clocks: from now on time passes only by jumps."""
        self._write(FROZEN, time.clock_gettime_ns(time.CLOCK_MONOTONIC))

    def thaw(self):
        """Restarts the clocks from where they stopped."""
        stopped = time.clock_gettime_ns(time.CLOCK_MONOTONIC) - self._read(FROZEN)
        # One write for both values: between two writes the clocks would go back.
        os.pwrite(self.file, struct.pack("=qq", self._read(JUMPED) - stopped, 0), JUMPED)

    @contextlib.contextmanager
    def frozen(self):
        """Stops the clocks while the block runs."""
        self.freeze()
        try:
            yield
        finally:
            self.thaw()

    def remove(self):
        os.close(self.file)
        shutil.rmtree(self.folder)

    def _read(self, at):
        return struct.unpack("=q", os.pread(self.file, 8, at))[0]

    def _write(self, at, value):
        os.pwrite(self.file, struct.pack("=q", value), at)
