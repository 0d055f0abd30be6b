"""The cases that Rust, C, Python and Node share."""

from __future__ import annotations

import base64
import json
import os
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import idgate

BASE_URL = "https://gateway.example"
COMMITTED = Path(__file__).parents[3] / "tests" / "it" / "cases"
#: The committed cases, or those that IDGATE_CASES points to.
FOLDER = Path(os.environ.get("IDGATE_CASES", COMMITTED))


def load() -> list[dict[str, Any]]:
    return [case for path in sorted(FOLDER.glob("*.json")) for case in json.loads(path.read_text())]


def certified() -> dict[str, Any]:
    """A key, its certificate, and a time at which they are valid."""
    told: dict[str, Any] = json.loads((FOLDER / "verifier" / "certified.json").read_text())
    return told


def decode(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def at(ms: int) -> datetime:
    return datetime.fromtimestamp(0, timezone.utc) + timedelta(milliseconds=ms)


def issuer(given: dict[str, Any], **more: Any) -> idgate.Issuer:
    """The issuer of a case."""
    entry = dict(given)
    named: dict[str, Any] = {
        "vcts": entry.pop("vct", []),
        "jwk": [{"keys": keys}] if (keys := entry.pop("jwks", [])) else [],
        "iaca_roots": [decode(root) for root in entry.pop("roots", [])],
        "x5c_roots": [decode(root) for root in entry.pop("sd_jwt_roots", [])],
    }
    return idgate.Issuer(entry.pop("issuer_id"), **{**named, **entry, **more})


def verifier(case: dict[str, Any], fetch: Any = lambda need: None) -> idgate.Verifier:
    """The verifier of a case. It has all profiles that need no certificate; a session keeps its own profile."""
    with idgate.Trust(map(issuer, case["trust"])) as trust:
        return idgate.Verifier(BASE_URL, trust, profiles=["draft", "1.0"], fetch=fetch)


def answer(case: dict[str, Any], session: idgate.Session) -> idgate.Answer:
    """An answer through a browser, or one posted to an offer."""
    body = decode(case["body"])
    if case.get("dc_api"):
        return idgate.Answer.dc_api(body)
    to = case.get("offer") or session.info().id
    return idgate.Answer(to=to, body=body, content_type=case["content_type"])


class Kept:
    """A store that accepts everything."""

    def __init__(self) -> None:
        self.transitions: list[idgate.Transition] = []

    def load(self, handle: str) -> idgate.Session | None:
        return self.transitions[-1].session if self.transitions else None

    def commit(self, transition: idgate.Transition) -> bool:
        self.transitions.append(transition)
        return True


def outcome(case: dict[str, Any]) -> dict[str, Any]:
    """The outcome of a case."""
    now = at(case["now_ms"])
    session = idgate.Session.restore(decode(case["session"]))
    try:
        decision = verifier(case).decide(session, answer(case, session), Kept(), now=now)
    except idgate.NotAnAnswer as error:
        return {"error": error.code}
    return told(decision, now)


def told(decision: idgate.Decision, now: datetime) -> dict[str, Any]:
    """The decision in the form of a case."""
    try:
        claims = decision.session.result(idgate.Backend(), now).claims
    except idgate.Withheld:
        claims = None
    return {"status": decision.status, "reason": decision.reason, "claims": claims}
