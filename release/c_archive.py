"""Relocatable archives for C programs: header, libraries, and files for pkg-config and CMake.

    python3 release/c_archive.py DIR VERSION

Makes one for each target with DIR/build/TARGET/libidgate_ffi.{so,a}.
"""

import pathlib
import subprocess
import sys
import tempfile

import archive
import shared_files
from archive import ROOT, Entry


def contents(directory, built):
    with tempfile.TemporaryDirectory() as prefix:
        subprocess.run([ROOT / "idgate-ffi/pkg-config.sh", prefix, built.parent], check=True)
        files = archive.below(prefix)
        for link in pathlib.Path(prefix).rglob("*"):
            if link.is_symlink():
                path = link.relative_to(prefix).as_posix()
                files[path] = Entry(link=link.readlink().as_posix())
    files |= archive.below(ROOT / "idgate-ffi/example", "example/")
    files["README.md"] = Entry((ROOT / "idgate-ffi/README.md").read_bytes())
    return archive.with_folders(files | shared_files.licences(directory))


def main(directory, version):
    time = archive.epoch()
    for target, built in archive.built(directory, "libidgate_ffi.so", "gnu"):
        name = f"idgate-c-{version}-{target}"
        packed = archive.gzipped(archive.tar(contents(directory, built), time, f"{name}/"))
        archive.write(pathlib.Path(directory, f"{name}.tar.gz"), packed)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    main(sys.argv[1], sys.argv[2])
