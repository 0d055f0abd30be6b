#!/usr/bin/env python3
"""The bill of materials of an artefact, as CycloneDX 1.6 JSON: crates by target and features, their C code, the rest.

    release/sbom.py KIND TARGET VERSION     prints one; KINDS has the names, TARGET is "all" for sources, or a list with
                                            commas for an artefact of several targets

The crates are those that `cargo tree` lists as linked for this target with these features, without crates that are only for
builds, tests or other systems. Their checksums come from Cargo.lock. The same commit gives the same bytes: the time is
SOURCE_DATE_EPOCH, and the serial number is a digest of the rest.
"""

from __future__ import annotations

import base64
import dataclasses
import functools
import json
import os
import pathlib
import re
import subprocess
import sys
import time
import tomllib
import uuid

ROOT = pathlib.Path(__file__).resolve().parents[1]
LINE = re.compile(r"(?P<depth>\d+)(?P<name>\S+) v(?P<version>\S+)(?: \([^)]*\))?\t(?P<features>[^ ]*)(?: \(\*\))?")


@dataclasses.dataclass(frozen=True)
class Kind:
    """An artefact: its crate, and its name where it is published."""

    crate: str
    type: str
    purl: str
    features: tuple[str, ...] = ()


KINDS = {
    "program": Kind("idgate-program", "application", "pkg:generic/idgate"),
    "c": Kind("idgate-ffi", "library", "pkg:generic/idgate-c"),
    "wheel": Kind("idgate-ffi", "library", "pkg:pypi/idgate"),
    "npm": Kind("idgate-ffi", "library", "pkg:npm/idgate"),
    # The embedder chooses the features, so all of them are listed.
    **{
        f"crate-{name}": Kind(name, "library", f"pkg:cargo/{name}", ("--all-features",))
        for name in ("idgate-core", "idgate", "idgate-ffi")
    },
}


@dataclasses.dataclass(frozen=True)
class Crate:
    """A crate in the tree, by name and version."""

    name: str
    version: str

    @property
    def purl(self) -> str:
        return f"pkg:cargo/{self.name}@{self.version}"


