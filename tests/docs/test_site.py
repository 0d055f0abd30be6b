"""The scripts that build and check the site work."""

from __future__ import annotations

import pathlib
import tempfile
import unittest

import links
import repository
from blocks import ROOT


class LinksTest(unittest.TestCase):
    def site(self, **pages: str) -> list[str]:
        with tempfile.TemporaryDirectory() as folder:
            for name, text in pages.items():
                (pathlib.Path(folder) / f"{name}.html").write_text(text, encoding="utf-8")
            return list(links.broken(pathlib.Path(folder)))

    def test_working_links_pass(self) -> None:
        there = '<h1 id="a">A</h1><a href="other.html#b">b</a><a href="#a">a</a><a href="https://x.example">x</a>'
        self.assertEqual(self.site(index=there, other='<p id="b"></p>'), [])

    def test_a_link_to_a_missing_page_is_found(self) -> None:
        self.assertEqual(len(self.site(index='<a href="none.html">x</a>')), 1)

    def test_a_link_to_a_missing_anchor_is_found(self) -> None:
        self.assertEqual(len(self.site(index='<a href="#none">x</a><h1 id="a"></h1>')), 1)

    def test_resources_from_other_sites_are_found(self) -> None:
        for tag in ('<script src="https://x.example/a.js"></script>', '<link href="//x.example/a.css">',
                    '<img src="https://x.example/a.png">'):
            with self.subTest(tag=tag):
                self.assertEqual(len(self.site(index=tag)), 1)


class RepositoryTest(unittest.TestCase):
    def test_a_link_out_of_the_pages_becomes_a_file_name(self) -> None:
        for text, folder, told in (
            ("[the shop](../examples/shop)", "", "the shop (`examples/shop` in the repository)"),
            ("[examples/shop](../../examples/shop)", "recipes", "`examples/shop`"),
            ("[age](recipes/age.md#ask)", "", "[age](recipes/age.md#ask)"),
            ("[up](../http.md)", "recipes", "[up](../http.md)"),
            ("[read](../README.md#how)", "recipes", "[read](../index.md#how)"),
            ("[away](https://x.example)", "", "[away](https://x.example)"),
            ("```\n[a](../b)\n```\n", "", "```\n[a](../b)\n```\n"),
        ):
            with self.subTest(text=text):
                self.assertEqual(repository.without_outside(text, folder), told)

    def test_repository_files_that_a_page_names_exist(self) -> None:
        for page in (ROOT / "docs").rglob("*.md"):
            for link in repository.LINK.finditer(page.read_text(encoding="utf-8")):
                with self.subTest(page=page.name, link=link[2]):
                    self.assertTrue((page.parent / link[2]).exists())


if __name__ == "__main__":
    unittest.main()
