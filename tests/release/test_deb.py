"""The Debian package, as dpkg reads it; then installed, upgraded, removed and purged in a Debian root."""

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

    def test_the_control_file_has_version_architecture_and_dependencies(self):
        fields = dict(
            line.split(": ", 1)
            for line in (self.about / "control").read_text().splitlines()
            if not line.startswith(" ")
        )
        self.assertEqual((fields["Package"], fields["Version"]), ("idgate", f"{VERSION}-1"))
        self.assertEqual(fields["Architecture"], ARCHITECTURE)
        self.assertIn("systemd-standalone-sysusers", fields["Depends"])
        # In KiB, and not less than the unpacked files.
        files = [path for path in self.root.rglob("*") if path.is_file()]
        size = sum(path.stat().st_size for path in files) // 1024
        self.assertTrue(size <= int(fields["Installed-Size"]) < size + 500)

    def test_only_the_settings_file_is_a_conffile(self):
        self.assertEqual((self.about / "conffiles").read_text(), "/etc/idgate/idgate.toml\n")
        settings = (self.root / "etc/idgate/idgate.toml").read_bytes()
        self.assertEqual(settings, (ROOT / "examples/deploy/idgate.toml").read_bytes())
        self.assertEqual([path.name for path in (self.root / "etc/idgate").iterdir()], ["idgate.toml"])

    def test_every_file_has_a_checksum(self):
        lines = (self.about / "md5sums").read_text().splitlines()
        summed = {path: value for value, path in (line.split("  ") for line in lines)}
        files = {str(path.relative_to(self.root)): path for path in self.root.rglob("*") if path.is_file()}
        del files["etc/idgate/idgate.toml"]
        found = {path: hashlib.md5(file.read_bytes()).hexdigest() for path, file in files.items()}
        self.assertEqual(summed, found)

    def test_files_belong_to_root_and_only_root_can_write_them(self):
        lines = made.run("dpkg-deb", "--contents", self.file).splitlines()
        self.assertGreater(len(lines), 80)
        for line in lines:
            mode, owner, *_ = line.split()
            self.assertEqual(owner, "root/root", line)
            self.assertIn(mode, ("drwxr-xr-x", "-rwxr-xr-x", "-rw-r--r--"), line)

    def test_man_pages_and_completions_are_in_their_system_folders(self):
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

    def test_the_unit_is_the_example_adapted_to_usr_bin(self):
        unit = (self.root / "usr/lib/systemd/system/idgate.service").read_text()
        ours = (ROOT / "examples/deploy/idgate.service").read_text()
        self.assertIn("ExecStart=/usr/bin/idgate --config /etc/idgate/idgate.toml serve\n", unit)
        same = unit.replace("/usr/bin/idgate", "/usr/local/bin/idgate")
        self.assertEqual(same, ours.split("\n", 1)[1])

    @unittest.skipUnless(shutil.which("systemd-analyze"), "systemd-analyze is not installed")
    def test_systemd_accepts_the_unit(self):
        with tempfile.TemporaryDirectory() as folder:
            text = (self.root / "usr/lib/systemd/system/idgate.service").read_text()
            unit = pathlib.Path(folder, "idgate.service")
            # This machine does not have its user.
            program = str(self.root / "usr/bin/idgate")
            text = text.replace("/usr/bin/idgate", program).replace("User=idgate\nGroup=idgate\n", "")
            unit.write_text(text)
            done = subprocess.run(["systemd-analyze", "verify", "--man=no", unit], capture_output=True, text=True)
        said = [line for line in done.stderr.splitlines() if "idgate.service" in line]
        self.assertEqual((done.returncode, said), (0, []), done.stderr)

    @unittest.skipUnless(RELEASE and shutil.which("lintian"), "lintian is not installed, or the program is not static")
    def test_lintian_finds_no_error(self):
        command = ["lintian", "--fail-on", "error", "--allow-root", "--tag-display-limit", "0", self.file]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_the_maintainer_scripts_are_valid_shell(self):
        for name in ("postinst", "prerm", "postrm"):
            made.run("sh", "-n", self.about / name)

    @unittest.skipIf(RELEASE, "a release is made once; release/build.sh is compared between folders")
    def test_two_runs_give_the_same_bytes(self):
        made.same_again(self, NAME, "deb.py")


class InstalledTest(unittest.TestCase):
    """Runs the released program in a Debian root from debootstrap."""

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

    def test_install_upgrade_remove_and_purge(self):
        self.inside("dpkg", "--install", "/idgate.deb")
        etc, key = self.root / "etc/idgate", self.root / "etc/idgate/instance.key"
        user = self.inside("id", "idgate")
        self.assertRegex(user, r"uid=\d+\(idgate\)")
        self.assertEqual(key.stat().st_mode & 0o777, 0o400)
        self.assertEqual(key.stat().st_uid, int(re.search(r"uid=(\d+)", user)[1]))
        made_first = key.read_bytes()
        # The service is neither enabled nor running.
        self.assertEqual(list((self.root / "etc/systemd").rglob("*idgate*")), [])

        said = self.inside("idgate", "--config", "/etc/idgate/idgate.toml", "config", "check", user="idgate:idgate")
        self.assertIn("IDGATE_BASE_URL = https://gateway.example", said)
        self.assertIn("VERIFIED", self.inside("idgate", "demo", "--once", user="idgate:idgate"))
        self.assertEqual(self.inside("dpkg", "--verify", "idgate"), "")

        # An upgrade keeps the operator's settings and the key.
        settings = etc / "idgate.toml"
        settings.write_text(settings.read_text().replace("gateway.example", "id.example"))
        self.inside("dpkg", "--install", "/idgate.deb")
        self.assertIn("id.example", settings.read_text())
        self.assertEqual(key.read_bytes(), made_first)

        # A purge keeps the gateway's data.
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

        # Without data, a purge leaves nothing.
        self.inside("dpkg", "--install", "/idgate.deb")
        self.assertEqual(key.read_bytes(), made_first)
        shutil.rmtree(data)
        self.inside("dpkg", "--purge", "idgate")
        self.assertFalse(etc.exists() or data.exists())


if __name__ == "__main__":
    unittest.main()
