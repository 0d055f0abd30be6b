#!/usr/bin/env python3
"""The sources of the Python package, as a separate workspace.

    release/sources.py FOLDER

It has idgate-core, idgate and idgate-ffi without tests, a Cargo.lock with only their dependencies, and bindings/python.
maturin alone would include every crate that a test names, with its test data, and a lock file that no longer fits.
"""

from __future__ import annotations

import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
CRATES = ("idgate-core", "idgate", "idgate-ffi")
#: The parts of a crate that are built or read.
PARTS = ("Cargo.toml", "README.md", "LICENSE", "build.rs", "cbindgen.toml", "src", "include")
BINDING = ("pyproject.toml", "README.md", "LICENSE", "src")
#: The lock file fits these sources. In an sdist that maturin makes from a clone, it names missing crates.
MATURIN = "[tool.maturin]\n"
MEMBERS = re.compile(r"^members = \[.*?^\]$", re.MULTILINE | re.DOTALL)
TABLE = r"^\[{}\]\n.*?(?=^\[|^#|\Z)"


def without(text: str, *tables: str) -> str:
    """A manifest without some of its tables."""
    for table in tables:
        text = re.sub(TABLE.format(re.escape(table)), "", text, flags=re.MULTILINE | re.DOTALL)
    return text


def copy(source: pathlib.Path, target: pathlib.Path, parts: tuple[str, ...]) -> None:
    """The files of these parts that git tracks, with links resolved."""
    told = subprocess.run(("git", "ls-files", "-z", "--", *parts), cwd=source, check=True, stdout=subprocess.PIPE)
    for name in filter(None, told.stdout.decode().split("\0")):
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source / name, target / name)


def manifest(text: str) -> str:
    """The manifest of the workspace, reduced to three crates."""
    members = "members = [{}]".format(", ".join(f'"{name}"' for name in CRATES))
    text = re.sub(r"^(exclude|default-members) = .*\n", "", MEMBERS.sub(members, text, count=1), flags=re.MULTILINE)
    text = re.sub(r"^idgate-(server|testkit) = .*\n", "", text, flags=re.MULTILINE)
    unused = [f"profile.{name}{part}" for name in ("program", "tested") for part in ("", ".package")]
    return without(text, *unused, *(f"profile.release.package.idgate-{name}" for name in ("it", "testkit")))


def make(folder: pathlib.Path) -> None:
    """Writes the sources into a new folder."""
    folder.mkdir(parents=True)
    for name in CRATES:
        copy(ROOT / name, folder / name, PARTS)
        file = folder / name / "Cargo.toml"
        file.write_text(without(file.read_text(), "dev-dependencies"))
    copy(ROOT / "bindings/python", folder / "bindings/python", BINDING)
    project = folder / "bindings/python/pyproject.toml"
    project.write_text(project.read_text().replace(MATURIN, f"{MATURIN}locked = true\n", 1))
    for name in ("LICENSE", "Cargo.lock"):
        shutil.copy(ROOT / name, folder / name)
    (folder / "Cargo.toml").write_text(manifest((ROOT / "Cargo.toml").read_text()))
    # Removes unused crates from the lock file, and changes no version.
    subprocess.run(("cargo", "update", "--workspace", "--offline", "--quiet"), cwd=folder, check=True)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit("usage: release/sources.py FOLDER")
    make(pathlib.Path(sys.argv[1]))
