"""The texts of idgate-core mention no command line, no C and no gateway with an operator, because programs in Rust,
Python, Node and C use the library without these."""

import pathlib
import re
import unittest

import lines
import surface

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOURCES = ROOT / "idgate-core/src"
FOREIGN = ("--", "IDGATE_", "idgate_", "NULL", "line 1 column", "the operator", "gateway")
# Around the labels of PEM (RFC 7468 2).
MARKER = "-----"
# Texts that name a part of a format, by file.
EXCEPTIONS = {
    ("request/claim_filter.rs", '"--"'): "an operator of regular expressions that is refused",
}
TEXT = re.compile(r'"@(\d+)@"')


def texts_of_the_product(code):
    """The string literals of a file without those in comments and tests, and the names of its test modules."""
    texts = []

    def numbered(found):
        if found["text"]:
            texts.append(re.sub(r"\\\n\s*", "", found["text"]))
            return f'"@{len(texts) - 1}@"'
        return "0" if found["char"] else " "

    code, modules = lines.without_tests(surface.NOISE.sub(numbered, code))
    return [texts[int(number)] for number in TEXT.findall(code)], modules


def foreign_words(text):
    return [word for word in FOREIGN if word in text.replace(MARKER, "")]


def product(sources=SOURCES):
    """Each source file with its texts, except files that only tests use."""
    found, for_tests = {}, set()
    for path in sorted(sources.rglob("*.rs")):
        within = path.relative_to(sources)
        texts, modules = texts_of_the_product(path.read_text(encoding="utf-8"))
        folder = re.sub(r"(/?mod|/?lib)?\.rs$", "", within.as_posix())
        for_tests |= {f"{folder}/{module}".lstrip("/") for module in modules}
        if "tests" not in within.parts:
            found[within.as_posix()] = (folder, texts)
    for name, (folder, texts) in found.items():
        if not any(f"{folder}/".startswith(f"{module}/") for module in for_tests):
            yield name, texts


class TextsTest(unittest.TestCase):
    def test_texts_of_the_core_fit_every_caller(self):
        texts = [(name, text) for name, texts in product() for text in texts]
        self.assertGreater(len(texts), 1000)
        foreign = {found for found in texts if foreign_words(found[1])}
        for name, text in sorted(foreign - set(EXCEPTIONS)):
            with self.subTest(file=name, words=foreign_words(text)):
                self.fail(f"{text}: write it for a caller of the library, and pass the rest as data")
        self.assertEqual(set(EXCEPTIONS) - foreign, set(), "exceptions that are not needed")

    def test_a_text_on_two_lines_is_joined_and_tests_are_skipped(self):
        code = """
            // "--comment"
            const A: &str = "ask the \\
                operator";
            #[cfg(test)]
            mod tests { const B: &str = "--b"; }
            const C: &str = "--c";
        """
        texts, _ = texts_of_the_product(code)
        self.assertEqual(texts, ['"ask the operator"', '"--c"'])
        self.assertEqual([foreign_words(text) for text in texts], [["the operator"], ["--"]])


if __name__ == "__main__":
    unittest.main()
