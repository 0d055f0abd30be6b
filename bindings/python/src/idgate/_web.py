"""The routes that wallets use, for any framework: `idgate.fastapi` and `idgate.django` serve them. Replies are those of
the gateway."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final

from ._deciding import awaited
from .codes import HTTP_STATUS, ErrorCode, ErrorCodeText
from .errors import NotAnAnswer, NotAvailable
from .reply import Reply
from .session import Session, Transition
from .signer import did_document, jwks
from .store import Store
from .verification import Answer
from .verifier import Verifier

#: The largest answer, and the largest form of a fetch, in bytes.
MAX_ANSWER: Final = 1024 * 1024
MAX_FORM: Final = 64 * 1024
#: The limit for a body in seconds: enough for the largest answer on a slow network.
BODY_SECONDS: Final = 30.0
#: A fetch is retried if another one was faster. That one made the session PENDING, so a retry succeeds.
_TRIES: Final = 3
_HANDLE: Final = re.compile("[A-Za-z0-9_-]{1,64}")
_LOG: Final = logging.getLogger("idgate")


@dataclass(frozen=True, slots=True)
class Asked:
    """An HTTP request whose body is not read yet."""

    method: str
    #: The last segment of its path.
    handle: str
    content_type: str | None
    #: Yields the body in parts, and raises :func:`cut` if the body is incomplete.
    body: Callable[[], AsyncGenerator[bytes, None]]


@dataclass(frozen=True, slots=True)
class Response:
    """An answer over HTTP."""

    status: int
    headers: Mapping[str, str]
    body: bytes = field(repr=False)

    @classmethod
    def of(cls, reply: Reply, headers: Mapping[str, str] = MappingProxyType({})) -> Response:
        """A reply, with these headers."""
        return cls(reply.status, {**reply.headers, **headers}, reply.body)


@dataclass(frozen=True, slots=True)
class Route:
    """A path below the root, with ``{handle}`` for the session, and its endpoint."""

    path: str
    methods: tuple[str, ...]
    _answer: Callable[[Asked], Awaitable[Response]]

    async def answer(self, asked: Asked) -> Response:
        """The answer to a request for this path."""
        if "{handle}" in self.path and not _HANDLE.fullmatch(asked.handle):
            return _NO_SUCH_PATH
        if asked.method not in self.methods:
            reply = _refusal("method_not_allowed", "this path does not support that method; see Allow")
            return Response.of(reply, {"Allow": ", ".join(self.methods)})
        return await self._answer(asked)


def routes(
    verifier: Verifier, store: Store, base_url: str | None, keys: Sequence[Mapping[str, Any]]
) -> list[Route]:
    """All routes; with ``base_url`` also the documents under ``/.well-known/``."""
    endpoints = Endpoints(verifier, store)
    documents = {} if base_url is None else _published(base_url, keys)
    return [
        Route("v1/oid4vp/response/{handle}", ("POST",), endpoints.answer),
        # Not HEAD: a HEAD request does not fetch the Request Object, but the session would record a fetch.
        Route("v1/oid4vp/request/{handle}", ("GET", "POST"), endpoints.request_object),
        *(
            Route(f".well-known/{name}", ("GET", "HEAD"), _always(document))
            for name, document in documents.items()
        ),
    ]


def cut() -> NotAnAnswer:
    """The error for a connection that closed before the end of the body."""
    return NotAnAnswer("the body is incomplete", code="invalid_response")


class StoreFailedError(Exception):
    """The store failed. Its error is the cause."""


class Endpoints:
    """The endpoints of a verifier."""

    def __init__(self, verifier: Verifier, store: Store) -> None:
        self._verifier = verifier
        self._store = _Guarded(store)

    async def answer(self, asked: Asked) -> Response:
        """``POST /v1/oid4vp/response/{handle}``: a wallet's answer."""
        return await self._replied(self._decide, asked)

    async def request_object(self, asked: Asked) -> Response:
        """``GET`` and ``POST /v1/oid4vp/request/{handle}``: a signed request."""
        return await self._replied(self._fetch, asked)

    async def _decide(self, asked: Asked) -> Reply:
        body = b""
        # Do not read a body that cannot be used.
        if await self._open(asked.handle) is not None:
            body = await _read(asked, MAX_ANSWER)
        session = await self._open(asked.handle)
        if session is None:
            raise NotAnAnswer("the session no longer accepts a response", code="session_not_pending")
        answer = Answer(to=asked.handle, body=body, content_type=asked.content_type)
        decision = await self._verifier.decide_async(session, answer, self._store)
        if decision.report.failed is not None:
            # Names the check and its clause, never what was presented.
            _LOG.info("%s: refused: %s", asked.handle, decision.report.failed)
        return decision.reply

    async def _fetch(self, asked: Asked) -> Reply:
        given: dict[str, Any] | None = None
        for _ in range(_TRIES):
            session = await self._open(asked.handle)
            if session is None:
                return _refusal("not_found", "the session has no Request Object to fetch")
            if given is None:
                given = await _form(asked)
            made = await asyncio.to_thread(self._verifier.request_object, session, asked.handle, **given)
            if made.transition is None or await self._store.commit(made.transition):
                return made.reply
        return Reply.try_again()

    async def _open(self, handle: str) -> Session | None:
        """The session with that handle, if it accepts an answer."""
        session = await self._store.load(handle)
        return session if session is not None and session.info().status in ("CREATED", "PENDING") else None

    async def _replied(self, work: Callable[[Asked], Awaitable[Reply]], asked: Asked) -> Response:
        try:
            return Response.of(await work(asked))
        except NotAnAnswer as error:
            return Response.of(error.reply)
        except NotAvailable as error:
            _LOG.error("%s: not decided: %s", asked.handle, error)
            return Response.of(error.reply)
        except StoreFailedError as error:
            _LOG.error("%s: %s", asked.handle, error, exc_info=error.__cause__)
            return Response.of(Reply.try_again())
        except Exception:
            _LOG.exception("%s: a fault of this service", asked.handle)
            return Response.of(_refusal("internal_error", "a fault of this service"))


