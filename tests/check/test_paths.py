"""Documents and examples contain no path of the machine on which they were written."""

import re
import unittest

from test_links import ROOT, documents

OF_A_MACHINE = re.compile(r"(?<![\w.…])/(?:tmp|home|root|Users)/\S*")


def texts():
    yield from documents()
    yield from (ROOT / "bindings").glob("*/README.md")
    for file in (ROOT / "examples").rglob("*"):
        if file.is_file() and not {"node_modules", "target", "__pycache__"} & set(file.relative_to(ROOT).parts):
            yield file


class PathsTest(unittest.TestCase):
    def test_no_text_contains_a_path_of_a_machine(self):
        for file in texts():
            found = OF_A_MACHINE.findall(file.read_text(encoding="utf-8", errors="replace"))
            with self.subTest(file=file.relative_to(ROOT)):
                self.assertEqual(found, [])

    def test_such_a_path_is_found(self):
        for top in ("tmp", "home", "root", "Users"):
            for text in (f"in /{top}/idgate", f"`/{top}/erika/key.pem`", f"--data-dir=/{top}/data"):
                with self.subTest(text=text):
                    self.assertTrue(OF_A_MACHINE.search(text))


if __name__ == "__main__":
    unittest.main()
