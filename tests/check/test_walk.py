"""The walks through the code name existing files and functions."""

import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
WALKS = ("docs/walk.md", "docs/walk-mdoc.md")
CRATES = ("idgate-core", "idgate", "idgate-server", "idgate-server/base", "idgate-server/store")
QUOTED = re.compile(r"`([^`]+)`")
PATH = re.compile(r"[A-Za-z0-9_.-]+(?:/[A-Za-z0-9_.-]+)+")
# `begin`, `expected_mdoc`, `VerifiedCredential`
NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")


def without_tests(path):
    return not path.stem.endswith("tests") and "tests" not in path.relative_to(ROOT).parts


class WalkTest(unittest.TestCase):
    def setUp(self):
        sources = [p for crate in CRATES for p in (ROOT / crate / "src").rglob("*.rs")]
        self.sources = "\n".join(p.read_text(encoding="utf-8") for p in sources if without_tests(p))

    def test_every_file_that_a_walk_names_exists(self):
        for walk in WALKS:
            for quoted in QUOTED.findall((ROOT / walk).read_text(encoding="utf-8")):
                if PATH.fullmatch(quoted) and quoted.endswith((".rs", ".md")):
                    with self.subTest(walk=walk, file=quoted):
                        self.assertTrue((ROOT / quoted).is_file())

    def test_every_name_in_a_walk_is_in_the_code(self):
        for walk in WALKS:
            for quoted in QUOTED.findall((ROOT / walk).read_text(encoding="utf-8")):
                if NAME.fullmatch(quoted):
                    with self.subTest(walk=walk, name=quoted):
                        self.assertRegex(self.sources, rf"\b{quoted}\b")


if __name__ == "__main__":
    unittest.main()
