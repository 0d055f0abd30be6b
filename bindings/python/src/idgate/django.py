"""The endpoints that wallets ask, for Django: pip install django

    urlpatterns = [*idgate.django.wallet_urls(verifier, store, fetch), ...]
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.urls import URLPattern, path
from django.views.decorators.csrf import csrf_exempt

from ._web import MAX_BODY, Endpoints, Fetch, Reply, Store, published
from .verifier import Verifier

__all__ = ["Fetch", "Store", "wallet_urls"]


def wallet_urls(
    verifier: Verifier,
    store: Store,
    fetch: Fetch,
    *,
    base_url: str | None = None,
    keys: Sequence[Mapping[str, Any]] = (),
) -> list[URLPattern]:
    """Patterns for answers and signed requests, for the root of ``urlpatterns``.

    The views are asynchronous; Django runs them under WSGI and ASGI. ``fetch`` gets status lists and
    CRLs, and may be a coroutine function. With ``base_url`` and ``keys``, the public JWKs of the
    signer in use and of former ones, also the documents under ``/.well-known/`` that wallets find
    them in.
    """
    endpoints = Endpoints(verifier, store, fetch)

    async def answer(request: HttpRequest, handle: str) -> HttpResponse:
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        content_type = request.headers.get("content-type")
        return _response(await endpoints.answer(handle, _body(request), content_type))

    async def request_object(request: HttpRequest, handle: str) -> HttpResponse:
        if request.method not in ("GET", "POST"):
            return HttpResponseNotAllowed(["GET", "POST"])
        form = _body(request) if request.method == "POST" else b""
        return _response(await endpoints.request_object(handle, form))

    urls = [
        path("v1/oid4vp/response/<str:handle>", csrf_exempt(answer)),
        path("v1/oid4vp/request/<str:handle>", csrf_exempt(request_object)),
    ]
    if base_url is not None:
        documents = published(base_url, keys).items()
        urls += [path(f".well-known/{name}", _always(reply)) for name, reply in documents]
    return urls


def _always(reply: Reply) -> Any:
    async def document(_: HttpRequest) -> HttpResponse:
        return _response(reply)

    return document


def _body(request: HttpRequest) -> bytes:
    """The body, or the beginning of one that is too large. ``request.body`` has a limit of the
    project's own, whose error is a page in HTML."""
    return bytes(request.read(MAX_BODY + 1))


def _response(reply: Reply) -> HttpResponse:
    return HttpResponse(reply.body, status=reply.status, headers=reply.headers)
