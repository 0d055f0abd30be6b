"""Generated pages, and pages that quote a source file, match their sources."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "docs"))

import reference  # noqa: E402


class ReferenceTest(unittest.TestCase):
    def test_the_reference_matches_the_interface_description(self):
        made = reference.from_source()
        if made is None:
            self.skipTest("no PyYAML; tests/docs compares with what a gateway serves")
        same = made == reference.PAGE.read_text(encoding="utf-8")
        self.assertTrue(same, "docs/http.md is old: python3 tests/docs/reference.py")

    def test_the_program_on_the_rust_page_is_the_example(self):
        page = (reference.ROOT / "docs/rust.md").read_text(encoding="utf-8")
        shown = page.split("// src/main.rs\n", 1)[1].split("```", 1)[0]
        built = (reference.ROOT / "examples/src/bin/quick_start.rs").read_text(encoding="utf-8")
        self.assertTrue(built.endswith("\n\n" + shown), "examples/src/bin/quick_start.rs says something else")


if __name__ == "__main__":
    unittest.main()
