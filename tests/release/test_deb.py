"""The Debian package: as dpkg reads it, and installed in a root of Debian, upgraded, removed and purged."""

import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

import made
from made import ARCHITECTURE, RELEASE, ROOT, VERSION

NAME = f"idgate_{VERSION}-1_{ARCHITECTURE}.deb"


@unittest.skipUnless(shutil.which("dpkg-deb"), "dpkg is not installed")
class PackageTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.file = made.artefact(NAME, "deb.py")
        cls.scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.scratch.cleanup)
        cls.root = pathlib.Path(cls.scratch.name, "root")
        cls.about = pathlib.Path(cls.scratch.name, "about")
        made.run("dpkg-deb", "--extract", cls.file, cls.root)
        made.run("dpkg-deb", "--control", cls.file, cls.about)

    def test_it_says_what_it_is_and_needs(self):
        fields = dict(
            line.split(": ", 1)
            for line in (self.about / "control").read_text().splitlines()
            if not line.startswith(" ")
        )
        self.assertEqual((fields["Package"], fields["Version"]), ("idgate", f"{VERSION}-1"))
        self.assertEqual(fields["Architecture"], ARCHITECTURE)
        self.assertIn("systemd-standalone-sysusers", fields["Depends"])
        # In KiB, and not less than what is unpacked.
        files = [path for path in self.root.rglob("*") if path.is_file()]
        size = sum(path.stat().st_size for path in files) // 1024
        self.assertTrue(size <= int(fields["Installed-Size"]) < size + 500)

    def test_the_settings_are_the_operators_and_nothing_else_is(self):
        self.assertEqual((self.about / "conffiles").read_text(), "/etc/idgate/idgate.toml\n")
        settings = (self.root / "etc/idgate/idgate.toml").read_bytes()
        self.assertEqual(settings, (ROOT / "examples/deploy/idgate.toml").read_bytes())
        self.assertEqual([path.name for path in (self.root / "etc/idgate").iterdir()], ["idgate.toml"])

    def test_every_file_has_its_sum(self):
        lines = (self.about / "md5sums").read_text().splitlines()
        summed = {path: value for value, path in (line.split("  ") for line in lines)}
        files = {str(path.relative_to(self.root)): path for path in self.root.rglob("*") if path.is_file()}
        del files["etc/idgate/idgate.toml"]
        found = {path: hashlib.md5(file.read_bytes()).hexdigest() for path, file in files.items()}
        self.assertEqual(summed, found)

    def test_all_belongs_to_root_and_nothing_may_be_written_by_others(self):
        lines = made.run("dpkg-deb", "--contents", self.file).splitlines()
        self.assertGreater(len(lines), 80)
        for line in lines:
            mode, owner, *_ = line.split()
            self.assertEqual(owner, "root/root", line)
            self.assertIn(mode, ("drwxr-xr-x", "-rwxr-xr-x", "-rw-r--r--"), line)

    def test_pages_and_completions_are_where_they_are_looked_for(self):
        pages = {path.stem for path in (self.root / "usr/share/man/man1").iterdir()}
        self.assertLess({"idgate.1", "idgate-serve.1", "idgate-client-create.1"}, pages)
        for path in (
            "man/man5/idgate.toml.5.gz",
            "bash-completion/completions/idgate",
            "zsh/vendor-completions/_idgate",
            "fish/vendor_completions.d/idgate.fish",
            "doc/idgate/copyright",
            "doc/idgate/changelog.Debian.gz",
            "doc/idgate/examples/nginx.conf",
        ):
            self.assertTrue((self.root / "usr/share" / path).is_file(), path)

    def test_the_unit_is_that_of_the_examples_for_this_place(self):
        unit = (self.root / "usr/lib/systemd/system/idgate.service").read_text()
        ours = (ROOT / "examples/deploy/idgate.service").read_text()
        self.assertIn("ExecStart=/usr/bin/idgate --config /etc/idgate/idgate.toml serve\n", unit)
        same = unit.replace("/usr/bin/idgate", "/usr/local/bin/idgate")
        self.assertEqual(same, ours.split("\n", 1)[1])

    @unittest.skipUnless(shutil.which("systemd-analyze"), "systemd-analyze is not installed")
    def test_systemd_takes_the_unit(self):
        with tempfile.TemporaryDirectory() as folder:
            text = (self.root / "usr/lib/systemd/system/idgate.service").read_text()
            unit = pathlib.Path(folder, "idgate.service")
            # Its user is not on this machine.
            program = str(self.root / "usr/bin/idgate")
            text = text.replace("/usr/bin/idgate", program).replace("User=idgate\nGroup=idgate\n", "")
            unit.write_text(text)
            done = subprocess.run(["systemd-analyze", "verify", "--man=no", unit], capture_output=True, text=True)
        said = [line for line in done.stderr.splitlines() if "idgate.service" in line]
        self.assertEqual((done.returncode, said), (0, []), done.stderr)

    @unittest.skipUnless(RELEASE and shutil.which("lintian"), "no lintian, or no program that is static")
    def test_lintian_finds_no_error(self):
        command = ["lintian", "--fail-on", "error", "--allow-root", "--tag-display-limit", "0", self.file]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_the_scripts_are_shell(self):
        for name in ("postinst", "prerm", "postrm"):
            made.run("sh", "-n", self.about / name)

    @unittest.skipIf(RELEASE, "a release is made once; release/build.sh is compared between folders")
    def test_it_is_made_in_one_way(self):
        made.same_again(self, NAME, "deb.py")


