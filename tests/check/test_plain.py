"""User-facing texts, and the documentation of the libraries, avoid phrases that are always wrong in plain English
(CONTRIBUTING.md, "Style").

`python3 tests/check/test_plain.py --list` prints each phrase that it finds. Code, code spans and link targets are not
checked."""

import io
import pathlib
import re
import subprocess
import sys
import tokenize
import unittest

import lines
import test_texts

ROOT = pathlib.Path(__file__).resolve().parents[2]
BREAK = "\0"  # between two texts, so that no phrase spans both

# A phrase, and what to write instead.
PHRASES = {
    r"who(?:m|so)?ever\b": "name the actor: the tenant, a caller, anyone",
    r"(?:nobody|somebody)(?:'s)?\b": "no one, someone, or the actor's name",
    r"anew\b": "again, or start over",
    r"for good(?=[.,;:)]| and\b|$)": "permanently",
    r"(?:heed(?:s|ed|ing)?|hearken\w*)\b": "check, use, follow",
    r"vouch(?:es|ed|ing)?\b": "trusted: an issuer is trusted by an entry",
    r"besides?\b": "next to, with, and, as well as",
    r"(?<!\bthere )(?:is|are|was|were|be|been|being) no "
    r"(?!longer\b|more\b|less\b|fewer\b|such\b|different\b|better\b|worse\b|later\b|earlier\b|larger\b|smaller\b)"
    r"[a-z`{]": "is not a",
    r"of (?:theirs|ours)\b": "their, our",
    r"(?<!soon )(?<!long )(?<!far )as (?!soon\b|long\b|far\b)(?:\S+ ){1,6}"
    r"(?:has|have) it\b": "as … defines it, or name the rule",
    r", as ``(?=[.,;:)]|$)": "for example, such as",
    r"(?:stands?|stood|standing) (?:in(?! for\b)|on|at|below|above|there|elsewhere|behind)\b": "is, appears",
    r"where (?:\S+ ){1,3}stands?\b": "is, appears",
    r"(?:thereof|therein|thereto|thereupon|whereof|wherein|hereby|herein|withal)\b": "of it, in it",
    r"an own\b": "its own, a separate",
    r"(?:wallet|gateway|receiver|tenant|endpoint|program|server|node|library)s? hears?\b": "receives",
}
PATTERNS = [
    (re.compile(phrase if phrase.startswith(",") else rf"(?<![\w-]){phrase}", re.IGNORECASE), advice)
    for phrase, advice in PHRASES.items()
]
# A file and a phrase of it, with the reason why it is right.
EXCEPTIONS = {
    ("idgate-server/store/src/postgres/operator/reseal.rs", "anew"): "a name in SQL",
}

MARKDOWN = re.compile(r"^ *(```+|~~~+).*?^ *\1`* *$", re.DOTALL | re.MULTILINE)
CODE_SPAN = re.compile(r"(?<!`)(`+)(?!`)(?:(?!\n\s*\n|\0).)*?(?<!`)\1(?!`)", re.DOTALL)
LINK = re.compile(r"\]\([^)\s]*\)|<https?:[^>]*>|\bhttps?://[^\s`)\"']+")
HELP = re.compile(r"(?:^[ \t]*///[^\n]*\n)+", re.MULTILINE)
DOCUMENTATION = re.compile(r"(?:^[ \t]*//[/!][^\n]*\n)+", re.MULTILINE)
FENCE = re.compile(r'^#!?\[cfg_attr\(.*, doc = "(```\w*)"\)\]$', re.MULTILINE)
# Crates whose documentation is published.
LIBRARIES = ("idgate-core", "idgate")
# Clauses of requirements that are outside this repository.
CITATION = re.compile(r"\b(?:decisions?|specification)\s+\d", re.IGNORECASE)
C_LIKE = re.compile(
    r"(?P<line>(?:(?<=\n)|(?<=[\s;{}),]))//[^\n]*(?:\n[ \t]*//[^\n]*)*)|(?P<block>/\*.*?\*/)"
    r"|(?P<text>\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`)",
    re.DOTALL,
)
MARKS = re.compile(r"^[ \t]*(?:///?!?|/?\*+/?|#+!?)|/\*+!?|\*/", re.MULTILINE)


def of_markdown(text):
    return MARKDOWN.sub("\n\n", text)


