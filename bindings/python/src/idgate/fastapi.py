"""The endpoints that wallets ask, for FastAPI and Starlette: pip install fastapi

    app.include_router(idgate.fastapi.wallet_router(verifier, store, fetch))
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fastapi import APIRouter, Request, Response

from ._web import MAX_BODY, Endpoints, Fetch, Reply, Store, published
from .verifier import Verifier

__all__ = ["Fetch", "Store", "wallet_router"]


def wallet_router(
    verifier: Verifier,
    store: Store,
    fetch: Fetch,
    *,
    base_url: str | None = None,
    keys: Sequence[Mapping[str, Any]] = (),
) -> APIRouter:
    """Routes for answers and signed requests, to be included without a prefix.

    ``fetch`` gets status lists and CRLs, and may be a coroutine function. With ``base_url`` and
    ``keys``, the public JWKs of the signer in use and of former ones, also the documents under
    ``/.well-known/`` that wallets find them in.
    """
    endpoints, router = Endpoints(verifier, store, fetch), APIRouter()

    async def answer(request: Request) -> Response:
        body, content_type = await _body(request), request.headers.get("content-type")
        return _response(await endpoints.answer(request.path_params["handle"], body, content_type))

    async def request_object(request: Request) -> Response:
        form = await _body(request) if request.method == "POST" else b""
        return _response(await endpoints.request_object(request.path_params["handle"], form))

    router.add_route("/v1/oid4vp/response/{handle}", answer, methods=["POST"], include_in_schema=False)
    router.add_route(
        "/v1/oid4vp/request/{handle}",
        request_object,
        methods=["GET", "POST"],
        include_in_schema=False,
    )
    if base_url is not None:
        for name, reply in published(base_url, keys).items():
            router.add_route(f"/.well-known/{name}", _always(reply), include_in_schema=False)
    return router


def _always(reply: Reply) -> Any:
    async def document(_: Request) -> Response:
        return _response(reply)

    return document


async def _body(request: Request) -> bytes:
    """The body, or the beginning of one that is too large."""
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > MAX_BODY:
            break
    return bytes(body)


def _response(reply: Reply) -> Response:
    return Response(reply.body, reply.status, reply.headers)
