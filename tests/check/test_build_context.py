"""The build context of an image contains the sources and none of an operator's files."""

import fnmatch
import pathlib
import subprocess
import tomllib
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PRIVATE = (
    "instance.key",
    "idgate-data/instance.key",
    "idgate-data/idgate.db",
    "idgate-data/idgate.db-wal",
    "idgate-core/idgate-data/idgate.db-shm",
    "examples/shop/sandbox.json",
    "sandbox.json",
    "tls.key",
    "examples/tls.pem",
    "idgate-server/server.log",
    ".env",
    ".git/config",
    "target/release/idgate",
    "idgate-core/target/x",
    "bindings/node/node_modules/x",
    "notes.txt",
)


def patterns():
    for line in (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            yield line.removeprefix("!"), line.startswith("!")


def is_sent(name, rules):
    """Whether `docker build` and `podman build` send a path: the last pattern that matches it or a parent folder wins."""
    parts = pathlib.PurePosixPath(name).parts
    paths = ["/".join(parts[:length]) for length in range(1, len(parts) + 1)]
    sent = True
    for pattern, is_kept in rules:
        tail = pattern.removeprefix("**/")
        candidates = paths if tail == pattern else [part for path in paths for part in (path, path.rsplit("/", 1)[-1])]
        if any(fnmatch.fnmatchcase(path, tail) and path.count("/") == tail.count("/") for path in candidates):
            sent = is_kept
    return sent


class BuildContextTest(unittest.TestCase):
    def test_private_files_are_not_sent(self):
        rules = list(patterns())
        for name in PRIVATE:
            with self.subTest(file=name):
                self.assertFalse(is_sent(name, rules))

    def test_every_source_of_the_workspace_is_sent(self):
        rules = list(patterns())
        members = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))["workspace"]["members"]
        names = subprocess.run(["git", "ls-files", *members], cwd=ROOT, check=True, capture_output=True, text=True)
        sources = ["Cargo.toml", "Cargo.lock", *names.stdout.splitlines()]
        left_out = [name for name in sources if name.endswith((".rs", ".toml", ".lock", ".sql", ".yaml")) and not is_sent(name, rules)]
        self.assertEqual(left_out, [])

    def test_the_last_matching_pattern_wins(self):
        rules = [("*", False), ("a", True), ("**/x", False)]
        self.assertTrue(is_sent("a/b", rules))
        self.assertFalse(is_sent("c/b", rules))
        self.assertFalse(is_sent("a/b/x", rules))


if __name__ == "__main__":
    unittest.main()
