"""Reproducible archives: entries are sorted, with one time and one owner."""

import gzip
import io
import os
import pathlib
import subprocess
import tarfile
from dataclasses import dataclass

ROOT = pathlib.Path(__file__).resolve().parents[1]


@dataclass(frozen=True)
class Entry:
    """A file, a symbolic link (with `link`), or a folder (without `data`)."""

    data: bytes | None = None
    mode: int = 0o644
    link: str | None = None
    owner: int = 0


def folder(mode=0o755, owner=0):
    return Entry(None, mode, None, owner)


def program(data):
    return Entry(data, 0o755)


def epoch():
    """The time of every file in a release: the time of its commit."""
    told = os.environ.get("SOURCE_DATE_EPOCH")
    if told is None:
        command = ["git", "-C", str(ROOT), "log", "-1", "--format=%ct"]
        told = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return int(told)


def with_folders(entries):
    """The entries with the folders above them, which are 0755 and owned by root unless given."""
    whole = dict(entries)
    for path in entries:
        for parent in pathlib.PurePosixPath(path).parents:
            if str(parent) != ".":
                whole.setdefault(str(parent), folder())
    return dict(sorted(whole.items()))


def tar(entries, time, prefix=""):
    """A tar file of the entries, by path."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for path, entry in sorted(entries.items()):
            info = tarfile.TarInfo(prefix + path)
            info.mtime, info.mode = time, entry.mode
            info.uid = info.gid = entry.owner
            info.uname = info.gname = "root" if entry.owner == 0 else ""
            if entry.link is not None:
                info.type, info.linkname, info.mode = tarfile.SYMTYPE, entry.link, 0o777
                archive.addfile(info)
            elif entry.data is None:
                info.type = tarfile.DIRTYPE
                archive.addfile(info)
            else:
                info.size = len(entry.data)
                archive.addfile(info, io.BytesIO(entry.data))
    return made.getvalue()


def gzipped(data):
    """Like `gzip -9n`: without name and time."""
    made = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", compresslevel=9, fileobj=made, mtime=0) as packed:
        packed.write(data)
    return made.getvalue()


def below(path, top=""):
    """The files below a folder of this machine, by their path under `top`."""
    path = pathlib.Path(path)
    found = {}
    for file in sorted(path.rglob("*")):
        if file.is_file() and not file.is_symlink():
            runs = file.stat().st_mode & 0o111
            entry = program(file.read_bytes()) if runs else Entry(file.read_bytes())
            found[top + file.relative_to(path).as_posix()] = entry
    return found


def built(directory, file, kind):
    """The targets of this kind that were built, and the file of each."""
    found = sorted(pathlib.Path(directory, "build").glob(f"*-unknown-linux-{kind}/{file}"))
    if not found:
        raise SystemExit(f"nothing was built: no {directory}/build/*-{kind}/{file}; run release/build.sh")
    return [(path.parent.name, path) for path in found]


def write(path, data):
    """Replaces an artefact atomically."""
    path = pathlib.Path(path)
    part = path.with_name(path.name + ".part")
    part.write_bytes(data)
    part.replace(path)
    print(f"{path.name}  {len(data) / 2**20:.2f} MiB")
