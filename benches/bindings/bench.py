"""Verification from Python: idgate, the PyPI peers, and idgate in Rust, on the same files.

How to run it: README.md. Process time per verification. Each round measures all three, one after
the other; the figures are medians over the rounds, of differences and ratios too.
"""

from __future__ import annotations

import base64
import importlib.util
import json
import math
import os
import resource
import statistics
import subprocess
import time
import warnings
from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, NamedTuple

import idgate

ROOT = Path(__file__).resolve().parents[2]
DATA = Path(os.environ.get("IDGATE_PERF_DATA", ROOT.parent / "shared" / "perf" / "data"))
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
MANIFEST = json.loads((DATA / "manifest.json").read_text())
SD_JWT = "sdjwt_es256_10of30"
MDOC = "mdoc_6of25_chain1"
ROUNDS = 9
Work = Callable[[], Any]
MDOC_NOW = datetime(2026, 12, 1, tzinfo=timezone.utc)


def decode(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def encode(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def measured(work: Work, seconds: float) -> float:
    """CPU time of one verification in microseconds, measured for this many seconds."""
    count, started = 0, time.process_time()
    while (spent := time.process_time() - started) < seconds:
        for _ in range(10):
            work()
        count += 10
    return spent / count * 1e6


def trust_of_issuer() -> idgate.Trust:
    key = (DATA / "issuer_es256.public.jwk.json").read_bytes()
    return idgate.Trust([idgate.Issuer(MANIFEST["iss"], jwk=key)])


def sd_jwt() -> Work:
    presentation = (DATA / f"{SD_JWT}.txt").read_text().strip()
    disclosures = [json.loads(decode(part)) for part in presentation.split("~")[1:-1]]
    iat = json.loads(decode(presentation.split("~")[-1].split(".")[1]))["iat"]
    presented = datetime.fromtimestamp(iat, timezone.utc)
    trust = trust_of_issuer()
    claims = [disclosure[1] for disclosure in disclosures]
    return lambda: trust.verify(
        presentation,
        format="dc+sd-jwt",
        issuer_id=MANIFEST["iss"],
        client_id=MANIFEST["aud"],
        nonce=MANIFEST["nonce"],
        claims=claims,
        sent_at=presented,
        now=presented,
    )


def mdoc() -> Work:
    response = encode((DATA / f"{MDOC}.cbor").read_bytes())
    root = (DATA / "iaca_root1.der").read_bytes()
    trust = idgate.Trust([idgate.Issuer("bench", iaca_roots=root, revocation="off")])
    return lambda: trust.verify(
        response,
        format="mso_mdoc",
        issuer_id="bench",
        client_id=MANIFEST["aud"],
        nonce=MANIFEST["nonce"],
        response_uri=MANIFEST["response_uri"],
        doc_type="org.iso.18013.5.1.mDL",
        namespace="org.iso.18013.5.1",
        claims=["family_name", "given_name", "birth_date", "age_over_18"],
        profile="draft",
        apu=encode(MANIFEST["mdoc_generated_nonce"].encode()),
        now=MDOC_NOW,
    )


def peer_sd_jwt() -> Work:
    from jwcrypto.jwk import JWK
    from sd_jwt.verifier import SDJWTVerifier

    key = JWK.from_json((DATA / "issuer_es256.public.jwk.json").read_text())
    presentation = (DATA / f"{SD_JWT}.txt").read_text()
    aud, nonce = MANIFEST["aud"], MANIFEST["nonce"]
    return lambda: SDJWTVerifier(
        presentation, lambda issuer, header: key, aud, nonce
    ).get_verified_payload()


def peer_mdoc() -> Work:
    from cryptography import x509
    from pymdoccbor.mdoc.verifier import MdocCbor

    root = x509.load_pem_x509_certificate((DATA / "iaca_root1.pem").read_bytes())
    raw = (DATA / f"{MDOC}.cbor").read_bytes()

    def verify() -> None:
        document = MdocCbor()
        document.loads(raw)
        if not document.verify([root], True):
            raise AssertionError("the peer refuses it")

    return verify


def in_rust(case: str) -> tuple[float, float]:
    """Microseconds of idgate-core on AWS-LC, and of the floor, from the Rust bench."""
    command = [str(TARGET / "release" / "idgate-bench"), "--json", "--windows", "3", "--only", case]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    for line in output.splitlines():
        row = json.loads(line)
        if row["case"] == case and row["backend"] == "aws-lc-rs":
            return float(row["idgate_us"]), float(row["floor_us"])
    raise LookupError(case)


def memory_of_a_verifier() -> float:
    """KiB for each of a thousand verifiers with one issuer."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    kept = []
    for _ in range(1000):
        with trust_of_issuer() as trust:
            kept.append(idgate.Verifier("https://shop.example", trust, profiles=["draft"]))
    return (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1000


class Round(NamedTuple):
    """Microseconds."""

    here: float
    there: float
    floor: float
    theirs: float


def compare(title: str, own: Work, rust: str, name: str, peer: Callable[[], Work]) -> None:
    other = peer() if importlib.util.find_spec(name) else None
    measured(own, 0.3)
    rounds = []
    for _ in range(ROUNDS):
        theirs = measured(other, 0.2) if other else math.nan
        rounds.append(Round(measured(own, 0.2), *in_rust(rust), theirs))

    def middle(of: Callable[[Round], float]) -> float:
        return statistics.median(map(of, rounds))

    line = f"{title}: {middle(lambda it: it.here):.1f} us in Python"
    line += f", {middle(lambda it: it.there):.1f} us in Rust"
    line += f", {middle(lambda it: it.here - it.there):+.1f} us"
    line += f"; floor {middle(lambda it: it.floor):.1f} us"
    if other:
        line += f"; {name} {middle(lambda it: it.theirs):.0f} us"
        line += f", {middle(lambda it: it.theirs / it.here):.1f} times as long"
    print(line, flush=True)


def main() -> None:
    warnings.simplefilter("ignore")
    print(f"a verifier takes {memory_of_a_verifier():.1f} KiB")
    compare("SD-JWT VC ES256, 10 of 30", sd_jwt(), "sd_jwt_es256_10of30", "sd_jwt", peer_sd_jwt)
    # The document signer is known after the first presentation, like in the Rust case of that name.
    rust = "mdoc_es256_6of25_chain1_known"
    compare("mdoc ES256, 6 of 25", mdoc(), rust, "pymdoccbor", peer_mdoc)


if __name__ == "__main__":
    main()
