"""The image: every digest and size, the configuration for engines, and a run as its user."""

import gzip
import hashlib
import io
import json
import pathlib
import re
import shutil
import subprocess
import tarfile
import tempfile
import unittest

import made
from made import ARCHITECTURE, RELEASE, ROOT, VERSION

NAME = f"idgate-{VERSION}.oci.tar"
ROOTS = "-----BEGIN CERTIFICATE-----\nof the tests\n-----END CERTIFICATE-----\n"


def roots():
    """A file that replaces the roots of certifi, a package that a release installs."""
    file = made.folder() / "build" / "roots.pem"
    if not RELEASE:
        file.write_text(ROOTS)
    return file


class ImageTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.file = made.artefact(NAME, "image.py", roots())
        with tarfile.open(cls.file) as archive:
            cls.files = {it.name: archive.extractfile(it).read() for it in archive if it.isfile()}
        cls.met = set()
        (named,) = json.loads(cls.files["index.json"])["manifests"]
        cls.index = json.loads(cls.blob(named))
        cls.named = named

    @classmethod
    def blob(cls, descriptor):
        """The blob of a descriptor, after a check of its digest and size."""
        algorithm, _, digest = descriptor["digest"].partition(":")
        data = cls.files[f"blobs/{algorithm}/{digest}"]
        if hashlib.new(algorithm, data).hexdigest() != digest or len(data) != descriptor["size"]:
            raise AssertionError(f"not what the descriptor says: {descriptor}")
        cls.met.add(digest)
        return data

    def images(self):
        for descriptor in self.index["manifests"]:
            manifest = json.loads(self.blob(descriptor))
            yield descriptor, manifest, json.loads(self.blob(manifest["config"]))

    def test_every_blob_is_referenced_and_matches_its_descriptor(self):
        self.assertEqual(json.loads(self.files["oci-layout"]), {"imageLayoutVersion": "1.0.0"})
        for _, manifest, config in self.images():
            layers = [gzip.decompress(self.blob(layer)) for layer in manifest["layers"]]
            found = [f"sha256:{hashlib.sha256(layer).hexdigest()}" for layer in layers]
            self.assertEqual(config["rootfs"], {"type": "layers", "diff_ids": found})
        blobs = {path.rsplit("/", 1)[1] for path in self.files if path.startswith("blobs/")}
        self.assertEqual(blobs, self.met)

    def test_there_is_an_image_for_each_program_that_was_built(self):
        found = {it["platform"]["architecture"] for it in self.index["manifests"]}
        built = {path.parent.name for path in (made.folder() / "build").glob("*-musl/idgate")}
        names = {"x86_64-unknown-linux-musl": "amd64", "aarch64-unknown-linux-musl": "arm64"}
        self.assertEqual(found, {names[target] for target in built})
        for descriptor, _, config in self.images():
            for member in ("architecture", "os"):
                self.assertEqual(descriptor["platform"][member], config[member])

    def test_the_configuration_tells_engines_how_to_run_it(self):
        for _, manifest, config in self.images():
            told = config["config"]
            self.assertEqual(told["User"], "65532:65532")
            self.assertEqual((told["Entrypoint"], told["Cmd"]), (["/usr/bin/idgate"], ["serve"]))
            self.assertEqual(told["WorkingDir"], "/var/lib/idgate")
            self.assertEqual(list(told["Volumes"]), ["/var/lib/idgate"])
            self.assertEqual(list(told["ExposedPorts"]), ["8443/tcp"])
            self.assertIn("IDGATE_LISTEN=0.0.0.0:8443", told["Env"])
            self.assertIn("MIMALLOC_PURGE_DELAY=0", told["Env"])
            containerfile = (ROOT / "examples/deploy/Containerfile").read_text(encoding="utf-8")
            (environment,) = re.findall(r"^ENV ((?:.*\\\n)*.*)$", containerfile, re.MULTILINE)
            self.assertEqual(["PATH=/usr/bin", *environment.replace("\\\n", " ").split()], told["Env"])
            self.assertEqual(told["Healthcheck"]["Test"], ["CMD", "/usr/bin/idgate", "doctor", "--live"])
            for annotated in (manifest, self.index):
                version = annotated["annotations"]["org.opencontainers.image.version"]
                self.assertEqual(version, VERSION)
        self.assertEqual(self.named["annotations"]["org.opencontainers.image.ref.name"], f"idgate:{VERSION}")

    def members(self):
        for _, manifest, _ in self.images():
            (layer,) = manifest["layers"]
            with tarfile.open(fileobj=io.BytesIO(self.blob(layer))) as archive:
                yield {it.name: it for it in archive}, archive

    def test_the_image_has_the_program_and_only_what_it_needs(self):
        for members, archive in self.members():
            files = {name for name, it in members.items() if not it.isdir()}
            needed = {"usr/bin/idgate", "etc/passwd", "etc/group", "etc/ssl/certs/ca-certificates.crt"}
            licences = {name for name in files if name.startswith("usr/share/doc/idgate/")}
            self.assertIn("usr/share/doc/idgate/LICENSE", licences)
            self.assertEqual(files - licences, needed)
            passwd = archive.extractfile("etc/passwd").read().decode()
            self.assertIn("idgate:x:65532:65532:", passwd)
            certificates = archive.extractfile("etc/ssl/certs/ca-certificates.crt").read()
            self.assertIn(b"BEGIN CERTIFICATE", certificates)
            data = members["var/lib/idgate"]
            self.assertEqual((data.uid, data.gid, data.mode), (65532, 65532, 0o700))
            others = {it.uid for name, it in members.items() if name != "var/lib/idgate"}
            self.assertEqual(others, {0})
            writable = {name for name, it in members.items() if it.mode & 0o022}
            self.assertEqual(writable, {"tmp"})

    @unittest.skipIf(RELEASE, "a release is made once; release/build.sh is compared between folders")
    def test_two_runs_give_the_same_bytes(self):
        made.same_again(self, NAME, "image.py", roots())

    def test_it_verifies_a_flow_and_passes_its_health_check(self):
        """Runs without an engine, in the same way: a read-only root, its user, its environment, its volume."""
        made.needs_static()
        for descriptor, manifest, config in self.images():
            if descriptor["platform"]["architecture"] == ARCHITECTURE:
                break
        told = config["config"]
        with tempfile.TemporaryDirectory() as root:
            root = pathlib.Path(root)
            for layer in manifest["layers"]:
                with tarfile.open(fileobj=io.BytesIO(self.blob(layer))) as archive:
                    archive.extractall(root, filter="fully_trusted", numeric_owner=True)
            root.chmod(0o755)
            user = int(told["User"].split(":")[0])
            flow = made.inside(root, user, *told["Entrypoint"], "demo", "--once")
            self.assertIn("VERIFIED", flow)
            # The command of the image, then its health check, in a separate network so that the port is free.
            more = {"IDGATE_BASE_URL": "https://gateway.example", "IDGATE_BEHIND_TLS_PROXY": "true"}
            environment = [*told["Env"], *(f"{name}={value}" for name, value in more.items())]
            serve = [*told["Entrypoint"], *told["Cmd"]]
            check = told["Healthcheck"]["Test"][1:]
            script = f"""
                ip link set lo up
                mount --bind '{root}' '{root}' && mount -o remount,ro,bind '{root}'
                mount -t tmpfs -o uid={user},mode=700 none '{root}/var/lib/idgate'
                in_it() {{ env -i {" ".join(environment)} {shutil.which("chroot")} --userspec={user}:{user} '{root}' "$@"; }}
                in_it {" ".join(check)} && exit 9
                in_it {" ".join(serve)} & served=$!
                for wait in 1 2 3 4 5 6 7 8 9 10; do sleep 0.5; in_it {" ".join(check)} && alive=yes && break; done
                kill -TERM $(cat /proc/$served/task/$served/children) $served 2>/dev/null
                test "$alive" = yes
            """
            said = made.run("unshare", "--mount", "--net", "--pid", "--fork", "--kill-child", "--mount-proc",
                            "--propagation", "private", "sh", "-c", script)
            self.assertIn("answers", said)

    @unittest.skipUnless(RELEASE and shutil.which("skopeo"), "skopeo is not installed")
    def test_skopeo_reads_it(self):
        said = json.loads(made.run("skopeo", "inspect", f"oci-archive:{self.file}"))
        self.assertEqual(said["Architecture"], ARCHITECTURE)

    @unittest.skipUnless(RELEASE and shutil.which("podman"), "podman is not installed")
    def test_podman_runs_it(self):
        probe = subprocess.run(["podman", "info"], capture_output=True, timeout=60)
        if probe.returncode != 0:
            self.skipTest("podman cannot run here")
        name = made.run("podman", "load", "--quiet", "--input", self.file).split()[-1]
        self.assertEqual(name, f"localhost/idgate:{VERSION}")
        # Use the current limits: podman's defaults fail where limits cannot be raised.
        limits = ["--ulimit=nofile=1024:1024", "--ulimit=nproc=1024:1024"]
        # The image is set for production, where the demo does not start.
        runtime = ["--runtime=runc"] if shutil.which("runc") else []
        command = ["podman", *runtime, "run", "--rm", "--read-only", "--cap-drop=all", "--network=none",
                   "--unsetenv-all", *limits, name]
        done = subprocess.run([*command, "demo", "--once"], capture_output=True, text=True, timeout=120)
        # This machine cannot start any container.
        if re.search(r"OCI.*(cgroup|rlimit)|(cgroup|rlimit).*OCI", done.stderr):
            self.skipTest(f"podman cannot run here: {done.stderr.strip()}")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("VERIFIED", done.stdout)


if __name__ == "__main__":
    unittest.main()
