"""The crates from release/crates.sh: complete, without tests, with the metadata that a registry requires."""

import os
import pathlib
import re
import tarfile
import tempfile
import tomllib
import unittest

from packages import LONG, RELEASE, RELEASED, ROOT, VERSION, run

PUBLISHED = ("idgate-core", "idgate", "idgate-ffi")
#: Files of a package other than sources.
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

    def test_packages_have_only_files_that_are_built_or_read(self):
        for name, files in self.packed.items():
            with self.subTest(name):
                rest = {file for file in files if not file.startswith("src/")}
                self.assertEqual(rest, OF_EACH | FILES[name])
                self.assertTrue(all(file.endswith(".rs") for file in files if file.startswith("src/")))

    def test_packages_have_every_source_file_of_the_repository(self):
        for name, files in self.packed.items():
            there = ROOT / name
            for file in (there / "src").rglob("*.rs"):
                self.assertIn(str(file.relative_to(there)), files)

    def test_packages_have_the_whole_licence_text(self):
        for files in self.packed.values():
            self.assertEqual(files["LICENSE"], (ROOT / "LICENSE").read_bytes())

    def test_the_manifest_has_the_metadata_that_a_registry_requires(self):
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

    def test_dependencies_are_published_crates_and_not_paths(self):
        for name in PUBLISHED:
            manifest = self.manifest(name)
            for table in ("dependencies", "dev-dependencies", "build-dependencies"):
                for needed, said in manifest.get(table, {}).items():
                    with self.subTest(crate=name, needed=needed):
                        self.assertNotIn("path", said)
                        self.assertIn("version", said)
                        if needed.startswith("idgate"):
                            self.assertIn(needed, PUBLISHED)

    def test_a_dependency_pinned_to_one_version_has_a_reason(self):
        """Embedders of idgate cannot use another version."""
        lines = (ROOT / "Cargo.toml").read_text().splitlines()
        pinned = [line for line in lines if re.search(r'version = "[=<>]', line)]
        self.assertEqual({line.split(" = ")[0] for line in pinned}, {"x509-parser", "rsa"})
        for line in pinned:
            self.assertIn("} # ", line)

    def test_only_these_crates_are_published(self):
        for file in (*ROOT.glob("*/Cargo.toml"), *ROOT.glob("tests/*/Cargo.toml")):
            said = tomllib.loads(file.read_text()).get("package", {})
            if said.get("name", "") not in PUBLISHED:
                with self.subTest(file=file.relative_to(ROOT)):
                    self.assertIn(said.get("publish"), (False, {"workspace": True}))


if __name__ == "__main__":
    unittest.main()
