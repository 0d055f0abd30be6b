"""Is this person 18? Inside FastAPI, from the button to the boolean: pip install fastapi uvicorn

    IDGATE_ISSUER_JWK=issuer.jwk.json uvicorn fastapi_app:app

The page is bindings/browser/age.html, which asks through bindings/browser/idgate.js. The dictionaries
stand for your database. Use one that compares the revision, and seal what you keep.
"""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import secrets
import threading
import urllib.request
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import idgate
from fastapi import Cookie, Depends, FastAPI, Header, HTTPException, Request, Response
from fastapi.responses import FileResponse, StreamingResponse
from idgate.fastapi import wallet_router

BASE_URL = os.environ.get("BASE_URL", "http://127.0.0.1:8000")  # the page's origin, too
BROWSER = Path(__file__).parents[2] / "browser"
ISSUER = "https://issuer.example"
REQUEST = {
    "credentials": [
        {
            "id": "pid",
            "format": "vc+sd-jwt",
            "issuer_id": ISSUER,
            "claims": ["adult"],
            "claim_paths": {"adult": ["age_equal_or_over", "18"]},
        }
    ],
    "dc_api": {"origins": [BASE_URL]},
}
SECURE = BASE_URL.startswith("https:")
MAX_ANSWER = 1024 * 1024

trust = idgate.Trust()
trust.add_issuer(ISSUER, vct=["urn:eudi:pid:1"])
trust.add_jwk(ISSUER, Path(os.environ["IDGATE_ISSUER_JWK"]).read_text())
verifier = idgate.Verifier(BASE_URL, trust, profiles=["1.0"], dc_api="unsigned")


@dataclass(frozen=True)
class Stored:
    """What is known of a session. Claims go after 30 seconds; the answer to our question is kept."""

    session: idgate.Session
    revision: int
    adult: bool


class Store:
    """Sessions by their id, which stands in the link, where everybody can read it: it opens nothing."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.stored: dict[str, Stored] = {}

    def load(self, handle: str) -> idgate.Session | None:
        known = self.stored.get(handle)
        return known and known.session

    def commit(self, transition: idgate.Transition) -> bool:
        info, result = transition.session.info(), transition.session.result()
        adult = result is not None and result["claims"]["pid"]["adult"] is True
        with self.lock:
            known = self.stored.get(info.session_id)
            if (known.revision if known else 0) != transition.from_revision:
                return False
            self.stored[info.session_id] = Stored(transition.session, info.revision, adult)
        return True


class FasterError(Exception):
    """Another answer was."""


def commit(transition: idgate.Transition) -> None:
    if not store.commit(transition):
        raise FasterError


def fetch(need: idgate.Need) -> bytes | None:
    """A real one pins the connection to an address that it checked."""
    try:
        request = urllib.request.Request(need.uri, headers={"Accept": need.accept})
        with urllib.request.urlopen(request, timeout=5) as response:
            return bytes(response.read(10 * 1024 * 1024))
    except (OSError, ValueError, http.client.HTTPException):
        return None


store = Store()
# Own id of a check -> the secret of the browser that began, and the session behind it.
checks: dict[str, tuple[str, str]] = {}
app = FastAPI()
app.include_router(wallet_router(verifier, store, fetch))  # where wallets answer that followed the link


@app.get("/")
def page() -> FileResponse:
    return FileResponse(BROWSER / "age.html")


@app.get("/idgate.js")
def module() -> FileResponse:
    return FileResponse(BROWSER / "idgate.js", media_type="text/javascript")


def from_our_page(origin: Annotated[str | None, Header()] = None) -> None:
    """Browsers say where a request comes from; only our own page may begin and answer."""
    if origin != BASE_URL:
        raise HTTPException(403, "forbidden")


@app.post("/age", status_code=201, dependencies=[Depends(from_our_page)])
def begin(response: Response) -> dict[str, Any]:
    made = verifier.create_session(REQUEST, livemode=SECURE)
    commit(made)
    info = made.session.info()
    check_id, secret = secrets.token_urlsafe(16), secrets.token_urlsafe(16)
    checks[check_id] = (secret, info.session_id)
    response.set_cookie("age", secret, httponly=True, samesite="lax", secure=SECURE, path=f"/age/{check_id}")
    dc_api = verifier.dc_api_requests(made.session)
    return {"id": check_id, "link": info.qr_code_url, "dc_api": dc_api}


def of_this_browser(check_id: str, age: Annotated[str | None, Cookie()] = None) -> str:
    """The session, for the browser that began and nobody else."""
    secret, session_id = checks.get(check_id, ("", ""))
    if not secret or not secrets.compare_digest(secret.encode(), (age or "").encode()):
        raise HTTPException(404, "not_found")
    return session_id


SessionId = Annotated[str, Depends(of_this_browser)]


@app.post("/age/{check_id}/dc-api", dependencies=[Depends(from_our_page)])
async def relay(session_id: SessionId, request: Request) -> dict[str, Any]:
    answer = b""
    async for chunk in request.stream():
        answer += chunk
        if len(answer) > MAX_ANSWER:
            raise HTTPException(413, "payload_too_large")
    try:
        session = store.stored[session_id].session
        decision = await verifier.verify_dc_api(session, answer, commit=commit, fetch=fetch)
        commit(decision.transition)
    except FasterError:
        pass  # the page asks for the outcome of that one
    except idgate.Refused as refused:
        if refused.code != "session_not_pending":
            raise HTTPException(400, refused.code) from refused
    return {}


def status_of(session_id: str) -> str:
    return store.stored[session_id].session.info().status


def is_open(status: str) -> bool:
    return status in ("CREATED", "PENDING")


@app.get("/age/{check_id}/events")
async def events(session_id: SessionId) -> StreamingResponse:
    async def told() -> AsyncIterator[str]:
        last = None
        while last is None or is_open(last):
            if (status := status_of(session_id)) != last:
                yield f"data: {json.dumps({'status': status})}\n\n"
                last = status
            else:
                await asyncio.sleep(0.5)
        yield "event: end\ndata: {}\n\n"

    return StreamingResponse(told(), media_type="text/event-stream", headers={"Cache-Control": "no-store"})


@app.get("/age/{check_id}")
def outcome(session_id: SessionId, response: Response) -> dict[str, bool]:
    if is_open(status_of(session_id)):
        raise HTTPException(409, "no_answer_yet")
    response.headers["Cache-Control"] = "no-store"
    return {"adult": store.stored[session_id].adult}
