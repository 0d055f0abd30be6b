"""The routes that wallets use, for any framework: `idgate.fastapi` and `idgate.django` serve them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ._deciding import awaited
from .errors import NotAnAnswer, NotAvailable
from .reply import Reply
from .signer import did_document, jwks
from .store import Store
from .verification import Answer
from .verifier import Verifier

#: The largest answer that a wallet may post, in bytes.
MAX_BODY = 1024 * 1024
#: How often a request is read again when another fetch of it was first: only the first one commits.
_ATTEMPTS = 3
_CLOSED = Reply.refusal(409, "session_not_pending", "the session no longer accepts a response")


@dataclass(frozen=True, slots=True)
class Route:
    """A path below the root, in which ``{handle}`` names the session, and its answers."""

    path: str
    methods: tuple[str, ...]
    #: Of the handle, the body of a POST, and its media type.
    answer: Callable[[str, bytes, str | None], Awaitable[Reply]]


def routes(
    verifier: Verifier, store: Store, base_url: str | None, keys: Sequence[Mapping[str, Any]]
) -> list[Route]:
    """All of them; with ``base_url`` also the documents under ``/.well-known/``."""
    endpoints = Endpoints(verifier, store)
    documents = {} if base_url is None else _published(base_url, keys)
    return [
        Route("v1/oid4vp/response/{handle}", ("POST",), endpoints.answer),
        # Not HEAD: a look at a link does not fetch the request, and the session would say so.
        Route("v1/oid4vp/request/{handle}", ("GET", "POST"), endpoints.request_object),
        *(
            Route(f".well-known/{name}", ("GET", "HEAD"), _always(reply))
            for name, reply in documents.items()
        ),
    ]


@dataclass(frozen=True, slots=True)
class Endpoints:
    """The endpoints of a verifier."""

    verifier: Verifier
    store: Store

    async def answer(self, handle: str, body: bytes, content_type: str | None) -> Reply:
        """``POST /v1/oid4vp/response/{handle}``: a wallet's answer."""
        if len(body) > MAX_BODY:
            return Reply.refusal(413, "payload_too_large", "the answer is larger than 1 MiB")
        session = await awaited(self.store.load, handle)
        if session is None:
            return _CLOSED
        answer = Answer(to=handle, body=body, content_type=content_type)
        try:
            decision = await self.verifier.decide_async(session, answer, self.store)
        except (NotAnAnswer, NotAvailable) as error:
            return error.reply
        return decision.reply

    async def request_object(self, handle: str, form: bytes, content_type: str | None) -> Reply:
        """``GET`` and ``POST /v1/oid4vp/request/{handle}``: a signed request."""
        # A POST without a body asks for the same as a GET.
        body, kind = (form, content_type) if form else (None, None)
        for _ in range(_ATTEMPTS):
            session = await awaited(self.store.load, handle)
            if session is None:
                return Reply.refusal(404, "not_found", "the session has no Request Object to fetch")
            try:
                made = await asyncio.to_thread(
                    self.verifier.request_object, session, handle, form=body, content_type=kind
                )
            except (NotAnAnswer, NotAvailable) as error:
                return error.reply
            if made.transition is None or await awaited(self.store.commit, made.transition):
                return made.reply
        return Reply.try_again()


def _published(base_url: str, keys: Sequence[Mapping[str, Any]]) -> dict[str, Reply]:
    """The documents under ``/.well-known/``, of the signer in use and of former ones."""
    return {
        "did.json": Reply.json(did_document(base_url, keys)),
        "jwks.json": Reply.json(jwks(base_url, keys)),
    }


def _always(reply: Reply) -> Callable[[str, bytes, str | None], Awaitable[Reply]]:
    async def answer(_: str, __: bytes, ___: str | None) -> Reply:
        return reply

    return answer
