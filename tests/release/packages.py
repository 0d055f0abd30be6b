"""Shared by the package tests: paths, and an environment without Rust."""

from __future__ import annotations

import functools
import os
import pathlib
import platform
import re
import shutil
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
RELEASE = ROOT / "release"
#: The folder of a whole release from release/build.sh.
RELEASED = pathlib.Path(os.environ["IDGATE_RELEASE"]).resolve() if os.environ.get("IDGATE_RELEASE") else None
LONG = bool(os.environ.get("IDGATE_LONG"))
LIBRARY = ROOT / "target/release/libidgate_ffi.so"
VERSION = re.search(r'^version = "(.*)"', (ROOT / "Cargo.toml").read_text(), re.MULTILINE)[1]
CPU = platform.machine()
TARGET = f"{CPU}-unknown-linux-gnu"
MIB = 1 << 20


def run(*command, fails: bool = False, **options) -> str:
    """Runs a command and returns its output and errors. The command must succeed, or fail with `fails`."""
    done = subprocess.run([str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          stdin=subprocess.DEVNULL, **options)
    if (done.returncode != 0) != fails:
        raise AssertionError(f"{command} ended with {done.returncode}:\n{done.stdout}")
    return done.stdout


def release_files(pattern: str) -> list[pathlib.Path]:
    return sorted(RELEASED.glob(pattern)) if RELEASED else []


@functools.cache
def without_rust() -> dict[str, str]:
    """An environment without Rust and C compiler: their names lead nowhere."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="without-rust-"))
    hidden = re.compile(r"(cargo|rust|maturin|cbindgen|zig).*|(.*-)?(cc|gcc|clang|c\+\+|g\+\+)(-\d+)?")
    for place in reversed(os.environ["PATH"].split(os.pathsep)):
        for program in pathlib.Path(place or ".").glob("*"):
            if not hidden.fullmatch(program.name) and os.access(program, os.X_OK):
                link = folder / program.name
                link.unlink(missing_ok=True)
                link.symlink_to(program.absolute())
    kept = {name: value for name, value in os.environ.items()
            if not name.startswith(("CARGO", "RUST", "IDGATE", "PYTHON", "VIRTUAL_ENV", "NODE"))}
    environment = kept | {"PATH": str(folder)}
    for name in ("cargo", "rustc", "cc"):
        assert shutil.which(name, path=environment["PATH"]) is None, name
    return environment


def built(folder: pathlib.Path) -> pathlib.Path:
    """A folder like that of release/program.sh, with the library that the test run built."""
    library = folder / "build" / TARGET / "libidgate_ffi.so"
    library.parent.mkdir(parents=True)
    run("strip", "--strip-all", "-o", library, LIBRARY)
    return folder


def sections(library: pathlib.Path) -> set[str]:
    return set(re.findall(r"\] (\.\S+)", run("readelf", "--section-headers", "--wide", library)))
