"""The archive of the program: its content, its reproducibility, and a run in an empty root."""

import io
import os
import pathlib
import re
import shutil
import subprocess
import tarfile
import tempfile
import unittest
import zlib

import made
from made import MUSL, RELEASE, ROOT, TIME, VERSION

NAME = f"idgate-{VERSION}-{MUSL}"


class ProgramTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.file = made.artefact(f"{NAME}.tar.gz", "program.py")
        with tarfile.open(cls.file) as archive:
            cls.members = {member.name: member for member in archive}
            cls.program = archive.extractfile(f"{NAME}/bin/idgate").read()

    def test_it_has_all_files_to_run_a_gateway(self):
        manual = made.folder() / "build" / "manual"
        wanted = {"bin/idgate", "LICENSE", "README.md", "share/bash-completion/completions/idgate"}
        wanted |= {"share/zsh/vendor-completions/_idgate", "share/fish/vendor_completions.d/idgate.fish"}
        wanted |= {f"share/man/man{page.suffix[1:]}/{page.name}" for page in (manual / "man").iterdir()}
        wanted |= {f"examples/deploy/{file.name}" for file in (ROOT / "examples/deploy").iterdir()}
        self.assertGreater(len(wanted), 60)
        self.assertEqual({f"{NAME}/{path}" for path in wanted} - set(self.members), set())

    def test_it_has_no_user_or_time_of_the_packager(self):
        self.assertEqual(list(self.members), sorted(self.members))
        self.assertEqual({(it.uid, it.gid, it.uname) for it in self.members.values()}, {(0, 0, "root")})
        self.assertEqual(len({it.mtime for it in self.members.values()}), 1)
        modes = {name: it.mode for name, it in self.members.items() if it.isfile()}
        self.assertEqual({name for name, mode in modes.items() if mode == 0o755}, {f"{NAME}/bin/idgate"})
        self.assertEqual(set(modes.values()), {0o644, 0o755})
        # Bytes 4 to 7 of a gzip file are a time.
        self.assertEqual(self.file.read_bytes()[3:8], bytes(5))

    @unittest.skipIf(RELEASE, "a release is made once; release/build.sh is compared between folders")
    def test_two_runs_give_the_same_bytes(self):
        data = made.same_again(self, f"{NAME}.tar.gz", "program.py")
        with tarfile.open(fileobj=io.BytesIO(data)) as archive:
            self.assertEqual({member.mtime for member in archive}, {TIME})

    @unittest.skipUnless(RELEASE, "IDGATE_RELEASE is not set")
    def test_the_program_contains_no_path_of_this_machine(self):
        symbols = made.folder() / "build" / MUSL / "idgate.debug"
        for data in (self.program, symbols.read_bytes()):
            for place in (str(ROOT), str(pathlib.Path.home()), str(made.folder())):
                self.assertFalse(f"{place}/".encode() in data, place)

    @unittest.skipUnless(RELEASE, "IDGATE_RELEASE is not set")
    def test_the_program_contains_no_compile_time(self):
        # The form of __TIME__.
        self.assertEqual(re.findall(rb"\0\d\d:\d\d:\d\d\0", self.program), [])

    @unittest.skipUnless(RELEASE, "IDGATE_RELEASE is not set")
    def test_the_program_names_the_file_with_its_symbols(self):
        with tarfile.open(made.folder() / f"{NAME}.debug.tar.gz") as archive:
            symbols = archive.extractfile(f"{NAME}/bin/idgate.debug").read()
        self.assertGreater(len(symbols), len(self.program))
        # The debug link: the name and checksum of the file.
        at = self.program.index(b"idgate.debug\0")
        link = self.program[at : at + 20]
        self.assertEqual(int.from_bytes(link[16:], "little"), zlib.crc32(symbols))

    @unittest.skipUnless(RELEASE, "IDGATE_RELEASE is not set")
    def test_it_is_small_static_and_position_independent(self):
        self.assertLess(self.file.stat().st_size, 12 << 20)
        # ELF: ET_DYN if Rust links static programs that way, and no interpreter.
        self.assertEqual(int.from_bytes(self.program[16:18], "little"), 3 if MUSL.startswith("x86_64") else 2)
        self.assertFalse(b"/ld-musl" in self.program or b"/ld-linux" in self.program)

    @unittest.skipUnless(RELEASE, "IDGATE_RELEASE is not set")
    def test_seldom_called_code_is_in_a_separate_section(self):
        # The section that release/cold.ld creates.
        self.assertIn(b"\0.text.cold\0", self.program)

    @unittest.skipUnless(RELEASE and os.environ.get("IDGATE_LONG"), "IDGATE_LONG builds the program once more")
    def test_a_clone_elsewhere_gives_the_same_bytes(self):
        elsewhere = {name: value for name, value in os.environ.items()
                     if name not in ("CARGO_TARGET_DIR", "RELEASE_TOOLS", "SOURCE_DATE_EPOCH")}
        with tempfile.TemporaryDirectory(prefix="a-folder-of-another-name-") as folder:
            clone, out = pathlib.Path(folder, "a-clone"), pathlib.Path(folder, "out")
            made.run("git", "clone", "--quiet", ROOT, clone)
            command = [clone / "release/program.sh", out, VERSION, MUSL]
            built = subprocess.run(command, env=elsewhere, capture_output=True, text=True, timeout=3600)
            self.assertEqual(built.returncode, 0, built.stdout[-4000:] + built.stderr[-4000:])
            for name in ("idgate", "idgate.debug"):
                ours, theirs = (place / "build" / MUSL / name for place in (made.folder(), out))
                self.assertTrue(ours.read_bytes() == theirs.read_bytes(), name)

    def test_a_flow_is_verified_in_an_empty_read_only_root_by_another_user(self):
        made.needs_static()
        with tempfile.TemporaryDirectory() as root:
            root = pathlib.Path(root)
            root.chmod(0o755)
            (root / "tmp").mkdir()
            (root / "idgate").write_bytes(self.program)
            (root / "idgate").chmod(0o755)
            said = made.inside(root, 12345, "/idgate", "demo", "--once")
            self.assertIn("VERIFIED", said)
            self.assertIn("digest_mismatch", said)
            self.assertEqual(made.inside(root, 12345, "/idgate", "--version"), f"idgate {VERSION}\n")


