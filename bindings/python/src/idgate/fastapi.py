"""The endpoints that wallets ask, for FastAPI and Starlette: pip install fastapi

    app.include_router(idgate.fastapi.wallet_router(verifier, store))
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from fastapi import APIRouter, HTTPException, Request, Response

from ._web import MAX_BODY, Route, routes
from .store import Store
from .verifier import Verifier

__all__ = ["wallet_router"]


def wallet_router(
    verifier: Verifier,
    store: Store,
    *,
    base_url: str | None = None,
    keys: Sequence[Mapping[str, Any]] = (),
) -> APIRouter:
    """Routes for answers and signed requests, to be included without a prefix.

    With ``base_url`` and ``keys``, the public JWKs of the signer in use and of former ones, also the
    documents under ``/.well-known/`` that wallets find them in.
    """
    router = APIRouter()
    for route in routes(verifier, store, base_url, keys):
        methods = list(route.methods)
        router.add_route(f"/{route.path}", _endpoint(route), methods, include_in_schema=False)
    return router


def _endpoint(route: Route) -> Callable[[Request], Awaitable[Response]]:
    async def endpoint(request: Request) -> Response:
        # Starlette takes HEAD wherever it takes GET.
        if request.method not in route.methods:
            raise HTTPException(405, headers={"Allow": ", ".join(route.methods)})
        body = await _body(request) if request.method == "POST" else b""
        handle, kind = request.path_params.get("handle", ""), request.headers.get("content-type")
        reply = await route.answer(handle, body, kind)
        return Response(reply.body, reply.status, reply.headers)

    return endpoint


async def _body(request: Request) -> bytes:
    """The body, or the beginning of one that is too large."""
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > MAX_BODY:
            break
    return bytes(body)
