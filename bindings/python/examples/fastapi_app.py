"""A shop that asks for an age, inside FastAPI: pip install fastapi uvicorn

    IDGATE_ISSUER_JWK=issuer.jwk.json uvicorn fastapi_app:app

The dictionary stands for your database. Use one that compares the revision, and seal what you keep.
"""

from __future__ import annotations

import http.client
import os
import secrets
import threading
import urllib.request
from pathlib import Path
from typing import Annotated, Any

import idgate
from fastapi import Cookie, FastAPI, HTTPException, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import JSONResponse

BASE_URL = os.environ.get("BASE_URL", "http://127.0.0.1:8000")
ISSUER = "https://issuer.example"

trust = idgate.Trust()
trust.add_issuer(ISSUER)
trust.add_jwk(ISSUER, Path(os.environ["IDGATE_ISSUER_JWK"]).read_text())
verifier = idgate.Verifier(BASE_URL, trust)

app = FastAPI()
stored: dict[str, tuple[int, idgate.Session]] = {}
# Own id of a check -> the browser that asked for it, and the session behind it. The session's id
# stands in the QR code, where everybody can read it: it opens nothing here.
checks: dict[str, tuple[str, str]] = {}
lock = threading.Lock()


def commit(transition: idgate.Transition) -> None:
    info = transition.session.info()
    with lock:
        revision, _ = stored.get(info.session_id, (0, None))
        if revision != transition.from_revision:
            raise HTTPException(409, "session_not_pending")
        stored[info.session_id] = (info.revision, transition.session)


def load(session_id: str) -> idgate.Session:
    if session_id not in stored:
        raise HTTPException(404, "not_found")
    return stored[session_id][1]


def fetch(need: idgate.Need) -> bytes | None:
    """A real one pins the connection to an address that it checked."""
    try:
        request = urllib.request.Request(need.uri, headers={"Accept": need.accept})
        with urllib.request.urlopen(request, timeout=5) as response:
            return bytes(response.read(10 * 1024 * 1024))
    except (OSError, ValueError, http.client.HTTPException):
        return None


@app.post("/checks", status_code=201)
def create(
    response: Response, browser: Annotated[str | None, Cookie()] = None
) -> dict[str, Any]:
    asked = {"format": "vc+sd-jwt", "issuer_id": ISSUER, "claims": ["given_name"]}
    made = verifier.create_session({"credentials": [asked]}, tenant="shop")
    commit(made)
    info = made.session.info()
    browser = browser or secrets.token_urlsafe(16)
    check_id = secrets.token_urlsafe(16)
    checks[check_id] = (browser, info.session_id)
    secure = BASE_URL.startswith("https:")
    response.set_cookie("browser", browser, httponly=True, samesite="lax", secure=secure)
    return {"id": check_id, "qr_code_url": info.qr_code_url}


@app.get("/checks/{check_id}")
def read(check_id: str, browser: Annotated[str | None, Cookie()] = None) -> dict[str, Any]:
    """For the browser that asked, and nobody else: here are claims."""
    owner, session_id = checks.get(check_id, ("", ""))
    if not owner or not secrets.compare_digest(owner.encode(), (browser or "").encode()):
        raise HTTPException(404, "not_found")
    session = load(session_id)
    return {"status": session.info().status, "result": session.result()}


@app.post("/v1/oid4vp/response/{session_id}")
async def answer(session_id: str, request: Request) -> JSONResponse:
    body, content_type = await request.body(), request.headers.get("content-type")
    try:
        with verifier.begin(load(session_id), body, content_type) as verification:
            # It may wait for a source: not on the thread that serves everybody.
            decision = await run_in_threadpool(verification.decide, commit, fetch)
    except idgate.IdgateError as error:
        status = 409 if error.code == "session_not_pending" else 400
        return JSONResponse({"error": error.code, "message": str(error)}, status)
    commit(decision.transition)
    if decision.reply == "refused":
        message = "the presentation was refused"
        return JSONResponse({"error": "invalid_presentation", "message": message}, 400)
    return JSONResponse(decision.body, headers={"Cache-Control": "no-store"})
