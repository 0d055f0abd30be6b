"""A preprocessor for mdBook: replaces each link that leaves docs/ with the file's name in the repository.

On a code host such links work. The site has no copy of those files, and names a README index."""

import json
import posixpath
import re
import sys

FENCED = re.compile(r"(^ {0,3}```.*?^ {0,3}```\s*$)", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[((?:[^\[\]]|\[[^\]]*\])*)\]\((?![a-z]+:|#)([^)#\s]+)(#[^)\s]*)?\)")


def without_outside(text, folder):
    """The text of a page in `folder` of docs/."""

    def named(link):
        words, target = link[1], posixpath.normpath(posixpath.join(folder, link[2]))
        if not target.startswith("../"):
            return re.sub(r"README\.md(#[^)]*)?\)$", r"index.md\1)", link[0])
        path = target.removeprefix("../")
        return f"`{path}`" if words.strip("`/") in path else f"{words} (`{path}` in the repository)"

    parts = FENCED.split(text)
    return "".join(part if at % 2 else LINK.sub(named, part) for at, part in enumerate(parts))


def walk(items):
    for item in items:
        if chapter := isinstance(item, dict) and item.get("Chapter"):
            folder = posixpath.dirname(chapter["path"] or "")
            chapter["content"] = without_outside(chapter["content"], folder)
            walk(chapter["sub_items"])


if __name__ == "__main__":
    if sys.argv[1:2] == ["supports"]:
        sys.exit(0)
    _, book = json.load(sys.stdin)
    walk(book.get("items") or book.get("sections"))
    json.dump(book, sys.stdout)
