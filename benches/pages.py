#!/usr/bin/env python3
"""Counts which tables and indexes the commits in a gateway's write-ahead logs changed.

    python3 benches/pages.py DIRECTORY

DIRECTORY is a copy of `idgate.db`, `idgate.db-wal`, `claims.db` and `claims.db-wal`, taken while the gateway is under
load: a gateway that stops empties its logs. The count covers the commits since a log began again, which it does after
about 1000 pages.
"""

import collections
import contextlib
import pathlib
import sqlite3
import struct
import sys
import tempfile

HEADER = 32
FRAME_HEADER = 24


def frames(log):
    """The page of each frame of the log's last round, and whether the frame ends a commit."""
    page_size, _, *salt = struct.unpack(">4I", log[8:24])
    for at in range(HEADER, len(log) - page_size - FRAME_HEADER + 1, page_size + FRAME_HEADER):
        page, pages_after_commit, *frame_salt = struct.unpack(">4I", log[at : at + 16])
        if frame_salt != salt:
            return
        yield page, pages_after_commit > 0


def owners(database, log):
    """The table or index that each page belongs to."""
    with tempfile.TemporaryDirectory() as folder:
        copy = pathlib.Path(folder, "copy.db")
        copy.write_bytes(database.read_bytes())
        copy.with_name("copy.db-wal").write_bytes(log)
        with contextlib.closing(sqlite3.connect(copy)) as connection:
            return dict(connection.execute("SELECT pageno, name FROM dbstat"))


def report(database):
    file = database.with_name(database.name + "-wal")
    for needed in (database, file):
        if not needed.is_file():
            sys.exit(f"{needed} is missing: copy both databases and their logs while the gateway is running")
    log = file.read_bytes()
    found = list(frames(log)) if len(log) > HEADER else []
    commits = sum(ends for _, ends in found)
    if not commits:
        print(f"{database.name}: no commits in the log")
        return
    owner = owners(database, log)
    counts = collections.Counter(owner.get(page, "(free)") for page, _ in found)
    print(f"{database.name}: {len(found)} pages in {commits} commits, {len(found) / commits:.2f} for each")
    for name, count in counts.most_common():
        print(f"{count / commits:8.2f}  {name}")


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    for name in ("idgate.db", "claims.db"):
        report(pathlib.Path(sys.argv[1], name))


if __name__ == "__main__":
    main()
