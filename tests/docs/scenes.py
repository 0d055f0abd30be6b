"""The scenes of the pages: files, earlier steps, and replacements for foreign addresses."""

from __future__ import annotations

import base64
import datetime
import json
import pathlib
import re
import shutil
import subprocess
import urllib.parse
import urllib.request
import zlib

from blocks import ROOT, Block, blocks
from scene import PATIENCE, SANDBOX, Gateway, Scene, run
from tenant import Integrate
from world import BUILT

CASES = ROOT / "tests/it/cases"
#: Text in a command -> its replacement, because there is no CRL. docs/README.md says so.
INSTEAD = {"--crl iaca.crl": "--revocation off"}


class Authority(Scene):
    """An ICAO Master List (Doc 9303-12) with the sandbox's root in it, made by OpenSSL."""

    def before(self, block: Block) -> None:
        if "--master-list masterlist.ml" not in block.text or (self.world.clone / "masterlist.ml").exists():
            return
        with urllib.request.urlopen(f"{SANDBOX}/files/iaca.pem", timeout=PATIENCE) as answer:
            roots = certificates(answer.read().decode())
        work = self.world.folder / "tmp"
        ca(work, "csca", "/C=UT/CN=CSCA Utopia")
        key_and_request(work, "signer", "/C=UT/CN=Master List Signer", "-out", "signer.csr")
        (work / "extensions").write_text(
            "keyUsage=critical,digitalSignature\nextendedKeyUsage=critical,2.23.136.1.1.3\n"
            "subjectKeyIdentifier=hash\nauthorityKeyIdentifier=keyid\n")
        run("openssl", "x509", "-req", "-in", "signer.csr", "-CA", "csca.pem", "-CAkey", "csca.key",
            "-days", "100", "-extfile", "extensions", "-out", "signer.pem", cwd=work)
        roots += certificates((work / "csca.pem").read_text())
        (work / "content").write_bytes(der(0x30, der(2, b"\0"), der(0x31, *sorted(roots))))
        run("openssl", "cms", "-sign", "-nodetach", "-binary", "-econtent_type", "2.23.136.1.1.2",
            "-in", "content", "-outform", "DER", "-out", "masterlist.ml", "-signer", "signer.pem",
            "-inkey", "signer.key", "-certfile", "csca.pem", "-md", "sha256", "-keyid", cwd=work)
        for name in ("masterlist.ml", "csca.pem"):
            shutil.move(work / name, self.world.clone / name)


class Node(Scene):
    """Uses the library that the test run built. Otherwise installing the package builds one."""

    def prepare(self) -> None:
        self.world.run(f"export IDGATE_LIBRARY={BUILT / 'libidgate_ffi.so'}")


class Sandbox(Gateway):
    """Each answer is for a separate session, by the link that the page shows."""

    def prepare(self) -> None:
        self.world.fresh_link = self.link
        own = subprocess.run(("openssl", "ecparam", "-name", "prime256v1", "-genkey", "-noout"),
                             capture_output=True, check=True).stdout
        point = subprocess.run(("openssl", "ec", "-pubout", "-outform", "DER"), input=own, check=True,
                               capture_output=True).stdout[-64:]
        x, y = (base64.urlsafe_b64encode(part).rstrip(b"=").decode() for part in (point[:32], point[32:]))
        jwk = {"kty": "EC", "crv": "P-256", "x": x, "y": y}
        (self.world.clone / "its-key.json").write_text(json.dumps(jwk))

    def link(self, scheme: str) -> str:
        body = {"credentials": [{"format": "vc+sd-jwt", "issuer_id": "eu-pid", "claims": ["given_name"]}]}
        if scheme.startswith("haip"):
            body |= {"profile": "haip", "redirect_uri": "https://shop.example/back"}
        _, made = self.ask("/v1/sessions", body)
        return made["qr_code_url"] if not scheme.startswith("haip") else made["deep_links"]["haip"]


class Phones(Scene):
    """A sandbox that is running while a reader makes offers."""

    def prepare(self) -> None:
        self.world.run_all("idgate sandbox")


