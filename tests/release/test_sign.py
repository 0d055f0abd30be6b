"""release/sign.sh: notes, sums, and a signature that only the owner of the key can make."""

import os
import pathlib
import shutil
import tempfile
import unittest

from packages import RELEASE, RELEASED, run

CHANGELOG = """# Changelog

## Unreleased

- Everybody: not out yet.

## 0.2.0 - 2026-12-01

- Everybody: new.

## 0.2.01

- Nobody: old.
"""


class SignTest(unittest.TestCase):
    def setUp(self):
        made = tempfile.TemporaryDirectory()
        self.addCleanup(made.cleanup)
        self.top = pathlib.Path(made.name)
        self.folder = self.top / "dist"
        (self.folder / "layout").mkdir(parents=True)
        (self.folder / "build").mkdir()
        (self.folder / "idgate-0.2.0.tgz").write_bytes(b"package")
        (self.folder / "layout/index.json").write_text("{}")
        (self.folder / "build/rest").write_text("no artefact")
        self.changelog = self.top / "CHANGELOG.md"
        self.changelog.write_text(CHANGELOG)

    def sign(self, version="0.2.0", key=None, **options):
        environment = {name: value for name, value in os.environ.items() if name != "RELEASE_SIGNING_KEY"}
        environment |= {"IDGATE_CHANGELOG": str(self.changelog)} | ({"RELEASE_SIGNING_KEY": str(key)} if key else {})
        return run(RELEASE / "sign.sh", self.folder, version, env=environment, **options)

    def check_sums(self, **options):
        return run("sha256sum", "--check", "--strict", "SHA256SUMS", cwd=self.folder, **options)

    def test_without_a_key_a_message_says_that_nothing_is_signed(self):
        self.assertIn("not signed", self.sign())
        self.assertFalse((self.folder / "SHA256SUMS.minisig").exists())
        self.check_sums()

    def test_sums_cover_every_artefact_and_nothing_else(self):
        self.sign()
        listed = [line.split(maxsplit=1)[1] for line in (self.folder / "SHA256SUMS").read_text().splitlines()]
        self.assertEqual(listed, ["idgate-0.2.0.tgz", "layout/index.json", "release-notes.md"])
        before = (self.folder / "SHA256SUMS").read_bytes()
        self.sign()
        self.assertEqual((self.folder / "SHA256SUMS").read_bytes(), before)

    def test_a_changed_artefact_is_refused(self):
        self.sign()
        (self.folder / "idgate-0.2.0.tgz").write_bytes(b"another")
        self.assertIn("idgate-0.2.0.tgz: FAILED", self.check_sums(fails=True))

    def test_notes_are_the_section_of_the_version(self):
        self.sign()
        self.assertEqual((self.folder / "release-notes.md").read_text(), "# idgate 0.2.0\n\n- Everybody: new.\n")

    def test_without_a_section_the_notes_are_those_of_unreleased(self):
        self.assertIn("no section 0.3.0", self.sign("0.3.0"))
        self.assertIn("not out yet", (self.folder / "release-notes.md").read_text())

    def test_a_release_without_notes_is_an_error(self):
        self.changelog.write_text("# Changelog\n")
        self.assertIn("says nothing", self.sign(fails=True))

    def test_a_missing_key_file_is_an_error_and_not_an_unsigned_release(self):
        self.sign(key=self.top / "nowhere.key", fails=True)

    @unittest.skipUnless(shutil.which("minisign"), "minisign is not installed (apt-get install minisign)")
    def test_a_signature_is_valid_only_for_its_key_and_its_sums(self):
        for name in ("own", "other"):
            run("minisign", "-G", "-W", "-p", self.top / f"{name}.pub", "-s", self.top / f"{name}.key")
        self.sign(key=self.top / "own.key")
        look = ("minisign", "-V", "-m", self.folder / "SHA256SUMS", "-p")
        self.assertIn("idgate 0.2.0", run(*look, self.top / "own.pub"))
        self.check_sums()
        run(*look, self.top / "other.pub", fails=True)
        (self.folder / "idgate-0.2.0.tgz").write_bytes(b"another")
        sums = run("sha256sum", "idgate-0.2.0.tgz", "layout/index.json", "release-notes.md", cwd=self.folder)
        (self.folder / "SHA256SUMS").write_text(sums)
        self.check_sums()
        run(*look, self.top / "own.pub", fails=True)


@unittest.skipUnless(RELEASED, "IDGATE_RELEASE names no folder with a release")
class ReleasedTest(unittest.TestCase):
    def test_every_file_is_listed_with_its_sum(self):
        run("sha256sum", "--check", "--strict", "SHA256SUMS", cwd=RELEASED)
        listed = {line.split(maxsplit=1)[1] for line in (RELEASED / "SHA256SUMS").read_text().splitlines()}
        there = {str(file.relative_to(RELEASED)) for file in RELEASED.rglob("*") if file.is_file()}
        self.assertEqual({name for name in there - listed if not name.startswith("build/")},
                         {"SHA256SUMS", "SHA256SUMS.minisig"} & there)


if __name__ == "__main__":
    unittest.main()
