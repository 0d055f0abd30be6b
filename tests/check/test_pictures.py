"""Each picture in the documentation is made by a command and shown on a page."""

import importlib.util
import re
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LARGEST = 400 * 1024
IMAGE = re.compile(r"!\[([^\]]*)\]\(([^)\s]+)\)")


def made():
    spec = importlib.util.spec_from_file_location("pictures", ROOT / "tests/docs/pictures.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return set(module.PICTURES)


class Pictures(unittest.TestCase):
    def test_a_command_makes_every_picture(self):
        there = {path.name for path in (ROOT / "docs/pictures").iterdir()}
        self.assertEqual(there, made())
        for path in (ROOT / "docs/pictures").iterdir():
            self.assertLess(path.stat().st_size, LARGEST, path.name)

    def test_every_picture_is_shown_with_an_alternative_text(self):
        shown = {}
        for page in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]:
            for text, target in IMAGE.findall(page.read_text(encoding="utf-8")):
                path = (page.parent / target).resolve()
                self.assertTrue(path.is_file(), f"{page.name}: {target}")
                self.assertGreater(len(text), 20, f"{page.name}: {target}: the text is too short")
                shown[path.name] = page.name
        self.assertEqual(set(shown), made())


if __name__ == "__main__":
    unittest.main()
