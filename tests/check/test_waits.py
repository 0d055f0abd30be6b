"""The verdict of a test does not depend on time, load or luck. CONTRIBUTING.md says how a test waits.

A sleep, a clock reading or a fixed port in a test needs a reason: `reason: ...` in a comment on its line or on the
line above. `waits.txt` counts the older places without a reason in each file. The counts may only fall:
`python3 tests/check/test_waits.py --write` writes the current ones.
"""

import pathlib
import re
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
LEFT = pathlib.Path(__file__).with_name("waits.txt")
WAIT = re.compile(
    r"\bthread::sleep\(|\btime::sleep\(|\bsetTimeout\(|\btime\.sleep\(|\basyncio\.sleep\("
    r"|\bInstant::now\(|\.elapsed\(\)|\bperformance\.now\(|\btime\.monotonic\("
    r"|(?:127\.0\.0\.1|localhost):[1-9][0-9]{3,4}\b|\.listen\([1-9][0-9]{3,4}\b"
)
COMMENT = re.compile(r"^\s*(?://|#|\*)")
SUFFIXES = {".rs", ".py", ".js", ".cjs", ".mjs", ".kt"}
OF_TESTS = ("tests/", "bindings/node/test/", "bindings/python/tests/", "examples/tests/", "idgate-ffi/tests/")


def is_test(name):
    parts = pathlib.PurePosixPath(name).parts
    inside = "tests" in parts[1:] or parts[-1] in ("tests.rs", "fixtures.rs")
    return name.startswith(OF_TESTS) or inside


def places(text):
    """The lines that wait or read a clock without a reason."""
    before = ""
    for number, line in enumerate(text.splitlines(), 1):
        if WAIT.search(line) and not COMMENT.match(line) and "reason: " not in line and "reason: " not in before:
            yield number, line.strip()
        before = line


def found():
    names = subprocess.run(["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True)
    for name in sorted(names.stdout.splitlines()):
        path = ROOT / name
        if path.suffix in SUFFIXES and is_test(name) and path.is_file() and path != pathlib.Path(__file__).resolve():
            if here := list(places(path.read_text(encoding="utf-8"))):
                yield name, here


def left():
    lines = LEFT.read_text(encoding="utf-8").splitlines()
    return {name: int(count) for count, name in (line.split(" ", 1) for line in lines)}


class WaitsTest(unittest.TestCase):
    def test_a_wait_in_a_test_has_a_reason(self):
        allowed = left()
        for name, here in found():
            with self.subTest(file=name):
                told = "\n".join(f"{name}:{number}: {line}" for number, line in here)
                self.assertLessEqual(
                    len(here), allowed.get(name, 0), f"wait for an event, or give a reason:\n{told}"
                )

    def test_the_list_of_waits_only_shrinks(self):
        now = {name: len(here) for name, here in found()}
        for name, count in left().items():
            with self.subTest(file=name):
                self.assertEqual(now.get(name, 0), count, "python3 tests/check/test_waits.py --write")

    def test_waits_and_reasons_are_recognised(self):
        self.assertEqual(len(list(places("thread::sleep(pause);"))), 1)
        self.assertEqual(len(list(places("assert!(begun.elapsed() < LONGEST);"))), 1)
        self.assertEqual(len(list(places('connect("127.0.0.1:8080")'))), 1)
        self.assertEqual(list(places("// reason: drips\nthread::sleep(pause);")), [])
        self.assertEqual(list(places('listen("127.0.0.1:0")')), [])


if __name__ == "__main__":
    if "--write" in sys.argv:
        LEFT.write_text("".join(f"{len(here)} {name}\n" for name, here in found()), encoding="utf-8")
    else:
        unittest.main()
