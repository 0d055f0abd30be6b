"""One archive of the program for each target, and one of its symbols.

    python3 release/program.py DIR VERSION
"""

import pathlib
import sys

import archive
import shared_files
from archive import ROOT, Entry


def contents(directory, built):
    files = {
        "bin/idgate": archive.program(built.read_bytes()),
        "README.md": Entry((ROOT / "README.md").read_bytes()),
        "CHANGELOG.md": Entry((ROOT / "CHANGELOG.md").read_bytes()),
        **shared_files.licences(directory),
    }
    for path, entry in shared_files.manual(directory).items():
        files[f"share/{path}"] = entry
    for path, entry in shared_files.deployment().items():
        files[f"examples/deploy/{path}"] = entry
    return archive.with_folders(files)


def main(directory, version):
    time = archive.epoch()
    for target, built in archive.built(directory, "idgate", "musl"):
        name = f"idgate-{version}-{target}"
        packed = archive.gzipped(archive.tar(contents(directory, built), time, f"{name}/"))
        archive.write(pathlib.Path(directory, f"{name}.tar.gz"), packed)
        symbols = built.with_name("idgate.debug")
        if symbols.exists():
            # gdb looks for `bin/idgate.debug`, in the folder of the program.
            entries = archive.with_folders({"bin/idgate.debug": Entry(symbols.read_bytes())})
            packed = archive.gzipped(archive.tar(entries, time, f"{name}/"))
            archive.write(pathlib.Path(directory, f"{name}.debug.tar.gz"), packed)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    main(sys.argv[1], sys.argv[2])
