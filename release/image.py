"""An OCI image layout in one tar file, for every architecture that was built. It needs no daemon.

    python3 release/image.py DIR VERSION [ROOTS]

The image has the program, a user, empty folders for data and temporary files, and ROOTS: the root certificates for https
(PEM; by default those of the package certifi, which release/requirements.txt pins). It has no shell.

    skopeo copy oci-archive:idgate-VERSION.oci.tar docker://registry.example/idgate:VERSION
    podman load -i idgate-VERSION.oci.tar
"""

import datetime
import hashlib
import json
import pathlib
import sys

import archive
import shared_files
from archive import Entry

ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
# The same as in distroless images. No user of the host has it.
USER = 65532
INDEX = "application/vnd.oci.image.index.v1+json"
MANIFEST = "application/vnd.oci.image.manifest.v1+json"
CONFIG = "application/vnd.oci.image.config.v1+json"
LAYER = "application/vnd.oci.image.layer.v1.tar+gzip"
SECOND = 10**9


class Layout:
    """The blobs of an image, by digest."""

    def __init__(self):
        self.files = {"oci-layout": Entry(b'{"imageLayoutVersion":"1.0.0"}')}

    def add(self, media_type, data, **more):
        """Stores a blob and returns its descriptor."""
        if not isinstance(data, bytes):
            data = encoded(data)
        digest = hashlib.sha256(data).hexdigest()
        self.files[f"blobs/sha256/{digest}"] = Entry(data)
        return {"mediaType": media_type, "digest": f"sha256:{digest}", "size": len(data), **more}


def encoded(value):
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


def root_file_system(directory, built, roots):
    files = {
        "usr/bin/idgate": archive.program(built.read_bytes()),
        "etc/passwd": Entry(f"root:x:0:0::/:/nonexistent\nidgate:x:{USER}:{USER}::/var/lib/idgate:/nonexistent\n".encode()),
        "etc/group": Entry(f"root:x:0:\nidgate:x:{USER}:\n".encode()),
        "etc/ssl/certs/ca-certificates.crt": Entry(roots),
        "var/lib/idgate": archive.folder(0o700, USER),
        "tmp": archive.folder(0o1777),
    }
    for path, entry in shared_files.licences(directory).items():
        files[f"usr/share/doc/idgate/{path}"] = entry
    return archive.with_folders(files)


def configuration(architecture, version, created, layer):
    """The configuration for an engine. `Healthcheck` is Docker's; other engines may ignore it."""
    return {
        "created": created,
        "architecture": architecture,
        "os": "linux",
        "config": {
            "User": f"{USER}:{USER}",
            "WorkingDir": "/var/lib/idgate",
            "Entrypoint": ["/usr/bin/idgate"],
            "Cmd": ["serve"],
            # The same as in examples/deploy/Containerfile.
            "Env": [
                "PATH=/usr/bin",
                "IDGATE_DATA_DIR=/var/lib/idgate",
                "IDGATE_LISTEN=0.0.0.0:8443",
                "IDGATE_ENVIRONMENT=production",
                "IDGATE_LOG_FORMAT=json",
                "MIMALLOC_PURGE_DELAY=0",
            ],
            "ExposedPorts": {"8443/tcp": {}},
            "Volumes": {"/var/lib/idgate": {}},
            "StopSignal": "SIGTERM",
            "Labels": annotations(version, created),
            "Healthcheck": {
                "Test": ["CMD", "/usr/bin/idgate", "doctor", "--live"],
                "Interval": 10 * SECOND,
                "Timeout": 5 * SECOND,
                "StartPeriod": 20 * SECOND,
                "Retries": 3,
            },
        },
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{hashlib.sha256(layer).hexdigest()}"]},
        "history": [{"created": created, "created_by": "release/image.py"}],
    }


def annotations(version, created):
    return {
        "org.opencontainers.image.title": "idgate",
        "org.opencontainers.image.description": "Gateway that verifies digital identity credentials",
        "org.opencontainers.image.version": version,
        "org.opencontainers.image.created": created,
        "org.opencontainers.image.licenses": "Apache-2.0",
    }


def image(directory, version, roots):
    """The whole layout as a tar file."""
    time = archive.epoch()
    created = datetime.datetime.fromtimestamp(time, datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    layout, manifests = Layout(), []
    for target, built in archive.built(directory, "idgate", "musl"):
        architecture = ARCHITECTURES[target.split("-", 1)[0]]
        layer = archive.tar(root_file_system(directory, built, roots), time)
        manifest = {
            "schemaVersion": 2,
            "mediaType": MANIFEST,
            "config": layout.add(CONFIG, configuration(architecture, version, created, layer)),
            "layers": [layout.add(LAYER, archive.gzipped(layer))],
            "annotations": annotations(version, created),
        }
        platform = {"architecture": architecture, "os": "linux"}
        manifests.append(layout.add(MANIFEST, manifest, platform=platform))
    both = {
        "schemaVersion": 2,
        "mediaType": INDEX,
        "manifests": manifests,
        "annotations": annotations(version, created),
    }
    # The name after `podman load`.
    named = {"org.opencontainers.image.ref.name": f"idgate:{version}"}
    index = {
        "schemaVersion": 2,
        "mediaType": INDEX,
        "manifests": [layout.add(INDEX, both, annotations=named)],
    }
    layout.files["index.json"] = Entry(encoded(index))
    return archive.tar(archive.with_folders(layout.files), time)


def main(directory, version, roots=None):
    if roots is None:
        import certifi

        roots = certifi.where()
    data = image(directory, version, pathlib.Path(roots).read_bytes())
    archive.write(pathlib.Path(directory, f"idgate-{version}.oci.tar"), data)


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4):
        raise SystemExit(__doc__)
    main(*sys.argv[1:])
