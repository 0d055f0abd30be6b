"""The cases that Rust, C, Python and Node share."""

from __future__ import annotations

import base64
import json
import os
from datetime import datetime
from pathlib import Path
from typing import Any

import idgate

BASE_URL = "https://gateway.example"
COMMITTED = Path(__file__).parents[3] / "tests" / "it" / "cases"
#: The committed ones, or all that IDGATE_CASES points to.
FOLDER = Path(os.environ.get("IDGATE_CASES", COMMITTED))


def load() -> list[dict[str, Any]]:
    return [case for path in sorted(FOLDER.glob("*.json")) for case in json.loads(path.read_text())]


def certified() -> dict[str, Any]:
    """A key and a certificate for it, and when they are good."""
    told: dict[str, Any] = json.loads((FOLDER / "verifier" / "certified.json").read_text())
    return told


def decode(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def at(ms: int) -> datetime:
    return idgate.instant(ms)


def verifier(case: dict[str, Any]) -> idgate.Verifier:
    with idgate.Trust() as trust:
        for given in case["trust"]:
            entry = dict(given)
            jwks, roots = entry.pop("jwks", []), entry.pop("roots", [])
            sd_jwt_roots = entry.pop("sd_jwt_roots", [])
            trust.add_issuer(**entry)
            if jwks:
                trust.add_jwk(entry["issuer_id"], {"keys": jwks})
            for root in roots:
                trust.add_roots(entry["issuer_id"], decode(root))
            for root in sd_jwt_roots:
                trust.add_sd_jwt_roots(entry["issuer_id"], decode(root))
        return idgate.Verifier(BASE_URL, trust)


def begin(case: dict[str, Any], session: idgate.Session, now: datetime) -> idgate.Verification:
    """Through a browser, or posted to an offer."""
    body = decode(case["body"])
    if case.get("dc_api"):
        return verifier(case).begin_dc_api(session, body, now=now)
    offer, content_type = case.get("offer"), case["content_type"]
    return verifier(case).begin(session, body, content_type, offer=offer, now=now)


def outcome(case: dict[str, Any]) -> dict[str, Any]:
    """What comes of a case."""
    now = at(case["now_ms"])
    session = idgate.Session.restore(decode(case["session"]))
    try:
        verification = begin(case, session, now)
    except idgate.IdgateError as error:
        assert error.kind == "bad_response", error
        return {"error": error.code}
    with verification:
        decision = verification.decide(commit=lambda hold: None, fetch=lambda need: None)
    result = decision.transition.session.result(now)
    claims = None if result is None else result["claims"]
    return {"status": decision.status, "reason": decision.reason, "claims": claims}
