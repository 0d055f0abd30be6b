"""The crates as release/crates.sh packs them: complete, without what only tests, and what a registry asks for."""

import os
import pathlib
import re
import tarfile
import tempfile
import tomllib
import unittest

from packages import LONG, RELEASE, RELEASED, ROOT, VERSION, run

PUBLISHED = ("idgate-core", "idgate", "idgate-ffi")
#: Besides sources, in a package.
FILES = {
    "idgate-core": set(),
    "idgate": set(),
    "idgate-ffi": {"build.rs", "cbindgen.toml", "include/idgate.h", "example/CMakeLists.txt", "example/verify.c"},
}
OF_EACH = {".cargo_vcs_info.json", "Cargo.lock", "Cargo.toml", "Cargo.toml.orig", "LICENSE", "README.md"}


class CratesTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = RELEASED
        if not RELEASED:
            made = tempfile.TemporaryDirectory()
            cls.addClassCleanup(made.cleanup)
            cls.folder = pathlib.Path(made.name)
            run(RELEASE / "crates.sh", cls.folder, VERSION, *(["--verify"] if LONG else []),
                env=os.environ | {"IDGATE_ALLOW_DIRTY": "1"})
        cls.packed = {name: cls.read(f"{name}-{VERSION}") for name in PUBLISHED}

    @classmethod
    def read(cls, name):
        with tarfile.open(cls.folder / f"{name}.crate") as archive:
            return {one.name.removeprefix(f"{name}/"): archive.extractfile(one).read() for one in archive if one.isfile()}

    def manifest(self, name):
        return tomllib.loads(self.packed[name]["Cargo.toml"].decode())

    def test_nothing_is_inside_but_what_is_built_and_read(self):
        for name, files in self.packed.items():
            with self.subTest(name):
                rest = {file for file in files if not file.startswith("src/")}
                self.assertEqual(rest, OF_EACH | FILES[name])
                self.assertTrue(all(file.endswith(".rs") for file in files if file.startswith("src/")))

    def test_every_source_of_the_repository_is_inside(self):
        for name, files in self.packed.items():
            there = ROOT / name
            for file in (there / "src").rglob("*.rs"):
                self.assertIn(str(file.relative_to(there)), files)

    def test_the_licence_is_the_whole_text(self):
        for files in self.packed.values():
            self.assertEqual(files["LICENSE"], (ROOT / "LICENSE").read_bytes())

    def test_the_manifest_says_what_a_registry_asks_for(self):
        for name in PUBLISHED:
            with self.subTest(name):
                package = self.manifest(name)["package"]
                self.assertGreater(len(package["description"]), 30)
                self.assertEqual((package["license"], package["version"], package["readme"]),
                                 ("Apache-2.0", VERSION, "README.md"))
                self.assertLessEqual(len(package["keywords"]), 5)
                self.assertTrue(all(re.fullmatch(r"[a-z][a-z0-9-]{0,19}", word) for word in package["keywords"]))
                self.assertTrue(package["categories"])
                self.assertIn("rust-version", package)
                self.assertTrue(package["publish"])
                docs = package["metadata"]["docs"]["rs"]
                self.assertNotIn("internals", docs.get("features", []))

    def test_no_dependency_is_a_path_and_none_is_a_crate_that_is_not_published(self):
        for name in PUBLISHED:
            manifest = self.manifest(name)
            for table in ("dependencies", "dev-dependencies", "build-dependencies"):
                for needed, said in manifest.get(table, {}).items():
                    with self.subTest(crate=name, needed=needed):
                        self.assertNotIn("path", said)
                        self.assertIn("version", said)
                        if needed.startswith("idgate"):
                            self.assertIn(needed, PUBLISHED)

    def test_a_version_that_admits_no_other_has_its_reason(self):
        """Whoever embeds idgate has to live with these."""
        lines = (ROOT / "Cargo.toml").read_text().splitlines()
        pinned = [line for line in lines if re.search(r'version = "[=<>]', line)]
        self.assertEqual({line.split(" = ")[0] for line in pinned}, {"x509-parser", "rsa"})
        for line in pinned:
            self.assertIn("} # ", line)

    def test_no_other_crate_is_published(self):
        for file in (*ROOT.glob("*/Cargo.toml"), *ROOT.glob("tests/*/Cargo.toml")):
            said = tomllib.loads(file.read_text()).get("package", {})
            if said.get("name", "") not in PUBLISHED:
                with self.subTest(file=file.relative_to(ROOT)):
                    self.assertIn(said.get("publish"), (False, {"workspace": True}))


if __name__ == "__main__":
    unittest.main()
