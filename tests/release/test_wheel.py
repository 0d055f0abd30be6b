"""The Python package: its content, and a fresh venv without Rust and C compiler."""

import os
import pathlib
import re
import shutil
import sys
import tarfile
import tempfile
import tomllib
import unittest
import zipfile

from packages import CPU, LONG, MIB, RELEASE, RELEASED, ROOT, VERSION, release_files, run, sections, without_rust

TESTS = ROOT / "bindings/python/tests"
#: The wheel that tests/run.sh built from the clone.
OF_THE_CLONE = sorted((ROOT / "target/wheels").glob("idgate-*.whl"))
WHEELS = release_files("*.whl") or OF_THE_CLONE


def inside(wheel):
    with zipfile.ZipFile(wheel) as opened:
        return {one.filename: opened.read(one) for one in opened.infolist()}


@unittest.skipUnless(WHEELS, "no wheel was made")
class WheelTest(unittest.TestCase):
    def setUp(self):
        made = tempfile.TemporaryDirectory()
        self.addCleanup(made.cleanup)
        self.top = pathlib.Path(made.name)

    def test_it_has_the_package_and_nothing_else(self):
        own = {f"idgate/{file.relative_to(ROOT / 'bindings/python/src/idgate')}"
               for file in (ROOT / "bindings/python/src/idgate").rglob("*.py*") if "__pycache__" not in file.parts}
        made = {"idgate/_native/__init__.py", "idgate/_native/ffi.py", "idgate/_native/lib_native.so", "idgate/py.typed"}
        for wheel in WHEELS:
            with self.subTest(wheel.name):
                self.assertEqual({name for name in inside(wheel) if not name.startswith("idgate-")}, own | made)

    def test_its_library_has_no_symbols_and_no_debug_information(self):
        for wheel in WHEELS:
            library = self.top / "library.so"
            library.write_bytes(inside(wheel)["idgate/_native/lib_native.so"])
            with self.subTest(wheel.name):
                self.assertFalse({name for name in sections(library) if name.startswith((".symtab", ".debug"))})

    def test_it_has_its_licence_and_contains_no_path(self):
        for wheel in WHEELS:
            files = inside(wheel)
            info = f"idgate-{VERSION}.dist-info"
            with self.subTest(wheel.name):
                self.assertEqual(files[f"{info}/licenses/LICENSE"], (ROOT / "LICENSE").read_bytes())
                self.assertNotIn(str(ROOT).encode(), b"".join(files[name] for name in files if info in name))


class SdistOfACloneTest(unittest.TestCase):
    def test_it_builds_with_the_versions_in_its_lock_file(self):
        with tempfile.TemporaryDirectory() as made:
            maturin = pathlib.Path(sys.executable).with_name("maturin")
            run(maturin, "sdist", "--out", made, cwd=ROOT / "bindings/python")
            with tarfile.open(pathlib.Path(made) / f"idgate-{VERSION}.tar.gz") as sdist:
                sdist.extractall(made, filter="data")
            top = pathlib.Path(made) / f"idgate-{VERSION}"
            self.assertNotIn("locked", tomllib.loads((top / "pyproject.toml").read_text())["tool"]["maturin"])
            run("cargo", "metadata", "--offline", "--format-version", "1", cwd=top)
            locked = [tomllib.loads((folder / "Cargo.lock").read_text())["package"] for folder in (top, ROOT)]
            ours, clones = ({(one["name"], one["version"]) for one in packages} for packages in locked)
            self.assertLessEqual(ours, clones)
            self.assertIn("idgate-ffi", {name for name, _ in ours})


@unittest.skipUnless(RELEASED, "IDGATE_RELEASE names no folder with a release")
class ReleasedWheelsTest(unittest.TestCase):
    def test_there_is_a_wheel_for_each_linux(self):
        tags = {re.fullmatch(rf"idgate-{re.escape(VERSION)}-py3-none-(\w+)\.whl", wheel.name)[1] for wheel in WHEELS}
        built = {file.parent.name.split("-")[0] for file in RELEASED.glob("build/*-musl/idgate")}
        self.assertIn(CPU, built)
        self.assertEqual(tags, {f"{policy}_{cpu}" for policy in ("manylinux_2_28", "musllinux_1_2") for cpu in built})

    def test_each_wheel_is_small(self):
        for wheel in WHEELS:
            self.assertLess(wheel.stat().st_size, 3 * MIB, wheel.name)

    def test_each_wheel_has_its_licences_and_bill(self):
        for wheel in WHEELS:
            files = inside(wheel)
            info = f"idgate-{VERSION}.dist-info"
            with self.subTest(wheel.name):
                self.assertIn(f"{info}/sboms/idgate.cdx.json", files)
                self.assertGreater(len(files[f"{info}/licenses/THIRD-PARTY.txt"]), 100_000)

    def test_no_wheel_needs_more_than_its_name_says(self):
        """glibc 2.28 and libraries that every system has; for musl no glibc at all."""
        for wheel in WHEELS:
            with tempfile.NamedTemporaryFile() as file, self.subTest(wheel.name):
                file.write(inside(wheel)["idgate/_native/lib_native.so"])
                file.flush()
                told = run("readelf", "--dynamic", "--version-info", "--wide", file.name)
                needed = set(re.findall(r"Shared library: \[(.*?)\]", told))
                asked = {tuple(map(int, one.split("."))) for one in re.findall(r"GLIBC_([0-9.]+)", told)}
                if "musllinux" in wheel.name:
                    self.assertEqual((needed, asked), ({"libc.so"}, set()))
                else:
                    self.assertLessEqual(max(asked), (2, 28))
                    self.assertLessEqual({name.split(".")[0].split("-")[0] for name in needed},
                                         {"libc", "libm", "libdl", "libpthread", "ld"})


