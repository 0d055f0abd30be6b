"""Counts the lines of each crate without tests, comments and blank lines:
`python3 tests/check/lines.py [COMMIT ...]`; the default is HEAD."""

import pathlib
import re
import subprocess
import sys

import surface

ROOT = pathlib.Path(__file__).resolve().parents[2]
CRATES = (
    "idgate-core",
    "idgate",
    "idgate-server/base",
    "idgate-server/xml-list",
    "idgate-server/store",
    "idgate-server",
    "idgate-server/sandbox",
    "idgate-server/program",
    "idgate-ffi",
)
FOR_TESTS = re.compile(r"#\[cfg\((?:all\(|any\()?test\b[^\]]*\](?:\s*#\[[^\]]*\])*\s*")
MODULE = re.compile(r"(?:pub(?:\([^)]*\))? )?mod (\w+);")


def git(*arguments):
    return subprocess.run(
        ("git", "-C", ROOT, *arguments), check=True, capture_output=True, text=True
    ).stdout


def without_tests(code):
    """The code without tests, and the names of test modules."""
    modules = set()
    while found := FOR_TESTS.search(code):
        module = MODULE.match(code, found.end())
        end = module.end() if module else end_of_item(code, found.end())
        modules |= {module[1]} if module else set()
        code = code[: found.start()] + code[end:]
    return code, modules


def end_of_item(code, at):
    while at < len(code) and code[at] not in ";{":
        at = surface.end_of_group(code, at) if code[at] in "([" else at + 1
    return at + 1 if code[at : at + 1] == ";" else surface.end_of_group(code, at)


def count(commit, crate):
    paths = git("ls-tree", "-r", "--name-only", commit, f"{crate}/src").split()
    lines, of_tests = {}, set()
    for path in (path for path in paths if path.endswith(".rs")):
        code, modules = without_tests(surface.without_noise(git("show", f"{commit}:{path}")))
        folder = re.sub(r"(/mod|/lib)?\.rs$", "", path)
        of_tests |= {f"{folder}/{module}" for module in modules}
        lines[folder] = sum(1 for line in code.splitlines() if line.strip())
    product = (at for at in lines if not any(f"{at}/".startswith(f"{t}/") for t in of_tests))
    return sum(lines[at] for at in product)


if __name__ == "__main__":
    for commit in sys.argv[1:] or ["HEAD"]:
        counts = {crate: count(commit, crate) for crate in CRATES}
        each = ", ".join(f"{crate} {n}" for crate, n in counts.items())
        print(f"{commit}: {each}, together {sum(counts.values())}")
