"""An age check inside FastAPI, from the button to the boolean: pip install fastapi uvicorn

    IDGATE_ISSUER_JWK=issuer.jwk.json uvicorn fastapi_app:app

The page is bindings/browser/age.html, which asks through bindings/browser/idgate.js. The dictionaries
replace your database: they drop expired entries and have a limit. Use a database that compares the
revision, and encrypt what you store.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import secrets
import threading
import time
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
REQUEST: idgate.Request = {
    "credentials": [
        {
            "id": "pid",
            "format": "dc+sd-jwt",
            "issuer_id": ISSUER,
            "claims": ["adult"],
            "claim_paths": {"adult": ["age_equal_or_over", "18"]},
        }
    ],
    "dc_api": {"origins": [BASE_URL]},
}
SECURE = BASE_URL.startswith("https:")
MAX_ANSWER = 1024 * 1024
MAX_CHECKS = int(os.environ.get("MAX_CHECKS", "10000"))
CHECK_SECONDS = float(os.environ.get("CHECK_SECONDS", "600"))  # a session takes answers for 300
#: No content from other sites, no frames, and the browser's dialogue only for this page.
PAGE_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "Permissions-Policy": "digital-credentials-get=(self)",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}

issuer_jwk = Path(os.environ["IDGATE_ISSUER_JWK"]).read_text()
trust = idgate.Trust([idgate.Issuer(ISSUER, vcts=["urn:eudi:pid:1"], jwk=issuer_jwk)])
verifier = idgate.Verifier(BASE_URL, trust, profiles=["1.0"], dc_api="unsigned")


@dataclass(frozen=True)
class Stored:
    """A stored session. Its claims are erased after 30 seconds; only the answer to our question is kept."""

    session: idgate.Session
    revision: int
    adult: bool


@dataclass(frozen=True)
class Check:
    """A click of the button: the secret of that browser, and its session."""

    secret: str
    session_id: str
    until: float


class Store:
    """Sessions by their id, and checks by an id of our own. The session's id is public, because it is in the
    link, so it gives access to nothing."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.stored: dict[str, Stored] = {}
        self.checks: dict[str, Check] = {}  # the oldest first

    def begin(self, made: idgate.Transition) -> tuple[str, Check] | None:
        """``None``: there is no room."""
        now = time.monotonic()
        with self.lock:
            while self.checks and (oldest := next(iter(self.checks.items())))[1].until <= now:
                del self.checks[oldest[0]], self.stored[oldest[1].session_id]
            if len(self.checks) >= MAX_CHECKS or not self.commit(made):
                return None
            check_id, secret = secrets.token_urlsafe(16), secrets.token_urlsafe(16)
            check = Check(secret, made.session.info().id, now + CHECK_SECONDS)
            self.checks[check_id] = check
        return check_id, check

    def load(self, handle: str) -> idgate.Session | None:
        known = self.stored.get(handle)
        return known and known.session

    def commit(self, transition: idgate.Transition) -> bool:
        info = transition.session.info()
        try:
            result = transition.session.result(idgate.Backend())
            adult = result.credential("pid")["adult"] is True
        except idgate.Withheld:
            adult = False
        with self.lock:
            known = self.stored.get(info.id)
            if (known.revision if known else 0) != transition.from_revision:
                return False
            self.stored[info.id] = Stored(transition.session, info.revision, adult)
        return True


store = Store()
app = FastAPI(openapi_url=None)
app.include_router(wallet_router(verifier, store))  # the endpoint for wallets that followed the link


@app.exception_handler(idgate.NotAvailable)
def try_again(_: Request, fault: idgate.NotAvailable) -> Response:
    """A fault of this machine, not of the answer. The session is unchanged."""
    logging.getLogger("age").error("%s", fault)
    return Response(fault.reply.body, fault.reply.status, fault.reply.headers)


@app.get("/")
def page() -> FileResponse:
    return FileResponse(BROWSER / "age.html", headers=PAGE_HEADERS)


@app.get("/age.css")
def style() -> FileResponse:
    return FileResponse(BROWSER / "age.css", headers=PAGE_HEADERS)


@app.get("/{name}.js")
def script(name: str) -> FileResponse:
    if name not in ("age", "idgate"):
        raise HTTPException(404, "not_found")
    return FileResponse(BROWSER / f"{name}.js", media_type="text/javascript", headers=PAGE_HEADERS)


def from_our_page(origin: Annotated[str | None, Header()] = None) -> None:
    """Browsers send the origin of a request. Only our own page may start a check and answer it."""
    if origin != BASE_URL:
        raise HTTPException(403, "forbidden")


@app.post("/age", status_code=201, dependencies=[Depends(from_our_page)])
def begin(response: Response) -> dict[str, Any]:
    made = verifier.create_session(REQUEST, mode="live" if SECURE else "test")
    begun = store.begin(made)
    if begun is None:
        raise HTTPException(503, "temporarily_unavailable", {"Retry-After": "60"})
    check_id, check = begun
    path = f"/age/{check_id}"
    response.set_cookie("age", check.secret, httponly=True, samesite="lax", secure=SECURE, path=path)
    response.headers["Cache-Control"] = "no-store"
    dc_api = verifier.dc_api_requests(made.session)
    return {"id": check_id, "link": made.session.info().qr_code_url, "dc_api": dc_api}


def of_this_browser(check_id: str, age: Annotated[str | None, Cookie()] = None) -> str:
    """The session, only for the browser that started the check."""
    check = store.checks.get(check_id)
    if check is None or not secrets.compare_digest(check.secret.encode(), (age or "").encode()):
        raise HTTPException(404, "not_found")
    return check.session_id


SessionId = Annotated[str, Depends(of_this_browser)]


@app.post("/age/{check_id}/dc-api", dependencies=[Depends(from_our_page)])
async def relay(session_id: SessionId, request: Request) -> dict[str, Any]:
    answer = b""
    async for chunk in request.stream():
        answer += chunk
        if len(answer) > MAX_ANSWER:
            raise HTTPException(413, "payload_too_large")
    session = store.stored[session_id].session
    try:
        decision = await verifier.decide_async(session, idgate.Answer.dc_api(answer), store)
    except idgate.NotAnAnswer as error:
        logging.getLogger("age").error("an answer changed nothing: %s: %s", error.code, error)
        if error.code == "session_not_pending":
            while status_of(session_id) == "VERIFYING":
                await asyncio.sleep(0.5)
            return {}  # another answer was faster, and the page asks for its outcome
        raise HTTPException(error.http_status, error.code) from error
    if decision.reason:
        # Logs the reason and the failed rule with its clause. Never show them to the wallet.
        logging.getLogger("age").error("refused: %s: %s", decision.reason, decision.report.failed)
    return {}


def status_of(session_id: str) -> str:
    return store.stored[session_id].session.info().status


def is_open(status: str) -> bool:
    """Whether there is no outcome yet. While it is VERIFYING, a status list is fetched."""
    return status in ("CREATED", "PENDING", "VERIFYING")


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