def of_c_like(text):
    """Comments and string literals, for C, JavaScript, TypeScript, Go and Java."""
    found = C_LIKE.finditer(f"\n{text}")
    return BREAK.join(one["text"][1:-1] if one["text"] else MARKS.sub(" ", one[0]) for one in found)


def of_python(text):
    """Comments and string literals. Comments on consecutive lines are one text."""
    texts, last = [], None
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            texts.append(" " if last == token.start[0] - 1 else BREAK)
            texts.append(token.string.lstrip("#"))
            last = token.start[0]
        elif token.type in (tokenize.STRING, getattr(tokenize, "FSTRING_MIDDLE", -1)):
            texts.append(BREAK + token.string)
    return "".join(texts)


def of_settings(text):
    """A whole file, with the marks of its comments taken away."""
    return MARKS.sub(" ", text)


# Files that people read, by their paths, and how their texts are found.
READ = [
    (r"(?!tests/).*\.md", of_markdown),
    (r"idgate-server/openapi\.yaml", of_settings),
    (r"idgate-server/src/http/page/words/en\.txt", of_settings),
    (r"idgate-server/.*\.js", of_c_like),
    (r"examples/deploy/.*(?:\.ya?ml|\.json|\.toml|\.conf|\.service|file)", of_settings),
    (r"(?:bindings/python/(?:src|examples)|examples)/.*\.py", of_python),
    (r"bindings/(?:node|browser)/(?!test/).*\.(?:m?js|d\.m?ts|html)", of_c_like),
    (r"idgate-ffi/(?:include|example)/.*\.[ch]", of_c_like),
    (r"examples/.*\.(?:rs|m?js|ts|go|java|html)", of_c_like),
]


def phrases(text):
    """Each phrase of a text that is wrong, with its surroundings and what to write instead."""
    text = LINK.sub("]", CODE_SPAN.sub("``", text))
    text = re.sub(r"[^\S\n]*\n[^\S\n]*\n\s*", BREAK, text)
    text = re.sub(r"\s+", " ", text)
    for pattern, advice in PATTERNS:
        for found in pattern.finditer(text):
            around = text[max(0, found.start() - 40) : found.end() + 30]
            yield found[0], f"…{around}…".replace(BREAK, " | "), advice


def help_of_commands(code):
    """The documentation in a file that defines commands or flags: `--help` prints that of each."""
    if not re.search(r"\bclap\b", code):
        return ""
    return BREAK.join(MARKS.sub(" ", found) for found in HELP.findall(lines.without_tests(code)[0]))


def documentation(code):
    """The documentation in a file, without the code of its examples. Tests are included."""
    found = DOCUMENTATION.findall(FENCE.sub(r"//! \1", code))
    return BREAK.join(of_markdown(MARKS.sub(" ", text)) for text in found)


def documented():
    """Each file of a library with its documentation."""
    for crate in LIBRARIES:
        for path in sorted((ROOT / crate / "src").rglob("*.rs")):
            yield path.relative_to(ROOT).as_posix(), documentation(path.read_text(encoding="utf-8"))


def read_texts():
    """Each file that people read, or whose texts they read, with these."""
    tracked = subprocess.run(
        ("git", "-C", ROOT, "ls-files"), check=True, capture_output=True, text=True
    ).stdout.splitlines()
    for name in tracked:
        for path, of in READ:
            if re.fullmatch(path, name) and (ROOT / name).is_file():
                yield name, of((ROOT / name).read_text(encoding="utf-8"))
                break
    for crate in lines.CRATES:
        sources = ROOT / crate / "src"
        for within, texts in test_texts.product(sources):
            code = (sources / within).read_text(encoding="utf-8")
            yield f"{crate}/src/{within}", BREAK.join([*texts, help_of_commands(code)])
    yield from documented()


def findings():
    found = [(name, *phrase) for name, text in read_texts() for phrase in phrases(text)]
    excepted = {(name, phrase) for name, phrase, *_ in found} & set(EXCEPTIONS)
    return [finding for finding in found if finding[:2] not in excepted], excepted


