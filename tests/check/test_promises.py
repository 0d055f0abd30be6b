"""Each promise with a figure in the documentation names an existing test."""

import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
# All pages, because each may name a test.
DOCUMENTS = (*sorted(str(page.relative_to(ROOT)) for page in (ROOT / "docs").rglob("*.md")), "README.md", "SECURITY.md")
SOURCES = ("idgate-core", "idgate", "idgate-server", "idgate-ffi", "tests", "bindings", "examples", "benches")
# `file::test`, with as many folders before the file as are needed to identify it.
NAMED = re.compile(r"`((?:[a-z0-9_]+::)+[a-z0-9]+_[a-z0-9_]+)`")
# `fn test`, `def test`, or `test: Phase => …` in the table of a macro.
DEFINED = re.compile(
    r"^\s*(?:pub(?:\(super\))? )?(?:async )?(?:fn|def) ([a-z0-9_]+)"
    r"|^ {8}([a-z0-9_]{12,}): \w+ =>",
    re.MULTILINE,
)
BARE = re.compile(r"`([a-z0-9]+(?:_[a-z0-9]+){4,})`")


def module(path):
    """The parts of a path: `tests/it/src/ws/load.rs` is tests, it, src, ws, load."""
    parts = list(path.relative_to(ROOT).with_suffix("").parts)
    return parts[:-1] if parts[-1] == "mod" else parts


def tests():
    """Every function, with its modules."""
    found = {}
    for top in SOURCES:
        for path in (ROOT / top).rglob("*"):
            if path.suffix not in (".rs", ".py") or {"target", "node_modules"} & {*path.relative_to(ROOT).parts}:
                continue
            for names in DEFINED.findall(path.read_text(encoding="utf-8")):
                found.setdefault(names[0] or names[1], []).append(module(path))
    return found


def tables(text):
    """The header and the rows of each table, as lists of cells."""
    table = []
    for line in [*text.splitlines(), ""]:
        if line.startswith("|"):
            table.append([cell.strip() for cell in line.strip("|").split("|")])
        elif table:
            yield table[0], table[2:]
            table = []


class TestsThatNeedFilesTest(unittest.TestCase):
    def test_every_entry_of_the_lists_names_a_test(self):
        source = (ROOT / "tests/it/src/stores.rs").read_text(encoding="utf-8")
        lists = re.findall(r"const ABOUT_\w+: &\[&str\] = &\[(.*?)\];", source, re.DOTALL)
        self.assertEqual(len(lists), 2)
        listed = re.findall(r'"([^"]+)"', "".join(lists))
        self.assertGreater(len(listed), 20)
        places = ((name, where) for name, all_places in tests().items() for where in all_places)
        there = {"::".join([*where[3:], name]) for name, where in places if where[:3] == ["tests", "it", "src"]}
        for entry in listed:
            with self.subTest(entry=entry):
                self.assertTrue(any(name.startswith(entry) for name in there))


class PromisesTest(unittest.TestCase):
    def setUp(self):
        self.tests = tests()
        self.texts = {name: (ROOT / name).read_text(encoding="utf-8") for name in DOCUMENTS}

    def test_every_test_named_exists_in_its_file(self):
        for document, text in self.texts.items():
            for name in NAMED.findall(text):
                *where, test = name.split("::")
                with self.subTest(document=document, name=name):
                    modules = self.tests.get(test, [])
                    self.assertTrue(any(found[-len(where) :] == where for found in modules))

    def test_every_test_is_named_with_its_file(self):
        for document, text in self.texts.items():
            for name in BARE.findall(text):
                with self.subTest(document=document, name=name):
                    self.assertFalse(name in self.tests, "write `file::test`")

    def test_sentences_of_the_operators_pages_name_no_test(self):
        summary = (ROOT / "docs/SUMMARY.md").read_text(encoding="utf-8")
        parts = re.findall(r"^# (?:Operate|Security)\n(.*?)(?=^# |\Z)", summary, re.MULTILINE | re.DOTALL)
        pages = re.findall(r"\]\(([^)]+\.md)\)", "".join(parts))
        self.assertGreater(len(pages), 15)
        for page in pages:
            for line in self.texts[f"docs/{page}"].splitlines():
                if not line.startswith("|"):
                    with self.subTest(document=page, line=line):
                        self.assertNotRegex(line, NAMED, "name the test in the table of guarantees")

    def test_every_row_of_a_table_of_promises_names_a_test(self):
        for document, text in self.texts.items():
            for header, rows in tables(text):
                if header[-1] != "test":
                    continue
                for row in rows:
                    with self.subTest(document=document, promise=row[0]):
                        self.assertEqual(len(row), len(header))
                        self.assertRegex(row[-1], NAMED)

    def test_supported_formats_are_not_listed_as_missing(self):
        readme = (ROOT / "README.md").read_text(encoding="utf-8")
        manual = (ROOT / "idgate-core/src/manual/interop.rs").read_text(encoding="utf-8")
        missing = [row[-1] for header, rows in tables(readme) for row in rows if header[-1] == "not yet"]
        missing += re.findall(r"^//! Not supported: (.*)$", manual, re.MULTILINE)
        self.assertGreater(len(missing), 1)
        for text in missing:
            self.assertNotRegex(text, r"(?i)dcql|x509_|haip|OpenID4VP 1\.0")


if __name__ == "__main__":
    unittest.main()
