"""`benches/pages.py` counts the pages of each table in a database that is open."""

import contextlib
import pathlib
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def has_dbstat():
    with contextlib.closing(sqlite3.connect(":memory:")) as connection:
        return ("ENABLE_DBSTAT_VTAB",) in connection.execute("PRAGMA compile_options").fetchall()


def pages(folder):
    command = [sys.executable, ROOT / "benches/pages.py", folder]
    return subprocess.run(command, capture_output=True, text=True, check=False)


class Pages(unittest.TestCase):
    @unittest.skipUnless(has_dbstat(), "this SQLite cannot tell whose a page is")
    def test_pages_are_counted_by_table_and_commit(self):
        with tempfile.TemporaryDirectory() as written, tempfile.TemporaryDirectory() as copied:
            opened = []
            for name in ("idgate.db", "claims.db"):
                connection = sqlite3.connect(pathlib.Path(written, name), isolation_level=None)
                opened.append(connection)
                connection.executescript("CREATE TABLE a (x); CREATE TABLE b (x); PRAGMA journal_mode = WAL;")
                connection.executescript("BEGIN; INSERT INTO a VALUES (1); INSERT INTO b VALUES (1); COMMIT;")
                connection.execute("INSERT INTO a VALUES (2)")
            for file in pathlib.Path(written).iterdir():
                shutil.copy(file, copied)
            for connection in opened:
                connection.close()
            told = pages(copied).stdout.splitlines()
        of_one = ["    1.00  a", "    0.50  b"]
        self.assertEqual(told[:3], ["idgate.db: 3 pages in 2 commits, 1.50 for each", *of_one])
        self.assertEqual(told[3:], ["claims.db: 3 pages in 2 commits, 1.50 for each", *of_one])

    def test_a_missing_file_is_named(self):
        with tempfile.TemporaryDirectory() as empty:
            told = pages(empty)
        self.assertEqual(told.returncode, 1)
        self.assertIn("idgate.db is missing: copy both databases", told.stderr)
