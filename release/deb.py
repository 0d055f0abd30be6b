"""Debian packages, without the tools of Debian.

    python3 release/deb.py DIR VERSION

Makes one for each program that was built. The package starts and enables nothing, because an operator writes the settings
first. A purge keeps the data directory and the key that seals it, and says so.
"""

import email.utils
import hashlib
import io
import lzma
import pathlib
import sys

import archive
import shared_files
from archive import ROOT, Entry

ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
MAINTAINER = "idgate maintainers <maintainers@idgate.example>"
SETTINGS = "/etc/idgate/idgate.toml"
DESCRIPTION = """\
gateway that verifies digital identity credentials
 idgate asks wallets for claims over OpenID4VP and decides whether an answer
 is genuine: SD-JWT VC and ISO/IEC 18013-5 mdoc, with key binding, trust
 lists and revocation. It keeps results for 30 seconds and nothing else."""
SYSUSERS = 'u idgate - "idgate gateway" /var/lib/idgate\n'

POSTINST = """\
#!/bin/sh
set -e
if [ "$1" = configure ]; then
    systemd-sysusers idgate.conf
    # This key seals stored data. It is made once: no other key opens the data.
    if [ ! -e /etc/idgate/instance.key ]; then
        (umask 077 && head -c 32 /dev/urandom | base64 >/etc/idgate/instance.key.new)
        chown idgate:idgate /etc/idgate/instance.key.new
        chmod 0400 /etc/idgate/instance.key.new
        mv /etc/idgate/instance.key.new /etc/idgate/instance.key
    fi
    if [ -d /run/systemd/system ]; then
        systemctl daemon-reload
        # Restarts a running gateway with the new version, and starts no other.
        [ -z "$2" ] || systemctl try-restart idgate.service || true
    fi
fi
"""
PRERM = """\
#!/bin/sh
set -e
if [ "$1" = remove ] && command -v systemctl >/dev/null; then
    if [ -d /run/systemd/system ]; then
        systemctl stop idgate.service
    fi
    systemctl --no-reload disable idgate.service >/dev/null 2>&1 || true
fi
"""
POSTRM = """\
#!/bin/sh
set -e
if [ -d /run/systemd/system ]; then
    systemctl daemon-reload || true
fi
if [ "$1" = purge ]; then
    if [ -d /var/lib/idgate ] && [ -n "$(ls -A /var/lib/idgate)" ]; then
        echo "idgate: /var/lib/idgate and the key that opens it, /etc/idgate/instance.key, are left; remove both or neither"
    else
        rm -rf /var/lib/idgate /etc/idgate
    fi
fi
"""
COPYRIGHT = """\
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: idgate

Files: *
Copyright: the idgate authors
License: Apache-2.0
 On Debian systems the text of this license is in
 /usr/share/common-licenses/Apache-2.0.
Comment: What is linked into the program, and its licences, is in
 THIRD-PARTY.txt beside this file where it is shipped.
"""


def unit():
    """The unit in examples/deploy, adapted to a program in /usr/bin."""
    text = (ROOT / "examples/deploy/idgate.service").read_text(encoding="utf-8")
    first, rest = text.split("\n", 1)
    if "/etc/systemd/system" not in first or "/usr/local/bin/idgate" not in rest:
        raise SystemExit("examples/deploy/idgate.service has changed; adapt release/deb.py to it")
    return rest.replace("/usr/local/bin/idgate", "/usr/bin/idgate").encode()


def contents(directory, built, version, time):
    doc = "usr/share/doc/idgate"
    settings = (ROOT / "examples/deploy/idgate.toml").read_bytes()
    files = {
        "usr/bin/idgate": archive.program(built.read_bytes()),
        "usr/lib/systemd/system/idgate.service": Entry(unit()),
        "usr/lib/sysusers.d/idgate.conf": Entry(SYSUSERS.encode()),
        SETTINGS.lstrip("/"): Entry(settings),
        f"{doc}/copyright": Entry(COPYRIGHT.encode()),
        f"{doc}/changelog.Debian.gz": Entry(archive.gzipped(changelog(version, time))),
        f"{doc}/changelog.gz": Entry(archive.gzipped((ROOT / "CHANGELOG.md").read_bytes())),
        f"{doc}/README.md": Entry((ROOT / "README.md").read_bytes()),
    }
    for path, entry in shared_files.licences(directory).items():
        if path != "LICENSE":
            files[f"{doc}/{path}"] = entry
    for path, entry in shared_files.manual(directory, packed=True).items():
        files[f"usr/share/{path}"] = entry
    for path, entry in shared_files.deployment().items():
        # These two are installed elsewhere.
        if path not in ("idgate.service", "idgate.toml"):
            files[f"{doc}/examples/{path}"] = entry
    return archive.with_folders(files)


def changelog(version, time):
    when = email.utils.formatdate(time)
    entry = f"idgate ({version}-1) stable; urgency=medium\n\n  * Release {version}: see changelog.gz.\n\n"
    return f"{entry} -- {MAINTAINER}  {when}\n".encode()


def control(version, architecture, files):
    size = sum(len(entry.data or b"") for entry in files.values())
    fields = {
        "Package": "idgate",
        "Version": f"{version}-1",
        "Architecture": architecture,
        "Maintainer": MAINTAINER,
        "Installed-Size": str(-(-size // 1024) + len(files)),
        "Depends": "systemd | systemd-standalone-sysusers | systemd-sysusers",
        "Recommends": "ca-certificates",
        "Section": "net",
        "Priority": "optional",
        "Description": DESCRIPTION,
    }
    return "".join(f"{name}: {value}\n" for name, value in fields.items()).encode()


def sums(files):
    """Sums in the form of dpkg: without conffiles, which operators change."""
    lines = [
        f"{hashlib.md5(entry.data, usedforsecurity=False).hexdigest()}  {path}\n"
        for path, entry in files.items()
        if entry.data is not None and f"/{path}" != SETTINGS
    ]
    return "".join(lines).encode()


def ar(members, time):
    """The outer archive of a package, in the format of ar(5)."""
    made = io.BytesIO()
    made.write(b"!<arch>\n")
    for name, data in members:
        made.write(f"{name:<16}{time:<12}{0:<6}{0:<6}{'100644':<8}{len(data):<10}`\n".encode())
        made.write(data + b"\n" * (len(data) % 2))
    return made.getvalue()


def package(directory, built, version, architecture, time):
    files = contents(directory, built, version, time)
    about = {
        "control": Entry(control(version, architecture, files)),
        "conffiles": Entry(f"{SETTINGS}\n".encode()),
        "md5sums": Entry(sums(files)),
        "postinst": archive.program(POSTINST.encode()),
        "prerm": archive.program(PRERM.encode()),
        "postrm": archive.program(POSTRM.encode()),
    }
    members = [
        ("debian-binary", b"2.0\n"),
        ("control.tar.gz", archive.gzipped(archive.tar(about, time, "./"))),
        ("data.tar.xz", lzma.compress(archive.tar(files, time, "./"), preset=6)),
    ]
    return ar(members, time)


def main(directory, version):
    time = archive.epoch()
    for target, built in archive.built(directory, "idgate", "musl"):
        architecture = ARCHITECTURES[target.split("-", 1)[0]]
        data = package(directory, built, version, architecture, time)
        archive.write(pathlib.Path(directory, f"idgate_{version}-1_{architecture}.deb"), data)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    main(sys.argv[1], sys.argv[2])
