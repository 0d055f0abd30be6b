#!/usr/bin/env python3
"""The licences of everything linked into an artefact for Linux, with their texts.

    release/third_party.py FILE

The texts of a crate and of the C code that it compiles come from the crate's files; those of Rust's library and musl come
from the tools that link them. A shared text is listed once, with all crates that have it.
"""

from __future__ import annotations

import collections
import pathlib
import re
import subprocess
import sys

import sbom

NAMES = re.compile(r"(?i)(licen[cs]e|copying|copyright|notice)([-_. ].*)?$|unlicense.*")
#: C code in crates -> the place of its licence files; the crate's own LICENSE is about the bindings.
BUNDLED = {
    "aws-lc-sys": ("aws-lc/LICENSE", "aws-lc/third_party/*/LICENSE*"),
    "libmimalloc-sys": ("c_src/mimalloc/v*/LICENSE",),
}
SQLITE = """SQLite is in the public domain (https://sqlite.org/copyright.html). The author disclaims copyright to this source
code. In place of a legal notice, here is a blessing: May you do good and not evil. May you find forgiveness for
yourself and forgive others. May you share freely, never taking more than you give.
"""
TARGETS = [f"{cpu}-unknown-linux-{libc}" for cpu in ("x86_64", "aarch64") for libc in ("gnu", "musl")]


def linked() -> set[sbom.Crate]:
    """Every crate of the program and of the C library, except our own."""
    found: set[sbom.Crate] = set()
    for target in TARGETS:
        for kind in ("program", "c"):
            found |= set(sbom.tree(sbom.KINDS[kind], target)[0])
    return {crate for crate in found if crate in sbom.checksums()}


def texts_of(crate: sbom.Crate) -> list[str]:
    """The licence files of a crate, and of the C code that it compiles."""
    folder = pathlib.Path(sbom.packages()[crate]["manifest_path"]).parent
    files = [file for file in sorted(folder.iterdir()) if file.is_file() and NAMES.fullmatch(file.name)]
    for folders in (folder.glob("LICENSES"), folder.glob("licenses")):
        files += [file for one in folders for file in sorted(one.iterdir()) if file.is_file()]
    for pattern in BUNDLED.get(crate.name, ()):
        files += sorted(folder.glob(pattern))
    texts = [clean(file.read_text(encoding="utf-8", errors="replace")) for file in files]
    return texts + ([SQLITE] if crate.name == "libsqlite3-sys" else [])


def clean(text: str) -> str:
    lines = [line.rstrip() for line in text.replace("\r\n", "\n").replace("\f", "").split("\n")]
    return "\n".join(lines).strip("\n") + "\n"


def standard(expression: str) -> list[str]:
    """The SPDX texts of an expression, from the Rust compiler's collection."""
    sysroot = subprocess.run(("rustc", "--print", "sysroot"), check=True, stdout=subprocess.PIPE, text=True).stdout
    folder = pathlib.Path(sysroot.strip()) / "share/doc/rust/licenses"
    names = re.findall(r"[A-Za-z0-9.-]+", expression)
    files = [folder / f"{name}.txt" for name in names if name not in ("OR", "AND", "WITH")]
    return [clean(file.read_text()) for file in files if file.exists()]


def musl() -> list[str]:
    """The licence of musl in a program for musl: zig links it and has its licence."""
    try:
        import ziglang
    except ModuleNotFoundError:
        return []
    file = pathlib.Path(ziglang.__file__).parent / "lib/libc/musl/COPYRIGHT"
    return [clean(file.read_text(encoding="utf-8", errors="replace"))] if file.exists() else []


def make() -> str:
    owners: dict[str, list[str]] = collections.defaultdict(list)
    first: dict[str, str] = {}
    listed = []

    def has(title: str, text: str) -> None:
        # The same words may have different line breaks.
        owners[first.setdefault(" ".join(text.split()), text)].append(title)

    for crate in sorted(linked(), key=lambda one: (one.name, one.version)):
        package = sbom.packages()[crate]
        licence = sbom.licence(package)
        title = f"{crate.name} {crate.version}"
        listed.append(f"{title}: {licence}" + (f", {package['repository']}" if package["repository"] else ""))
        texts = texts_of(crate)
        if not texts:
            # Only the manifest names the licence: use SPDX's text and the authors.
            who = ", ".join(re.sub(r"\s*<[^>]*>", "", author) for author in package["authors"]) or "its authors"
            texts = [f"Copyright {who} ({crate.name})\n\n{text}" for text in standard(licence)]
        if not texts:
            raise SystemExit(f"third_party.py: no text of {licence} for {title}")
        for text in dict.fromkeys(texts):
            has(title, text)
    version = sbom.toolchain("program", "x86_64-unknown-linux-musl")[0]["version"]
    listed.append(f"Rust's standard library {version}: MIT OR Apache-2.0, https://github.com/rust-lang/rust")
    listed.append("musl, in the program and in nothing else: MIT, https://musl.libc.org")
    for text in standard("MIT OR Apache-2.0"):
        has(f"Rust's standard library {version}", text)
    for text in musl():
        has("musl", text)
    rule = "=" * 100
    parts = ["The code linked into idgate, its C library and its packages, with its authors and licences.\n",
             "\n".join(listed) + "\n"]
    for text, names in sorted(owners.items(), key=lambda one: one[1]):
        parts.append(f"{rule}\n" + "\n".join(dict.fromkeys(names)) + f"\n{rule}\n\n{text}")
    return "\n".join(parts)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit("usage: release/third_party.py FILE")
    target = pathlib.Path(sys.argv[1])
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(make(), encoding="utf-8")