class _Guarded:
    """A store whose errors are marked as errors of the store."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def load(self, handle: str) -> Session | None:
        try:
            session: Session | None = await awaited(self._store.load, handle)
        except Exception as error:
            raise StoreFailedError("the store failed at load") from error
        return session

    async def commit(self, transition: Transition) -> bool:
        try:
            stored: bool = await awaited(self._store.commit, transition)
        except Exception as error:
            raise StoreFailedError("the store failed at commit") from error
        return stored


async def _form(asked: Asked) -> dict[str, Any]:
    """The form of a POST, even if it is empty."""
    if asked.method == "GET":
        return {}
    return {"form": await _read(asked, MAX_FORM), "content_type": asked.content_type}


async def _read(asked: Asked, room: int) -> bytes:
    """The body. A body that is too large is read only until the limit, and the library refuses it."""
    body = bytearray()
    try:
        async with asyncio.timeout(BODY_SECONDS), aclosing(asked.body()) as parts:
            async for part in parts:
                body += part
                if len(body) > room:
                    break
    except TimeoutError:
        raise NotAnAnswer("the body did not arrive in time", code="invalid_response") from None
    return bytes(body)


def _published(base_url: str, keys: Sequence[Mapping[str, Any]]) -> dict[str, Response]:
    """The documents under ``/.well-known/``, with the keys of the current signer and of former ones. They are public,
    also for scripts of other pages."""
    documents = {"did.json": did_document(base_url, keys), "jwks.json": jwks(base_url, keys)}
    public = {"Cache-Control": "public, max-age=300", "Access-Control-Allow-Origin": "*"}
    return {name: Response.of(Reply.json(document), public) for name, document in documents.items()}


def _always(response: Response) -> Callable[[Asked], Awaitable[Response]]:
    async def answer(_: Asked) -> Response:
        return response

    return answer


def _refusal(code: ErrorCodeText, message: str) -> Reply:
    return Reply.refusal(HTTP_STATUS[ErrorCode(code)], code, message)


_NO_SUCH_PATH = Response.of(_refusal("not_found", "there is nothing at this path"))
