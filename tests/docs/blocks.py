"""The fenced blocks of the site's pages, with their info strings."""

from __future__ import annotations

import pathlib
import re
from dataclasses import dataclass

ROOT = pathlib.Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
CHAPTER = re.compile(r"\]\(([^)]+\.md)\)")
FENCE = re.compile(r"^( *)(`{3,})(.*)$")
HEADING = re.compile(r"^#+ (.*)$")
#: The first line of a block that is a file: `# login.py`, `// src/main.rs`, `/* ask.c */`.
FILE = re.compile(r"^(?:#|//|/\*) ([\w./-]+\.\w+)(?: \*/)?$")


@dataclass(frozen=True)
class Block:
    page: str
    line: int
    heading: str
    #: The words of the info string; the first one is the language.
    info: tuple[str, ...]
    text: str

    @property
    def language(self) -> str:
        return self.info[0] if self.info else ""

    @property
    def marks(self) -> tuple[str, ...]:
        return self.info[1:]

    @property
    def file(self) -> str | None:
        found = FILE.match(self.text.split("\n", 1)[0])
        return found[1] if found else None

    def __str__(self) -> str:
        return f"docs/{self.page}:{self.line} ({' '.join(self.info)})"


def pages() -> list[str]:
    """The pages of the site, in order."""
    return CHAPTER.findall((DOCS / "SUMMARY.md").read_text(encoding="utf-8"))


def blocks(page: str, text: str | None = None) -> list[Block]:
    lines = (text or (DOCS / page).read_text(encoding="utf-8")).splitlines()
    found, heading, begun = [], "", None
    for number, line in enumerate(lines, 1):
        fence = FENCE.match(line)
        if begun is None:
            if fence:
                begun = (number, len(fence[1]), fence[2], tuple(re.split(r"[\s,]+", fence[3].strip())), [])
            elif title := HEADING.match(line):
                heading = title[1]
        elif fence and fence[2] == begun[2] and not fence[3].strip():
            at, _, _, info, body = begun
            found.append(Block(page, at, heading, tuple(filter(None, info)), "\n".join(body) + "\n"))
            begun = None
        else:
            begun[4].append(line[begun[1]:] if line[: begun[1]].isspace() else line)
    if begun is not None:
        raise ValueError(f"docs/{page}:{begun[0]}: a block has no end")
    return found


def commands(text: str) -> list[str]:
    """The commands of a block: each line with its continuation lines."""
    whole, open_quote, part = [], None, []
    for line in text.splitlines():
        if open_quote is None and not part and (not line.strip() or line.lstrip().startswith("#")):
            continue
        part.append(line)
        at = 0
        while at < len(line):
            character = line[at]
            if open_quote is None and character == "\\":
                at += 1
            elif open_quote is None and character == "#" and (at == 0 or line[at - 1].isspace()):
                break
            elif open_quote == '"' and character == "\\":
                at += 1
            elif character in "'\"" and open_quote in (None, character):
                open_quote = None if open_quote else character
            at += 1
        if open_quote is None and not line.endswith("\\"):
            whole.append("\n".join(part))
            part = []
    if part:
        raise ValueError(f"a command has no end: {part[0]}")
    return whole


def shown(text: str) -> list[tuple[str, str]]:
    """The commands of a `console` block, each with its output."""
    told: list[tuple[str, str]] = []
    for line in text.splitlines():
        if line.startswith("$ "):
            told.append((line[2:], ""))
            continue
        command, output = told[-1]
        try:
            commands(command)
            told[-1] = (command, output + line + "\n")
        except ValueError:
            told[-1] = (command + "\n" + line, output)
    return told


def pattern(output: str) -> re.Pattern[str]:
    """A pattern for the output of a command: `…` matches anything in a line, and a line of `…` any lines."""
    parts = []
    for line in output.rstrip("\n").split("\n"):
        if line.strip() == "…":
            parts.append(r"(?:[^\n]*\n)*?")
        else:
            parts.append(".*?".join(re.escape(part) for part in line.rstrip().split("…")) + r" *\n")
    return re.compile("".join(parts))