class InstalledTest(unittest.TestCase):
    """In a root of Debian that debootstrap made; what runs there is the released program."""

    @classmethod
    def setUpClass(cls):
        made.needs_static()
        if not shutil.which("debootstrap"):
            raise unittest.SkipTest("debootstrap is not installed")
        cls.file = made.artefact(NAME, "deb.py")
        scratch = tempfile.TemporaryDirectory(dir=ROOT / "target")
        cls.addClassCleanup(scratch.cleanup)
        cls.root = pathlib.Path(scratch.name, "root")
        made.run("debootstrap", "--variant=minbase", "--include=systemd-standalone-sysusers", "stable", cls.root)
        shutil.copy(cls.file, cls.root / "idgate.deb")

    def inside(self, *command, user="root"):
        return made.run("chroot", f"--userspec={user}", self.root, *command)

    def test_it_is_installed_upgraded_removed_and_purged(self):
        self.inside("dpkg", "--install", "/idgate.deb")
        etc, key = self.root / "etc/idgate", self.root / "etc/idgate/instance.key"
        user = self.inside("id", "idgate")
        self.assertRegex(user, r"uid=\d+\(idgate\)")
        self.assertEqual(key.stat().st_mode & 0o777, 0o400)
        self.assertEqual(key.stat().st_uid, int(re.search(r"uid=(\d+)", user)[1]))
        made_first = key.read_bytes()
        # Nothing is enabled, and nothing runs.
        self.assertEqual(list((self.root / "etc/systemd").rglob("*idgate*")), [])

        said = self.inside("idgate", "--config", "/etc/idgate/idgate.toml", "config", "check", user="idgate:idgate")
        self.assertIn("IDGATE_BASE_URL = https://gateway.example", said)
        self.assertIn("VERIFIED", self.inside("idgate", "demo", "--once", user="idgate:idgate"))
        self.assertEqual(self.inside("dpkg", "--verify", "idgate"), "")

        # The operator's settings and the key outlive an upgrade.
        settings = etc / "idgate.toml"
        settings.write_text(settings.read_text().replace("gateway.example", "id.example"))
        self.inside("dpkg", "--install", "/idgate.deb")
        self.assertIn("id.example", settings.read_text())
        self.assertEqual(key.read_bytes(), made_first)

        # What a gateway stored is not thrown away with the program.
        data = self.root / "var/lib/idgate"
        data.mkdir()
        (data / "idgate.db").write_bytes(b"rows")
        self.inside("dpkg", "--remove", "idgate")
        self.assertFalse((self.root / "usr/bin/idgate").exists())
        self.assertTrue(settings.exists())
        said = self.inside("dpkg", "--purge", "idgate")
        self.assertIn("are left", said)
        self.assertEqual([path.name for path in etc.iterdir()], ["instance.key"])
        self.assertEqual((data / "idgate.db").read_bytes(), b"rows")

        # Where there is nothing to keep, nothing is left.
        self.inside("dpkg", "--install", "/idgate.deb")
        self.assertEqual(key.read_bytes(), made_first)
        shutil.rmtree(data)
        self.inside("dpkg", "--purge", "idgate")
        self.assertFalse(etc.exists() or data.exists())


if __name__ == "__main__":
    unittest.main()
