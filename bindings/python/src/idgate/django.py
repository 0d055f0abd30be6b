"""The endpoints that wallets ask, for Django: pip install django

    urlpatterns = [*idgate.django.wallet_urls(verifier, store), ...]
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.urls import URLPattern, path
from django.views.decorators.csrf import csrf_exempt

from ._web import MAX_BODY, Route, routes
from .store import Store
from .verifier import Verifier

__all__ = ["wallet_urls"]


def wallet_urls(
    verifier: Verifier,
    store: Store,
    *,
    base_url: str | None = None,
    keys: Sequence[Mapping[str, Any]] = (),
) -> list[URLPattern]:
    """Patterns for answers and signed requests, for the root of ``urlpatterns``.

    The views are asynchronous; Django runs them under WSGI and ASGI. With ``base_url`` and
    ``keys``, the public JWKs of the signer in use and of former ones, also the documents under
    ``/.well-known/`` that wallets find them in.
    """
    return [
        path(route.path.replace("{handle}", "<str:handle>"), csrf_exempt(_view(route)))
        for route in routes(verifier, store, base_url, keys)
    ]


def _view(route: Route) -> Callable[..., Awaitable[HttpResponse]]:
    async def view(request: HttpRequest, handle: str = "") -> HttpResponse:
        if request.method not in route.methods:
            return HttpResponseNotAllowed(route.methods)
        body = _body(request) if request.method == "POST" else b""
        reply = await route.answer(handle, body, request.headers.get("content-type"))
        return HttpResponse(reply.body, status=reply.status, headers=reply.headers)

    return view


def _body(request: HttpRequest) -> bytes:
    """The body, or the beginning of one that is too large. ``request.body`` has a limit of the
    project's own, whose error is a page in HTML."""
    return bytes(request.read(MAX_BODY + 1))
