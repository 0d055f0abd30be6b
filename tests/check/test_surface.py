"""The public surface of idgate-core is the one that is written down."""

import difflib
import unittest

import surface


class SurfaceTest(unittest.TestCase):
    def test_the_public_surface_changes_only_in_sight(self):
        written = surface.SNAPSHOT.read_text(encoding="utf-8")
        found = surface.surface()
        if written != found:
            lines = difflib.unified_diff(written.splitlines(), found.splitlines(), lineterm="", n=0)
            self.fail("write it down with `python3 tests/check/surface.py`:\n" + "\n".join(lines))


if __name__ == "__main__":
    unittest.main()