class ShellsTest(unittest.TestCase):
    """The completions in the shells that read them."""

    def test_the_shells_accept_them(self):
        files = made.folder() / "build" / "manual" / "completions"
        for shell, name in (("bash", "idgate"), ("zsh", "_idgate"), ("fish", "idgate.fish")):
            with self.subTest(shell=shell):
                if not shutil.which(shell):
                    self.skipTest(f"{shell} is not installed")
                made.run(shell, "-n", files / name)

    @unittest.skipUnless(shutil.which("bash"), "bash is not installed")
    def test_bash_completes_commands_and_flags(self):
        file = made.folder() / "build" / "manual" / "completions" / "idgate"
        for words, wanted in (("idgate doc", "doctor"), ("idgate doctor --li", "--live"), ("idgate serve --base", "--base-url")):
            script = f"""
                source '{file}'
                COMP_WORDS=({words}) COMP_CWORD=$(({len(words.split())} - 1))
                _idgate idgate "${{COMP_WORDS[COMP_CWORD]}}" "${{COMP_WORDS[COMP_CWORD - 1]}}"
                printf '%s\\n' "${{COMPREPLY[@]}}"
            """
            with self.subTest(words=words):
                self.assertIn(wanted, made.run("bash", "-c", script).split())

    @unittest.skipUnless(shutil.which("man"), "man is not installed")
    def test_man_reports_no_warnings_for_the_pages(self):
        pages = sorted((made.folder() / "build" / "manual" / "man").iterdir())
        self.assertGreater(len(pages), 50)
        for page in pages:
            command = ["man", "--warnings", "--local-file", page]
            done = subprocess.run(command, capture_output=True, text=True, timeout=60)
            with self.subTest(page=page.name):
                self.assertEqual((done.returncode, done.stderr), (0, ""))


class BuildTest(unittest.TestCase):
    """Errors of release/build.sh before it builds anything."""

    def refused(self, *arguments):
        command = [ROOT / "release/build.sh", *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
        return done.stderr

    def test_a_version_other_than_the_workspaces_is_refused(self):
        self.assertRegex(self.refused("99.0.0"), re.escape(f'Cargo.toml says {VERSION}'))

    def test_a_missing_version_and_unknown_arguments_are_refused(self):
        self.assertIn("usage", self.refused())
        self.assertIn("usage", self.refused(VERSION, "--fast"))
        self.assertIn("no program is made for", self.refused(VERSION, "--targets", "sparc-unknown-linux-musl"))

    def test_a_folder_with_other_files_is_refused_and_unchanged(self):
        with tempfile.TemporaryDirectory() as folder:
            mine = pathlib.Path(folder, "build")
            mine.write_text("mine")
            self.assertIn("has files that are not from a release", self.refused(VERSION, "--out", folder))
            self.assertEqual(mine.read_text(), "mine")


if __name__ == "__main__":
    unittest.main()
