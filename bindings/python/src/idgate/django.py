"""The endpoints for wallets, for Django: pip install django

    urlpatterns = [*idgate.django.wallet_urls(verifier, store), ...]
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern, path
from django.views.decorators.csrf import csrf_exempt

from . import _web
from .store import Store
from .verifier import Verifier

__all__ = ["wallet_urls"]

#: Bytes of a body that are read at a time.
_PART = 64 * 1024


def wallet_urls(
    verifier: Verifier,
    store: Store,
    *,
    base_url: str | None = None,
    keys: Sequence[Mapping[str, Any]] = (),
) -> list[URLPattern]:
    """Patterns for answers and signed requests, for the root of ``urlpatterns``.

    The views are asynchronous; Django runs them under WSGI and ASGI. With ``base_url`` and
    ``keys``, the public JWKs of the current signer and of former ones, it also serves the documents
    under ``/.well-known/`` in which wallets find the keys.

    A body is read only for a session that accepts an answer, up to 1 MiB and for 30 seconds. Under ASGI Django has
    read it before, so your server has to limit its size. Errors of the store and of this program go to the logger
    ``idgate``, and wallets get a 503 or 500.
    """
    return [
        path(route.path.replace("{handle}", "<str:handle>"), csrf_exempt(_view(route)))
        for route in _web.routes(verifier, store, base_url, keys)
    ]


def _view(route: _web.Route) -> Callable[..., Awaitable[HttpResponse]]:
    async def view(request: HttpRequest, handle: str = "") -> HttpResponse:
        method, kind = request.method or "", request.headers.get("content-type")
        reply = await route.answer(_web.Asked(method, handle, kind, lambda: _parts(request)))
        return HttpResponse(reply.body, status=reply.status, headers=reply.headers)

    return view


async def _parts(request: HttpRequest) -> AsyncGenerator[bytes, None]:
    """Reads the body directly, because ``request.body`` has the project's own limit, whose error is an HTML page. Under
    WSGI a read may wait for the wallet."""
    try:
        while part := await asyncio.to_thread(request.read, _PART):
            yield part
    except OSError:
        raise _web.cut() from None
