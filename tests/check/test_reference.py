"""The page of all endpoints is what the interface description says."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "docs"))

import reference  # noqa: E402


class ReferenceTest(unittest.TestCase):
    def test_the_page_is_made_of_the_description(self):
        made = reference.from_source()
        if made is None:
            self.skipTest("no PyYAML; tests/docs compares with what a gateway serves")
        same = made == reference.PAGE.read_text(encoding="utf-8")
        self.assertTrue(same, "docs/http.md is old: python3 tests/docs/reference.py")


if __name__ == "__main__":
    unittest.main()