def cargo(*arguments: str) -> str:
    return subprocess.run(("cargo", *arguments), cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout


@functools.cache
def packages() -> dict[Crate, dict]:
    """The manifest of every crate in the lock file that is on this machine."""
    said = json.loads(cargo("metadata", "--format-version", "1", "--locked", "--all-features"))
    return {Crate(one["name"], one["version"]): one for one in said["packages"]}


@functools.cache
def checksums() -> dict[Crate, str]:
    locked = tomllib.loads((ROOT / "Cargo.lock").read_text())["package"]
    return {Crate(one["name"], one["version"]): one["checksum"] for one in locked if "checksum" in one}


def tree(kind: Kind, target: str) -> tuple[dict[Crate, list[Crate]], dict[Crate, set[str]]]:
    """The linked crates, each with its dependencies and features."""
    uses: dict[Crate, list[Crate]] = {}
    features: dict[Crate, set[str]] = {}
    path: list[Crate] = []
    targets = [word for one in target.split(",") for word in ("--target", one)]
    told = cargo("tree", "--package", kind.crate, *targets, "--edges", "normal,no-proc-macro", "--prefix",
                 "depth", "--locked", "--format", "{p}\t{f}", *kind.features)
    for line in filter(None, told.splitlines()):  # a blank line separates two targets
        found = LINE.fullmatch(line)
        if not found:
            raise SystemExit(f"sbom.py: unexpected output of cargo tree: {line}")
        crate = Crate(found["name"], found["version"])
        del path[int(found["depth"]):]
        uses.setdefault(crate, [])
        features.setdefault(crate, set()).update(found["features"].split(","))
        if path and crate not in uses[path[-1]]:
            uses[path[-1]].append(crate)
        path.append(crate)
    return uses, features


def c_sources(crate: Crate, features: set[str]) -> dict | None:
    """The C library that a crate contains and compiles."""
    folder = pathlib.Path(packages()[crate]["manifest_path"]).parent
    match crate.name:
        case "aws-lc-sys":
            text = (folder / "aws-lc/include/openssl/base.h").read_text()
            version = re.search(r'AWSLC_VERSION_NUMBER_STRING "([^"]+)"', text)
            return bundled("aws-lc", version, "ISC AND (Apache-2.0 OR ISC) AND OpenSSL", "aws/aws-lc")
        case "libsqlite3-sys":
            version = re.search(r'define SQLITE_VERSION\s+"([^"]+)"', (folder / "sqlite3/sqlite3.h").read_text())
            return bundled("sqlite", version, "blessing", "sqlite/sqlite")
        case "libmimalloc-sys":
            which = "v3" if "v3" in features else "v2"
            text = (folder / f"c_src/mimalloc/{which}/include/mimalloc.h").read_text()
            number = re.search(r"define MI_MALLOC_VERSION (\d)(\d\d)(\d\d)", text)
            made = number and re.match(r"(.*)", ".".join(str(int(part)) for part in number.groups()))
            return bundled("mimalloc", made, "MIT", "microsoft/mimalloc")
    return None


def bundled(name: str, version: re.Match | None, licence: str, repository: str) -> dict:
    if version is None:
        raise SystemExit(f"sbom.py: cannot find the version of {name} in its sources")
    purl = f"pkg:github/{repository}@{version[1]}"
    return {"type": "library", "bom-ref": purl, "name": name, "version": version[1],
            "licenses": [{"expression": licence}], "purl": purl}


def component(crate: Crate) -> dict:
    package = packages()[crate]
    made = {"type": "library", "bom-ref": crate.purl, "name": crate.name, "version": crate.version}
    if package["description"]:
        made["description"] = " ".join(package["description"].split())
    if crate in checksums():
        made["hashes"] = [{"alg": "SHA-256", "content": checksums()[crate]}]
    made["licenses"] = [{"expression": licence(package)}]
    made["purl"] = crate.purl
    if package["repository"]:
        made["externalReferences"] = [{"type": "vcs", "url": package["repository"]}]
    return made


def licence(package: dict) -> str:
    """In the form of SPDX. Old crates separate alternatives with a slash."""
    if not package["license"]:
        raise SystemExit(f"sbom.py: {package['name']} states no licence")
    return re.sub(r"\s*/\s*", " OR ", package["license"])


def toolchain(name: str, target: str) -> list[dict]:
    """The parts that the compiler adds: Rust's library, and musl in a program for musl."""
    version = subprocess.run(("rustc", "--version"), check=True, stdout=subprocess.PIPE, text=True).stdout.split()[1]
    parts = [{"type": "library", "bom-ref": "rust-std", "name": "rust-std", "version": version,
              "licenses": [{"expression": "MIT OR Apache-2.0"}], "purl": f"pkg:generic/rust-std@{version}"}]
    if name == "program" and target.endswith("-musl"):
        parts.append({"type": "library", "bom-ref": "musl", "name": "musl", "licenses": [{"expression": "MIT"}],
                      "purl": "pkg:generic/musl"})
    return parts


def beside(name: str) -> list[dict]:
    """The dependencies of the packages in other languages."""
    if name == "npm":
        locked = json.loads((ROOT / "bindings/node/package-lock.json").read_text())["packages"]
        koffi = locked["node_modules/koffi"]
        digest = base64.b64decode(koffi["integrity"].removeprefix("sha512-")).hex()
        purl = f"pkg:npm/koffi@{koffi['version']}"
        return [{"type": "library", "bom-ref": purl, "name": "koffi", "version": koffi["version"],
                 "hashes": [{"alg": "SHA-512", "content": digest}], "licenses": [{"expression": "MIT"}],
                 "purl": purl}]
    if name == "wheel":
        return [{"type": "library", "bom-ref": "pkg:pypi/cffi", "name": "cffi", "description": "1.17 or later",
                 "purl": "pkg:pypi/cffi"}]
    return []


def bill(name: str, target: str, version: str) -> dict:
    """The bill of one kind of artefact."""
    kind = KINDS[name]
    uses, features = tree(kind, target)
    root, *others = uses
    own = {"type": kind.type, "bom-ref": "this", "name": kind.purl.rpartition("/")[2], "version": version,
           "description": packages()[root]["description"], "licenses": [{"expression": licence(packages()[root])}],
           "purl": f"{kind.purl}@{version}"}
    refs = {root: "this"}
    components, edges = [], {"this": []}
    for crate in others:
        components.append(component(crate))
    for crate, needed in uses.items():
        ref = refs.get(crate, crate.purl)
        edges.setdefault(ref, []).extend(one.purl for one in needed)
        if source := c_sources(crate, features[crate]):
            components.append(source)
            edges[ref].append(source["bom-ref"])
    # The user of a crate compiles it with their own tools.
    extra = beside(name) + ([] if name.startswith("crate-") else toolchain(name, target))
    components += extra
    edges["this"] += [one["bom-ref"] for one in extra]
    components.sort(key=lambda one: one["bom-ref"])
    made = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "timestamp": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(int(epoch()))),
            "component": own,
            "properties": [{"name": "idgate:target", "value": target}],
        },
        "components": components,
        "dependencies": [{"ref": ref, "dependsOn": sorted(set(edges.get(ref, [])))}
                         for ref in ["this", *(one["bom-ref"] for one in components)]],
    }
    text = json.dumps(made, sort_keys=True)
    return {"$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
            "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, text)}", **made}


def epoch() -> str:
    """SOURCE_DATE_EPOCH, or the time of the commit."""
    told = ("git", "log", "-1", "--format=%ct")
    return os.environ.get("SOURCE_DATE_EPOCH") or subprocess.run(
        told, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


def write(made: dict, file: pathlib.Path) -> None:
    file.write_text(json.dumps(made, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) != 4 or sys.argv[1] not in KINDS:
        raise SystemExit(f"usage: release/sbom.py {{{','.join(KINDS)}}} TARGET VERSION")
    write(bill(*sys.argv[1:]), pathlib.Path("/dev/stdout"))
