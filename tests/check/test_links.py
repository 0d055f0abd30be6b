"""Links and paths in the documents lead to files that exist."""

import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
LINK = re.compile(r"\]\((?!https?:)([^)#]+)(?:#[^)]*)?\)")
PATH = re.compile(r"`((?:idgate-core|idgate-server|tests|docs|examples|benches)/[^`*<]+)`")


def documents():
    yield from ROOT.glob("*.md")
    yield from (ROOT / "docs").rglob("*.md")


class LinksTest(unittest.TestCase):
    def test_links_lead_to_existing_files(self):
        for document in documents():
            for target in LINK.findall(document.read_text(encoding="utf-8")):
                with self.subTest(document=document.name, target=target):
                    self.assertTrue((document.parent / target).exists())

    def test_files_named_in_the_text_exist(self):
        for document in documents():
            for target in PATH.findall(document.read_text(encoding="utf-8")):
                with self.subTest(document=document.name, target=target):
                    # Ignore the arguments of a command.
                    self.assertTrue((ROOT / target.split()[0]).exists())

    def test_decisions_are_numbered_without_gaps(self):
        pages = sorted((ROOT / "docs" / "decisions").glob("*.md"))
        for number, page in enumerate(pages, 1):
            title = page.read_text(encoding="utf-8").split("\n", 1)[0]
            with self.subTest(page=page.name):
                self.assertTrue(page.name.startswith(f"{number:04}-"))
                self.assertTrue(title.startswith(f"# {number}. "), title)

    def test_every_page_is_on_the_site(self):
        docs = ROOT / "docs"
        listed = LINK.findall((docs / "SUMMARY.md").read_text(encoding="utf-8"))
        there = {page.relative_to(docs).as_posix() for page in docs.rglob("*.md")} - {"SUMMARY.md"}
        self.assertEqual(there, set(listed))


if __name__ == "__main__":
    unittest.main()
