#!/usr/bin/env python3
"""The npm packages: `idgate`, and one with the library for each Linux. npm installs the one that fits.

    release/npm.py DIR VERSION

The libraries are those of the wheels, DIR/build/TARGET/package/libidgate_ffi.so (release/wheels.sh), or
DIR/build/TARGET/libidgate_ffi.so. A target without a library gets no package, and `idgate` does not depend on one.
npm packs, and writes the same bytes for the same files. Publish the packages with a library first.

There are no libraries for macOS and Windows. There `idgate` says how to build one: `cargo build --release -p idgate-ffi`
in a clone, and IDGATE_LIBRARY=… during the installation.
"""

from __future__ import annotations

import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
BINDING = ROOT / "bindings/node"
#: Target -> npm's names for it.
PLATFORMS = {
    "x86_64-unknown-linux-gnu": ("x64", "glibc"),
    "x86_64-unknown-linux-musl": ("x64", "musl"),
    "aarch64-unknown-linux-gnu": ("arm64", "glibc"),
    "aarch64-unknown-linux-musl": ("arm64", "musl"),
}
LIBRARY = "libidgate_ffi.so"
#: Members of package.json that only a clone needs.
OF_A_CLONE = ("private", "devDependencies", "scripts")


def name_of(target: str) -> str:
    cpu, libc = PLATFORMS[target]
    return f"@idgate/linux-{cpu}-{'gnu' if libc == 'glibc' else 'musl'}"


def library_of(directory: pathlib.Path, target: str) -> pathlib.Path | None:
    places = (directory / "build" / target / "package" / LIBRARY, directory / "build" / target / LIBRARY)
    return next((file for file in places if file.exists()), None)


def platform_manifest(target: str, version: str) -> dict:
    cpu, libc = PLATFORMS[target]
    system = "glibc 2.28 or later" if libc == "glibc" else "musl 1.2 or later"
    return {
        "name": name_of(target),
        "version": version,
        "description": f"The native library of idgate for Linux on {cpu} with {system}",
        "license": "Apache-2.0",
        "os": ["linux"],
        "cpu": [cpu],
        "libc": [libc],
        "main": LIBRARY,
        "files": [LIBRARY, "THIRD-PARTY.txt"],
        "publishConfig": {"access": "public"},
    }


def main_manifest(version: str, targets: list[str]) -> dict:
    manifest = json.loads((BINDING / "package.json").read_text())
    if manifest["version"] != version:
        raise SystemExit(f"npm.py: the version in bindings/node/package.json is {manifest['version']}")
    kept = {key: value for key, value in manifest.items() if key not in OF_A_CLONE}
    # install.js makes `native`. A package that contains it would fit one system only.
    kept["files"] = [name for name in manifest["files"] if name != "native"] + ["examples"]
    return kept | {
        "scripts": {"install": manifest["scripts"]["install"]},
        "optionalDependencies": {name_of(target): version for target in targets},
        "publishConfig": {"access": "public"},
    }


def write(folder: pathlib.Path, manifest: dict) -> None:
    text = json.dumps(manifest, indent=2, ensure_ascii=False)
    (folder / "package.json").write_text(text + "\n", encoding="utf-8")
    shutil.copy(ROOT / "LICENSE", folder / "LICENSE")


def pack(folder: pathlib.Path, directory: pathlib.Path) -> None:
    told = subprocess.run(("npm", "pack", "--ignore-scripts", "--json", "--pack-destination", directory), cwd=folder,
                          check=True, stdout=subprocess.PIPE, text=True)
    # npm 12 prints an object by package, earlier versions a list.
    said = json.loads(told.stdout)
    for one in said if isinstance(said, list) else said.values():
        print(directory / one["filename"])


def pack_platform(target: str, library: pathlib.Path, directory: pathlib.Path, version: str) -> None:
    with tempfile.TemporaryDirectory() as made:
        folder = pathlib.Path(made)
        write(folder, platform_manifest(target, version))
        (folder / "README.md").write_text(
            f"# {name_of(target)}\n\nThe native library of idgate for one "
            "system. Install `idgate`, which brings it.\n")
        shutil.copyfile(library, folder / LIBRARY)
        shutil.copyfile(third_party(directory), folder / "THIRD-PARTY.txt")
        pack(folder, directory)


def third_party(directory: pathlib.Path) -> pathlib.Path:
    """The licences of everything linked into the library."""
    file = directory / "build/THIRD-PARTY.txt"
    if not file.exists():
        subprocess.run((sys.executable, ROOT / "release/third_party.py", file), check=True)
    return file


def pack_main(directory: pathlib.Path, version: str, targets: list[str]) -> None:
    with tempfile.TemporaryDirectory() as made:
        folder = pathlib.Path(made)
        manifest = main_manifest(version, targets)
        write(folder, manifest)
        for name in (*manifest["files"], "README.md"):
            source = BINDING / name
            (shutil.copytree if source.is_dir() else shutil.copyfile)(source, folder / name)
        pack(folder, directory)


def make(directory: pathlib.Path, version: str) -> None:
    libraries = {target: library_of(directory, target) for target in PLATFORMS}
    found = {target: library for target, library in libraries.items() if library}
    if not found:
        raise SystemExit(f"npm.py: no library in {directory / 'build'}; run release/wheels.sh first")
    for target, library in found.items():
        pack_platform(target, library, directory, version)
    pack_main(directory, version, list(found))


if __name__ == "__main__":
    if len(sys.argv) != 3:
        raise SystemExit("usage: release/npm.py DIR VERSION")
    make(pathlib.Path(sys.argv[1]).resolve(), sys.argv[2])
