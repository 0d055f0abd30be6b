"""The npm packages in a fresh project, without Rust and C compiler."""

import hashlib
import json
import os
import pathlib
import shutil
import tarfile
import tempfile
import unittest

from packages import CPU, LIBRARY, MIB, RELEASE, RELEASED, ROOT, VERSION, built, run, sections, without_rust

ARCH = {"x86_64": "x64", "aarch64": "arm64"}.get(CPU, CPU)
OWN = f"linux-{ARCH}-gnu"
TESTS = ROOT / "bindings/node/test"
LOAD = "require('idgate'); console.log('loaded')"


def pack(folder):
    run(RELEASE / "npm.py", folder, VERSION, env=os.environ | {"npm_config_cache": str(ROOT / "target/npm-cache")})
    return folder


def read(archive):
    with tarfile.open(archive) as opened:
        return {one.name.removeprefix("package/"): opened.extractfile(one).read() for one in opened}


@unittest.skipUnless(RELEASED or LIBRARY.exists(), "target/release/libidgate_ffi.so is not built")
@unittest.skipUnless(shutil.which("npm"), "npm is not installed")
class NpmTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        made = tempfile.TemporaryDirectory()
        cls.addClassCleanup(made.cleanup)
        cls.top = pathlib.Path(made.name)
        cls.folder = RELEASED
        if not RELEASED:
            (cls.top / "dist/build").mkdir(parents=True)
            # The real file takes a while to make. The tests of the bills check it.
            (cls.top / "dist/build/THIRD-PARTY.txt").write_text("licences\n")
            cls.folder = pack(built(cls.top / "dist"))
        cls.main = cls.folder / f"idgate-{VERSION}.tgz"
        cls.platform = cls.folder / f"idgate-{OWN}-{VERSION}.tgz"
        cls.environment = without_rust() | {"npm_config_cache": str(ROOT / "target/npm-cache")}

        cls.installed = cls.top / "installed"
        cls.installed.mkdir()
        (cls.installed / "package.json").write_text('{"name": "shop", "version": "1.0.0", "private": true}\n')
        # Scripts of packages do not run: npm 12 leaves that to the user, and none is needed.
        run("npm", "install", "--no-audit", "--no-fund", "--prefer-offline", "--ignore-scripts", cls.main, cls.platform,
            cwd=cls.installed, env=cls.environment)

    def project(self):
        """A fresh project with both packages installed."""
        folder = pathlib.Path(tempfile.mkdtemp(dir=self.top)) / "shop"
        return shutil.copytree(self.installed, folder, symlinks=True)

    def node(self, folder, script, **options):
        return run("node", "-e", script, cwd=folder, env=self.environment, **options)

    def test_each_package_names_its_system(self):
        packages = {file.name: json.loads(read(file)["package.json"]) for file in self.folder.glob("*.tgz")}
        main = packages.pop(self.main.name)
        names = {f"idgate-{said['name'].split('/')[1]}-{VERSION}.tgz": said for said in packages.values()}
        self.assertEqual(names, packages)
        self.assertIn(self.platform.name, packages)
        for said in packages.values():
            with self.subTest(said["name"]):
                _, cpu, libc = said["name"].split("/")[1].split("-")
                self.assertEqual((said["os"], said["cpu"]), (["linux"], [cpu]))
                self.assertEqual(said["libc"], ["glibc" if libc == "gnu" else "musl"])
                self.assertNotIn("scripts", said)
        self.assertEqual(main["optionalDependencies"], {said["name"]: VERSION for said in packages.values()})

    def test_the_manifest_can_be_published(self):
        files = read(self.main)
        said = json.loads(files["package.json"])
        for name in ("private", "devDependencies"):
            self.assertNotIn(name, said)
        self.assertEqual(said["scripts"], {"install": "node install.js"})
        self.assertEqual(set(said["dependencies"]), {"koffi"})
        for name in ("LICENSE", "README.md", "index.d.ts", "index.d.mts", "src/library.js", "src/index.mjs"):
            self.assertIn(name, files)
        self.assertFalse([name for name in files if name.startswith(("native", "test", "node_modules"))])

    def test_a_platform_package_has_a_library_without_symbols_and_its_licences(self):
        for archive in self.folder.glob("idgate-linux-*.tgz"):
            with self.subTest(archive.name):
                files = read(archive)
                self.assertEqual(set(files), {"package.json", "README.md", "LICENSE", "THIRD-PARTY.txt",
                                              "libidgate_ffi.so"})
                library = self.top / "library.so"
                library.write_bytes(files["libidgate_ffi.so"])
                self.assertFalse({name for name in sections(library) if name.startswith((".symtab", ".debug"))})

    @unittest.skipUnless(RELEASED, "the library for tests is not optimized for size")
    def test_packages_are_small(self):
        for archive in self.folder.glob("idgate-linux-*.tgz"):
            self.assertLess(archive.stat().st_size, 3 * MIB, archive.name)

    def test_packing_again_gives_the_same_bytes(self):
        again = self.top / "again"
        shutil.copytree(self.folder / "build", again / "build")
        pack(again)
        for file in again.glob("*.tgz"):
            with self.subTest(file.name):
                self.assertEqual(*(hashlib.sha256(one.read_bytes()).hexdigest() for one in (file, self.folder / file.name)))

    def test_a_fresh_project_without_rust_verifies(self):
        folder = self.project()
        for name in ("cases.js", "cases.test.js"):
            shutil.copy(TESTS / name, folder / name)
        environment = self.environment | {"IDGATE_CASES": str(ROOT / "tests/it/cases")}
        told = run("node", "--test", "--test-reporter=tap", "cases.test.js", cwd=folder, env=environment)
        self.assertIn("# fail 0", told)
        self.assertIn("# pass 2", told)

    def test_the_install_script_accepts_the_package_for_the_system(self):
        package = self.project() / "node_modules/idgate"
        self.assertEqual(run("node", "install.js", cwd=package, env=self.environment), "")
        self.assertFalse((package / "native").exists())

    def test_without_a_package_for_the_system_the_error_has_a_remedy(self):
        folder = self.project()
        shutil.rmtree(folder / "node_modules/@idgate")
        told = self.node(folder, LOAD, fails=True)
        self.assertIn(f"@idgate/{OWN}", told)
        self.assertIn("--omit=optional", told)
        told = run("node", "install.js", cwd=folder / "node_modules/idgate", env=self.environment, fails=True)
        self.assertIn("the native library is missing", told)
        self.assertNotIn("    at ", told)

    def test_on_other_systems_the_error_says_how_to_build_the_library(self):
        folder = self.project()
        for system, library in (("darwin", "libidgate_ffi.dylib"), ("win32", "idgate_ffi.dll")):
            with self.subTest(system):
                other = f"Object.defineProperty(process, 'platform', {{ value: '{system}' }}); "
                told = self.node(folder, other + "console.log(require('idgate/src/library.js'))", fails=True)
                self.assertIn("ERR_PACKAGE_PATH_NOT_EXPORTED", told)
                file = folder / "node_modules/idgate/src/library.js"
                told = self.node(folder, other + f"console.log(require('{file}').advice())")
                self.assertIn("cargo build --release --locked -p idgate-ffi", told)
                self.assertIn(f"target/release/{library}", told)
        told = self.node(folder, f"Object.defineProperty(process, 'platform', {{ value: 'aix' }}); "
                                 f"console.log(require('{file}').advice())")
        self.assertIn("there is no native library for aix", told)

    def test_a_library_for_another_libc_is_skipped(self):
        """An npm that does not support `libc` installs both packages."""
        folder = self.project()
        gnu = folder / "node_modules/@idgate" / OWN
        shutil.copytree(gnu, gnu.with_name(f"linux-{ARCH}-musl"))
        (gnu / "libidgate_ffi.so").write_text("of another libc")
        self.assertIn("loaded", self.node(folder, LOAD))
        (gnu.with_name(f"linux-{ARCH}-musl") / "libidgate_ffi.so").write_text("of another libc")
        self.assertIn("the native library cannot be loaded", self.node(folder, LOAD, fails=True))

    def test_your_own_library_is_preferred_over_all_others(self):
        folder = self.project()
        library = folder / "node_modules/@idgate" / OWN / "libidgate_ffi.so"
        environment = self.environment | {"IDGATE_LIBRARY": str(library), "INIT_CWD": str(folder)}
        run("node", "install.js", cwd=folder / "node_modules/idgate", env=environment)
        library.write_text("not a library")
        self.assertIn("loaded", self.node(folder, LOAD))


if __name__ == "__main__":
    unittest.main()
