"""Checks that every link of the site leads to a file and an anchor: `python3 tests/docs/links.py target/book`.

Links to other sites are not followed. Only links may lead to other sites: a script, style, font or image from
elsewhere is an error."""

import html.parser
import pathlib
import posixpath
import re
import sys
import urllib.parse

LOADED = {("link", "href"), ("script", "src"), ("img", "src"), ("iframe", "src")}
URL_IN_STYLE = re.compile(r"url\(['\"]?(?!data:)([^'\")]+)")


class Page(html.parser.HTMLParser):
    """The links of a page, and its anchors."""

    def __init__(self, text):
        super().__init__()
        self.links, self.places = [], set()
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        told = dict(attributes)
        self.places |= {told[name] for name in ("id", "name") if told.get(name)}
        for name in ("href", "src"):
            if told.get(name) is not None:
                self.links.append((tag, name, told[name]))


def broken(site):
    """A line for each broken link."""
    files = {path.relative_to(site).as_posix() for path in site.rglob("*") if path.is_file()}
    pages = {name: Page((site / name).read_text(encoding="utf-8")) for name in files if name.endswith(".html")}
    for name, page in sorted(pages.items()):
        for tag, attribute, link in page.links:
            url = urllib.parse.urlsplit(link)
            if url.scheme in ("data", "mailto"):
                continue
            if url.scheme or url.netloc:
                if (tag, attribute) in LOADED:
                    yield f"{name}: <{tag}> loads {link}"
                continue
            path = urllib.parse.unquote(url.path)
            target = posixpath.normpath(posixpath.join(posixpath.dirname(name), path)) if path else name
            if target not in files:
                yield f"{name}: {link}: there is no {target}"
            elif url.fragment and target in pages:
                if urllib.parse.unquote(url.fragment) not in pages[target].places:
                    yield f"{name}: {link}: {target} has no such place"
    for name in sorted(files):
        if name.endswith(".css"):
            for url in URL_IN_STYLE.findall((site / name).read_text(encoding="utf-8")):
                if "//" in url or posixpath.normpath(posixpath.join(posixpath.dirname(name), url)) not in files:
                    yield f"{name}: {url}"


if __name__ == "__main__":
    site = pathlib.Path(sys.argv[1])
    found = list(broken(site)) if (site / "index.html").is_file() else [f"{site} has no index.html"]
    print(*found, sep="\n" if found else "")
    sys.exit(1 if found else 0)
