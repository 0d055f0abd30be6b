"""The endpoints for wallets, for FastAPI and Starlette: pip install fastapi

    app.include_router(idgate.fastapi.wallet_router(verifier, store))
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from typing import Any

from fastapi import APIRouter, Request, Response
from starlette.requests import ClientDisconnect

from . import _web
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
    """Routes for answers and signed requests. Include them without a prefix.

    With ``base_url`` and ``keys``, the public JWKs of the current signer and of former ones, it also serves the
    documents under ``/.well-known/`` in which wallets find the keys.

    A body is read only for a session that accepts an answer, up to 1 MiB and for 30 seconds. Errors of the store and of
    this program go to the logger ``idgate``, and wallets get a 503 or 500.
    """
    router = APIRouter()
    for route in _web.routes(verifier, store, base_url, keys):
        # Without a list of methods Starlette passes on all methods, and the route refuses those that it lacks.
        router.add_route(f"/{route.path}", _endpoint(route), [], include_in_schema=False)
    return router


def _endpoint(route: _web.Route) -> Callable[[Request], Awaitable[Response]]:
    async def endpoint(request: Request) -> Response:
        handle, kind = request.path_params.get("handle", ""), request.headers.get("content-type")
        reply = await route.answer(_web.Asked(request.method, handle, kind, lambda: _parts(request)))
        return Response(reply.body, reply.status, reply.headers)

    return endpoint


async def _parts(request: Request) -> AsyncGenerator[bytes, None]:
    try:
        async for part in request.stream():
            yield part
    except ClientDisconnect:
        raise _web.cut() from None