class PlainTest(unittest.TestCase):
    def test_user_facing_texts_have_no_phrase_that_is_always_wrong(self):
        found, excepted = findings()
        for name, _, around, advice in found:
            with self.subTest(file=name):
                self.fail(f"{around}: write: {advice}")
        self.assertEqual(set(EXCEPTIONS) - excepted, set(), "exceptions that are not needed")

    def test_each_phrase_is_refused(self):
        for text in (
            "Whoever has the key reads sessions.",
            "Nobody answered.",
            "Somebody's claims.",
            "It begins anew.",
            "The key is revoked for good.",
            "It heeds CRLs.",
            "The issuer vouches for it.",
            "An error with `vp_token` beside it.",
            "It says besides that it is late.",
            "The key is no point of the curve.",
            "That is no `kid`.",
            "A page of theirs.",
            "The rule, as OpenID4VP has it.",
            "It refuses headers, as `kid`.",
            "`alg` stands in the header.",
            "It is in the place where it stands.",
            "The end thereof.",
            "It has an own user.",
            "The wallet hears no reason.",
            "A paragraph of two\nlines that nobody\nreads.",
        ):
            with self.subTest(text=text):
                self.assertEqual(len(list(phrases(text))), 1)

    def test_right_sentences_pass(self):
        for text in (
            "The key is no longer valid, and there is no other key.",
            "A fetcher stands in for the network.",
            "It is for good answers, and for good reasons.",
            "As soon as the gateway has it, the wallet receives 200.",
            "The gateway signs, as `serve` does.",
            "It refuses headers, for example a repeated `kid`.",
            "`nobody` is the user of the process.",
            "See [the page](whoever.md#nobody) and <https://example.com/anew>.",
            "The value is\n\nno text follows.",
            "This stand-in is a voucher.",
        ):
            with self.subTest(text=text):
                self.assertEqual(list(phrases(text)), [])

    def test_code_is_not_checked_and_comments_and_literals_are(self):
        self.assertEqual(list(phrases(of_markdown("Run this:\n\n```sh\nsay nobody\n```\n\nDone."))), [])
        c_like = "int nobody; // for\n// nobody\nsay(\"is no \", 'code', `to somebody`);\n/* anew */\n"
        self.assertEqual([phrase[0] for phrase in phrases(of_c_like(c_like))], ["nobody", "somebody", "anew"])
        python = 'nobody = 1  # is\n# no name\nsay("beside")\n'
        self.assertEqual([phrase[0] for phrase in phrases(of_python(python))], ["beside", "is no n"])

    def test_help_of_commands_is_checked_and_other_documentation_is_not(self):
        code = "    /// Read nobody's\n    /// file\n    #[arg(long)]\n    file: PathBuf,\n"
        self.assertEqual(help_of_commands(code), "")
        texts = help_of_commands(f"use clap::Args;\n{code}")
        self.assertEqual([phrase[0] for phrase in phrases(texts)], ["nobody's"])

    def test_documentation_of_the_libraries_is_checked_without_its_examples(self):
        example = "/// ```\n/// let nobody = 1; // anew\n/// ```\n"
        code = f"//! For\n//! nobody.\n\n/// Begins\n/// anew.\n///\n{example}/// Heeds `nobody`.\nfn nobody() {{}}\n"
        self.assertEqual([phrase[0] for phrase in phrases(documentation(code))], ["nobody", "anew", "Heeds"])
        code = (
            '#![cfg_attr(feature = "a", doc = "```")]\n#![cfg_attr(not(feature = "a"), doc = "```ignore")]\n'
            "//! nobody();\n//! ```\n//! It begins anew.\n// For nobody.\n"
        )
        self.assertEqual([phrase[0] for phrase in phrases(documentation(code))], ["anew"])
        crate = documentation((ROOT / "idgate-core/src/lib.rs").read_text(encoding="utf-8"))
        self.assertIn("# Features", crate)
        self.assertNotIn("fn main", crate)

    def test_documentation_of_the_libraries_cites_only_public_texts(self):
        for name, text in documented():
            with self.subTest(file=name):
                self.assertNotRegex(text, CITATION, "state the rule: readers cannot look up this text")

    def test_all_kinds_of_texts_are_read(self):
        names = [name for name, _ in read_texts()]
        for path, _ in READ:
            with self.subTest(path=path):
                self.assertTrue(any(re.fullmatch(path, name) for name in names))
        for crate in lines.CRATES:
            with self.subTest(crate=crate):
                self.assertTrue(any(name.startswith(f"{crate}/src/") for name in names))


if __name__ == "__main__":
    if sys.argv[1:] == ["--list"]:
        for name, _, around, advice in findings()[0]:
            print(f"{name}: {around}: {advice}")
    else:
        unittest.main()
