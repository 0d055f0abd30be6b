"""surface.txt is the public surface of idgate-core."""

import difflib
import unittest

import surface


class SurfaceTest(unittest.TestCase):
    def test_the_public_surface_matches_surface_txt(self):
        written = surface.SNAPSHOT.read_text(encoding="utf-8")
        found = surface.surface()
        if written != found:
            lines = difflib.unified_diff(written.splitlines(), found.splitlines(), lineterm="", n=0)
            self.fail("write it down with `python3 tests/check/surface.py`:\n" + "\n".join(lines))


if __name__ == "__main__":
    unittest.main()