class InstalledTest(unittest.TestCase):
    """Runs the shared cases in a fresh venv after pip has installed the package."""

    def setUp(self):
        made = tempfile.TemporaryDirectory()
        self.addCleanup(made.cleanup)
        self.top = pathlib.Path(made.name)

    def verify(self, package, environment):
        environment = environment | {"PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_CACHE_DIR": str(ROOT / "target/pip-cache")}
        python = self.top / "venv/bin/python"
        run("python3", "-m", "venv", self.top / "venv", env=environment)
        run(python, "-m", "pip", "install", "--quiet", package, env=environment)
        folder = self.top / "shop/own/tests"
        folder.mkdir(parents=True)
        for name in ("cases.py", "test_cases.py"):
            shutil.copy(TESTS / name, folder / name)
        told = run(python, "-m", "unittest", "-v", "test_cases", cwd=folder,
                   env=environment | {"IDGATE_CASES": str(ROOT / "tests/it/cases")})
        self.assertIn("\nOK\n", told)

    @unittest.skipUnless(WHEELS, "no wheel was made")
    def test_a_wheel_verifies_without_rust(self):
        policy = "musllinux" if pathlib.Path("/etc/alpine-release").exists() else "linux"
        wheel = next(one for one in WHEELS if one.name.endswith(f"{CPU}.whl") and
                     ("musllinux" in one.name) == (policy == "musllinux"))
        self.verify(wheel, without_rust())

    @unittest.skipUnless(LONG and RELEASED, "builds everything again: needs IDGATE_LONG and IDGATE_RELEASE")
    def test_pip_builds_the_sources_outside_any_clone(self):
        environment = {name: value for name, value in os.environ.items() if not name.startswith("IDGATE")}
        hidden = self.top / "bin"
        hidden.mkdir()
        (hidden / "git").write_text("#!/bin/sh\nexit 1\n")
        (hidden / "git").chmod(0o755)
        self.verify(RELEASED / f"idgate-{VERSION}.tar.gz", environment | {
            "PATH": f"{hidden}:{environment['PATH']}", "CARGO_TARGET_DIR": str(self.top / "target")})


class SourcesTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        made = tempfile.TemporaryDirectory()
        cls.addClassCleanup(made.cleanup)
        cls.folder = pathlib.Path(made.name) / "sources"
        run(RELEASE / "sources.py", cls.folder)

    def test_the_lock_file_fits_the_remaining_crates(self):
        run("cargo", "metadata", "--format-version=1", "--locked", "--offline", cwd=self.folder)

    def test_all_versions_are_those_of_the_clone(self):
        def locked(folder):
            return {(one["name"], one["version"], one.get("checksum"))
                    for one in tomllib.loads((folder / "Cargo.lock").read_text())["package"]}

        self.assertLess(locked(self.folder), locked(ROOT))

    def test_only_sources_of_the_package(self):
        names = {str(file.relative_to(self.folder)).split("/")[0] for file in self.folder.rglob("*")}
        self.assertEqual(names, {"Cargo.toml", "Cargo.lock", "LICENSE", "idgate-core", "idgate", "idgate-ffi",
                                 "bindings"})
        for file in self.folder.glob("*/Cargo.toml"):
            self.assertNotIn("dev-dependencies", tomllib.loads(file.read_text()))
        self.assertFalse([file for file in self.folder.rglob("*") if file.is_symlink()])

    def test_profiles_are_the_clones_without_those_of_the_program_and_tests(self):
        here, there = (tomllib.loads((folder / "Cargo.toml").read_text())["profile"] for folder in (self.folder, ROOT))
        there["release"].pop("package")
        there.pop("program")
        there.pop("tested")
        self.assertEqual(here, there)


@unittest.skipUnless(RELEASED, "IDGATE_RELEASE names no folder with a release")
class ReleasedSourcesTest(unittest.TestCase):
    def test_the_sources_are_complete_and_minimal(self):
        with tarfile.open(RELEASED / f"idgate-{VERSION}.tar.gz") as archive:
            names = {name.split("/", 1)[1] for name in archive.getnames()}
        for name in ("PKG-INFO", "Cargo.toml", "Cargo.lock", "LICENSE", "pyproject.toml", "idgate-ffi/cbindgen.toml",
                     "idgate-core/src/lib.rs", "idgate/src/lib.rs", "src/idgate/__init__.py"):
            self.assertIn(name, names)
        self.assertFalse([name for name in names if re.match(r"tests|examples|idgate-server|.*/testkit", name)])


if __name__ == "__main__":
    unittest.main()
