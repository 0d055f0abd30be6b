"""What wallets ask of a server, whichever framework it is made with: `idgate.fastapi` and
`idgate.django` put it behind their routes."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol
from urllib.parse import parse_qsl

from .errors import ConfigurationError, IdgateError, NotAvailable
from .session import Session, Transition
from .signer import did_document, jwks
from .verification import Need, awaited
from .verifier import Verifier

#: What a wallet may post, in bytes.
MAX_BODY = 1024 * 1024
#: What it may post to get a request, in bytes.
_MAX_FORM = 64 * 1024
_FORM = "application/x-www-form-urlencoded"
#: How often a request is read again when another fetch of it was first: only the first one commits.
_ATTEMPTS = 3

#: Gets the body of a need, or ``None`` when nothing that can be used came in time; it raises nothing. In
#: place of the verifier's own.
Fetch = Callable[[Need], Awaitable[bytes | None] | bytes | None]


class Store(Protocol):
    """Where you keep sessions. Its methods may be coroutine functions, which run in the event loop; others run
    on threads. Both may wait for a database."""

    def load(self, handle: str) -> Awaitable[Session | None] | Session | None:
        """The session with that id, or the one that has an offer with it."""

    def commit(self, transition: Transition) -> Awaitable[bool] | bool:
        """Stores ``transition.session`` where the stored revision still is ``from_revision``
        (0: there is none yet); else false: another answer was faster."""


@dataclass(frozen=True)
class Reply:
    """An answer over HTTP."""

    status: int
    body: bytes
    content_type: str = "application/json"

    @property
    def headers(self) -> dict[str, str]:
        """Never to be kept by anybody between."""
        told = {"Cache-Control": "no-store", "Content-Type": self.content_type}
        return {**told, "Retry-After": "1"} if self.status == 503 else told


@dataclass(frozen=True)
class Route:
    """What stands at a path below the root, with ``{handle}`` where sessions are told apart."""

    path: str
    methods: tuple[str, ...]
    #: Of the handle, the body of a POST, and its media type.
    answer: Callable[[str, bytes, str | None], Awaitable[Reply]]


def routes(
    verifier: Verifier,
    store: Store,
    fetch: Fetch | None,
    base_url: str | None,
    keys: Sequence[Mapping[str, Any]],
) -> list[Route]:
    """All of them; with ``base_url`` also the documents under ``/.well-known/``."""
    endpoints = Endpoints(verifier, store, fetch)
    documents = {} if base_url is None else _published(base_url, keys)
    return [
        Route("v1/oid4vp/response/{handle}", ("POST",), endpoints.answer),
        # Not HEAD: who looks at a link does not fetch the request, and the session would say so.
        Route("v1/oid4vp/request/{handle}", ("GET", "POST"), endpoints.request_object),
        *(
            Route(f".well-known/{name}", ("GET", "HEAD"), _always(reply))
            for name, reply in documents.items()
        ),
    ]


class _TakenError(Exception):
    """Somebody else committed first."""


@dataclass(frozen=True)
class Endpoints:
    """The endpoints of a verifier."""

    verifier: Verifier
    store: Store
    fetch: Fetch | None = None

    async def answer(self, handle: str, body: bytes, content_type: str | None) -> Reply:
        """``POST /v1/oid4vp/response/{handle}``: a wallet's answer."""
        if len(body) > MAX_BODY:
            return _error(413, "payload_too_large", "the answer is larger than 1 MiB")
        session = await awaited(self.store.load, handle)
        if session is None:
            return _error(409, "session_not_pending", "this session takes no answer")
        try:
            decision = await self.verifier.verify(
                session,
                body,
                content_type,
                commit=self._commit,
                fetch=self.fetch,
                offer=_offer(handle),
            )
            await self._commit(decision.transition)
        except _TakenError:
            return _error(409, "session_not_pending", "this session takes no answer")
        except IdgateError as error:
            return _refusal(error, {"session_not_pending": 409, "payload_too_large": 413})
        if decision.reply == "refused":
            return _error(400, "invalid_presentation", "the presentation was refused")
        return _json(200, decision.body)

    async def request_object(self, handle: str, form: bytes, content_type: str | None) -> Reply:
        """``GET`` and ``POST /v1/oid4vp/request/{handle}``: a signed request."""
        if len(form) > _MAX_FORM:
            return _error(413, "payload_too_large", "the form is larger than 64 KiB")
        if form and (content_type or "").partition(";")[0].strip().lower() != _FORM:
            return _error(400, "invalid_request", f"Content-Type must be {_FORM}")
        try:
            nonce = _wallet_nonce(form)
        except ValueError:
            return _error(400, "invalid_request", "the body is no UTF-8 form with one wallet_nonce")
        for _ in range(_ATTEMPTS):
            session = await awaited(self.store.load, handle)
            if session is None:
                return _error(404, "not_found", "there is no such request")
            try:
                jwt, transition = await asyncio.to_thread(
                    self.verifier.request_object, session, offer=_offer(handle), wallet_nonce=nonce
                )
                if transition is not None:
                    await self._commit(transition)
            except _TakenError:
                continue
            except IdgateError as error:
                return _refusal(error, {"not_found": 404})
            return Reply(200, jwt.encode(), "application/oauth-authz-req+jwt")
        return _later()

    async def _commit(self, transition: Transition) -> None:
        if not await awaited(self.store.commit, transition):
            raise _TakenError


def _published(base_url: str, keys: Sequence[Mapping[str, Any]]) -> dict[str, Reply]:
    """The documents under ``/.well-known/``, of the signer in use and of former ones."""
    return {
        "did.json": _json(200, did_document(base_url, keys)),
        "jwks.json": _json(200, jwks(base_url, keys)),
    }


def _always(reply: Reply) -> Callable[[str, bytes, str | None], Awaitable[Reply]]:
    async def answer(_: str, __: bytes, ___: str | None) -> Reply:
        return reply

    return answer


def _wallet_nonce(form: bytes) -> str | None:
    """The one of a form; without a value it counts as left out (RFC 6749 3.1)."""
    text = form.decode()
    if re.search("%(?![0-9A-Fa-f]{2})", text):
        raise ValueError("not a form")
    pairs = parse_qsl(text, keep_blank_values=True, errors="strict")
    given = [value for name, value in pairs if name == "wallet_nonce"]
    if len(given) > 1:
        raise ValueError("wallet_nonce is given twice")
    return given[0] or None if given else None


def _offer(handle: str) -> str | None:
    return handle if handle.startswith("off_") else None


def _refusal(error: IdgateError, statuses: dict[str, int]) -> Reply:
    if isinstance(error, ConfigurationError):
        raise error  # it is for whoever runs this, not for a wallet
    if isinstance(error, NotAvailable):
        return _later()
    return _error(statuses.get(error.code, 400), error.code, str(error))


def _later() -> Reply:
    return _error(503, "temporarily_unavailable", "try again later")


def _error(status: int, code: str, message: str) -> Reply:
    return _json(status, {"error": code, "message": message})


def _json(status: int, value: Any) -> Reply:
    return Reply(status, json.dumps(value).encode())
