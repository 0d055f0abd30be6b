"""The archive for C, unpacked in another place: pkg-config and CMake link it, and a program verifies a flow."""

import os
import pathlib
import re
import shutil
import socket
import subprocess
import tarfile
import tempfile
import unittest

import made
from made import GNU, RELEASE, ROOT, VERSION

NAME = f"idgate-c-{VERSION}-{GNU}"
LINK = re.compile(r"openid4vp://\S+")


def first_program():
    """The program in docs/c.md, on a free port."""
    page = (ROOT / "docs/c.md").read_text(encoding="utf-8")
    source = re.search(r"```c\n(/\* ask\.c \*/\n.*?)```", page, re.DOTALL)[1]
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
    assert "3000" in source
    return source.replace("3000", port)


class ArchiveTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.file = made.artefact(f"{NAME}.tar.gz", "c_archive.py")
        scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(scratch.cleanup)
        # Another place than the one it was built for.
        cls.place = pathlib.Path(scratch.name, "some where")
        with tarfile.open(cls.file) as archive:
            cls.members = {it.name.removeprefix(f"{NAME}/"): it for it in archive}
            archive.extractall(cls.place, filter="data")
        cls.prefix = cls.place / NAME
        cls.idgate = made.BUILT if not RELEASE else cls.released(cls.place)

    @staticmethod
    def released(place):
        """The program of the same release. Its wallet answers."""
        name = f"idgate-{VERSION}-{made.MUSL}"
        with tarfile.open(made.folder() / f"{name}.tar.gz") as archive:
            archive.extract(f"{name}/bin/idgate", place, filter="data")
        return place / name / "bin/idgate"

    def environment(self):
        return {
            **os.environ,
            "PKG_CONFIG_PATH": str(self.prefix / "lib/pkgconfig"),
            "LD_LIBRARY_PATH": str(self.prefix / "lib"),
        }

    def test_it_has_header_libraries_pkg_config_and_cmake_files(self):
        wanted = {"include/idgate.h", "lib/libidgate_ffi.a", "lib/libidgate_ffi.so.1", "lib/pkgconfig/idgate.pc"}
        wanted |= {"lib/cmake/idgate/idgateConfig.cmake", "lib/cmake/idgate/idgateConfigVersion.cmake"}
        wanted |= {"example/verify.c", "example/CMakeLists.txt", "LICENSE", "README.md"}
        self.assertEqual(wanted - set(self.members), set())
        self.assertEqual(self.members["lib/libidgate_ffi.so"].linkname, "libidgate_ffi.so.1")
        self.assertEqual({(it.uid, it.gid) for it in self.members.values()}, {(0, 0)})

    def test_no_file_contains_the_path_of_the_build(self):
        for path in ("lib/pkgconfig/idgate.pc", "lib/cmake/idgate/idgateConfig.cmake"):
            text = (self.prefix / path).read_text(encoding="utf-8")
            self.assertNotRegex(text, r"(?m)(^|[\s=\"])/(?!\.)[a-z]")

    @unittest.skipUnless(RELEASE and shutil.which("readelf"), "IDGATE_RELEASE is not set, or no readelf")
    def test_it_needs_no_newer_glibc_than_2_28(self):
        library = self.prefix / "lib/libidgate_ffi.so.1"
        asked = re.findall(r"GLIBC_(\d+)\.(\d+)", made.run("readelf", "--version-info", "--wide", library))
        self.assertTrue(asked)
        self.assertLessEqual(max((int(a), int(b)) for a, b in asked), (2, 28))
        self.assertIn("[libidgate_ffi.so.1]", made.run("readelf", "--dynamic", "--wide", library))

    @unittest.skipIf(RELEASE, "a release is made once; release/build.sh is compared between folders")
    def test_two_runs_give_the_same_bytes(self):
        made.same_again(self, f"{NAME}.tar.gz", "c_archive.py")

    @unittest.skipUnless(shutil.which("cc") and shutil.which("pkg-config"), "no cc or pkg-config")
    def test_a_program_linked_by_pkg_config_verifies_a_flow(self):
        source, program = self.place / "ask.c", self.place / "ask"
        source.write_text(first_program())
        # A shell reads the flags, because the path contains a space.
        line = f'eval cc "\'{source}\'" $(pkg-config --cflags --libs idgate) -o "\'{program}\'"'
        made.run("sh", "-c", line, env=self.environment())
        self.verifies(program)

    @unittest.skipUnless(shutil.which("cc") and RELEASE, "IDGATE_RELEASE is not set: the static library is not in it")
    def test_a_program_with_the_static_library_verifies_a_flow(self):
        source, program = self.place / "static.c", self.place / "static"
        source.write_text(first_program())
        library = self.prefix / "lib/libidgate_ffi.a"
        made.run("cc", f"-I{self.prefix}/include", source, library, "-lpthread", "-ldl", "-lm", "-o", program)
        self.verifies(program)

    @unittest.skipUnless(shutil.which("cc") and shutil.which("cmake"), "no cc or cmake")
    def test_cmake_builds_the_example(self):
        build = self.place / "build"
        made.run("cmake", "-S", self.prefix / "example", "-B", build, f"-DCMAKE_PREFIX_PATH={self.prefix}")
        made.run("cmake", "--build", build)
        for name, code in (("of nobody", 1), (None, 1)):
            arguments = ["key.json", "https://issuer.example", "a", "n", name, "given_name"] if name else []
            done = subprocess.run([build / "verify", *arguments], capture_output=True, text=True, cwd=self.place)
            self.assertEqual(done.returncode, code, done.stderr)
            self.assertIn("cannot be read" if name else "", done.stderr)

    def verifies(self, program):
        """Runs the program and answers its request with the wallet of idgate: once genuine, once forged."""
        for do, wanted in (("accept", '"given_name":"Erika"'), ("forge", "issuer_signature_invalid")):
            with subprocess.Popen([program], stdout=subprocess.PIPE, text=True, env=self.environment()) as asks:
                try:
                    link = LINK.search(asks.stdout.readline())[0]
                    wallet = [self.idgate, "sandbox", "wallet", link, "--do", do]
                    subprocess.run(wallet, capture_output=True, text=True, timeout=60)
                    said = asks.communicate(timeout=60)[0]
                finally:
                    asks.kill()
            self.assertIn(wanted, said)


if __name__ == "__main__":
    unittest.main()