class Operate(Gateway):
    """A gateway from its first command on, a refused session, and captured answers."""

    def prepare(self) -> None:
        self.case = json.loads((CASES / "sd_jwt_vc.json").read_text())[0]
        self.file("issuer.jwk.json", json.dumps(self.case["trust"][0]["jwks"][0]))
        self.file("logo.png", png())
        self.world.replaced = {"/backups/": ""}
        self.world.run("export IDGATE_AUDIT_CHECKPOINT_FILE=$PWD/checkpoints")

    def file(self, name: str, content: str | bytes) -> None:
        (self.world.clone / name).write_bytes(content.encode() if isinstance(content, str) else content)

    def before(self, block: Block) -> None:
        if "webhook-host" in block.text:
            self.given_up("other.example")
            self.refused("shop.example")
        elif "--checkpoints" in block.text:
            self.world.run_all("idgate audit export --json >first.json")
            # A signed checkpoint is in the file within a second.
            if not self.world.wait_for((self.world.clone / "checkpoints").read_bytes):
                raise AssertionError("no checkpoint was written")
            shutil.copy(self.world.clone / "checkpoints", self.world.clone / "copy")
        elif "--dcql" in block.text:
            at = self.captured("openid4vp.json", "vp_token.json")
            self.world.replaced["--enc-key key.jwk"] = f"--enc-key key.jwk {at}"
            self.file("query.json", json.dumps({"credentials": [
                {"id": "pid", "format": "dc+sd-jwt", "meta": {"vct_values": ["urn:eudi:pid:1"]},
                 "claims": [{"path": ["given_name"]}]}]}))
            self.file("key.jwk", json.dumps(self.case["trust"][0]["jwks"][0]))
        elif "mso_mdoc" in block.text:
            self.captured("mdoc.json", "response.txt")
            self.world.replaced |= INSTEAD
        elif "idgate verify" in block.text:
            self.captured("sd_jwt_vc.json", "presentation.txt")

    def refused(self, host: str) -> None:
        """A failed session, and its notification, which is held for the review of the host."""
        status, told = self.ask("/v1/webhook-endpoint", {"url": f"https://{host}/hooks"}, "PUT")
        assert status == 200, told
        asked = {"format": "vc+sd-jwt", "issuer_id": "https://issuer.example", "claims": ["given_name"]}
        _, made = self.ask("/v1/sessions", {"credentials": [asked]})
        self.world.run_all(f"idgate sandbox wallet '{made['qr_code_url']}' --do forge")

    def given_up(self, host: str) -> None:
        self.refused(host)
        self.world.run_all(f"idgate webhook-host reject {host} --note no")
        if not self.world.wait_for(lambda: "whf_" in self.world.run("idgate dead-letters list")[0]):
            raise AssertionError("the notification to a rejected host is not a dead letter")

    def captured(self, case: str, name: str) -> str:
        """An answer from the shared cases, with its request and time."""
        case = json.loads((CASES / case).read_text())[0]
        session = json.loads(unpadded(case["session"]))
        form = urllib.parse.parse_qs(unpadded(case["body"]).decode())
        self.file(name, form["vp_token"][0])
        for entry in case["trust"]:
            for root in entry.get("roots", []):
                self.file("iaca.pem", unpadded(root))
        [offer] = session["offers"]
        now = datetime.datetime.fromtimestamp(case["now_ms"] / 1000, datetime.UTC)
        at = f"--at {now:%Y-%m-%dT%H:%M:%SZ}"
        self.world.replaced |= {
            "--nonce N": f"--nonce {offer['nonce']}",
            "x509_hash:…": offer["client_identifier"],
            "response/ses_…": f"response/{session['id']}",
            "--at 2026-11-21T12:00:00Z": at,
        }
        return at


class Operated(Operate):
    """A gateway that was started as the page about operating says."""

    def prepare(self) -> None:
        super().prepare()
        start = next(block for block in blocks("operate.md") if block.heading == "Install and start")
        self.world.run_all(start.text)


def der(tag: int, *parts: bytes) -> bytes:
    body = b"".join(parts)
    size = len(body).to_bytes((len(body).bit_length() + 7) // 8, "big")
    length = bytes([len(body)]) if len(body) < 128 else bytes([0x80 | len(size)]) + size
    return bytes([tag]) + length + body


def certificates(pem: str) -> list[bytes]:
    found = re.findall("-----BEGIN CERTIFICATE-----(.*?)-----END", pem, re.DOTALL)
    return [base64.b64decode(text) for text in found]


def key_and_request(folder: pathlib.Path, name: str, subject: str, *more: str) -> None:
    curve = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", f"{name}.key")
    run("openssl", "req", *curve, "-subj", subject, *more, cwd=folder)


def ca(folder: pathlib.Path, name: str, subject: str) -> None:
    key_and_request(folder, name, subject, "-x509", "-out", f"{name}.pem", "-days", "365",
                    "-addext", "basicConstraints=critical,CA:TRUE,pathlen:0",
                    "-addext", "keyUsage=critical,keyCertSign,cRLSign")


def png() -> bytes:
    """One grey pixel."""
    def chunk(kind: bytes, data: bytes) -> bytes:
        return len(data).to_bytes(4, "big") + kind + data + zlib.crc32(kind + data).to_bytes(4, "big")

    head = (1).to_bytes(4, "big") * 2 + bytes([8, 0, 0, 0, 0])
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(b"\0\x80")) + chunk(b"IEND", b"")


def unpadded(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


SCENES: dict[str, type[Scene]] = {
    "recipes/authority.md": Authority,
    "node.md": Node,
    "sandbox.md": Sandbox,
    "phones.md": Phones,
    "operate.md": Operate,
    "clients.md": Operated,
    "backup.md": Operated,
    "audit.md": Operated,
    "tracing.md": Operated,
    "verify.md": Operate,
    "integrate.md": Integrate,
    "sessions.md": Integrate,
    "results.md": Integrate,
    "hosted-page.md": Integrate,
    "webhooks.md": Integrate,
    "live-events.md": Integrate,
    "audit-log.md": Integrate,
    "api-keys.md": Integrate,
}
