"""Links and paths in the documents lead to files and headings that exist."""

import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
LINK = re.compile(r"\]\((?!https?:)([^)#]+)(?:#[^)]*)?\)")
ANCHOR = re.compile(r"\]\((?!https?:)([^)#]*)#([^)]+)\)")
HEADING = re.compile(r"^#{1,6} +(.+?) *$", re.MULTILINE)
NAMED = re.compile(r"<a id=\"([^\"]+)\"></a>")
BLOCK = re.compile(r"^( *)```.*?^\1```", re.MULTILINE | re.DOTALL)
PATH = re.compile(r"`((?:idgate-core|idgate-server|tests|docs|examples|benches)/[^`*<]+)`")


def documents():
    yield from ROOT.glob("*.md")
    for folder in ("docs", "bindings", "examples"):
        yield from (page for page in (ROOT / folder).rglob("*.md") if "node_modules" not in page.parts)


def anchors(text):
    """The names that links to a page may use: its headings as mdBook and GitHub name them, and its `<a id>`."""
    text = BLOCK.sub("", text)
    found = set(NAMED.findall(text))
    for heading in HEADING.findall(text):
        words = re.sub(r"!?\[([^]]*)\]\([^)]*\)", r"\1", heading).lower()
        name = "".join(c for c in words if c.isalnum() or c in " -_").replace(" ", "-")
        found.add(name if name not in found else f"{name}-1")
    return found


class LinksTest(unittest.TestCase):
    def test_links_lead_to_existing_files(self):
        for document in documents():
            for target in LINK.findall(document.read_text(encoding="utf-8")):
                with self.subTest(document=document.name, target=target):
                    self.assertTrue((document.parent / target).exists())

    def test_links_lead_to_existing_headings(self):
        for document in documents():
            text = BLOCK.sub("", document.read_text(encoding="utf-8"))
            for target, anchor in ANCHOR.findall(text):
                page = document.parent / target if target else document
                if page.suffix == ".md":
                    with self.subTest(document=document.name, target=target, anchor=anchor):
                        self.assertIn(anchor, anchors(page.read_text(encoding="utf-8")))

    def test_a_heading_has_the_name_that_links_use(self):
        text = "# Read `a_b`: [the page](x.md), now\n## Twice\n## Twice\n```sh\n# no heading\n```\n<a id=\"own\"></a>\n"
        self.assertEqual(anchors(text), {"read-a_b-the-page-now", "twice", "twice-1", "own"})

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
