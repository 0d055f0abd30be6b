"""Notifications: signing them, and verifying them where they arrive."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from . import _checks, _library
from ._checks import Buffer
from .errors import Refused

TOLERANCE = timedelta(minutes=5)
#: The headers of each scheme.
_STANDARD = {"id": "webhook-id", "timestamp": "webhook-timestamp", "signature": "webhook-signature"}
_OWN = {"timestamp": "x-timestamp", "signature": "x-signature"}


class Webhook:
    """The notifications of one endpoint.

    >>> webhook = Webhook("whsec_" + "a" * 43 + "=")
    >>> headers = webhook.sign(b'{"type": "test"}', id="whd_1")
    >>> webhook.verify(headers, b'{"type": "test"}')
    {'type': 'test'}
    >>> webhook.verify(headers, b'{"type": "another"}')
    Traceback (most recent call last):
        ...
    idgate.errors.Refused: the webhook's signature is not valid for this secret and body
    """

    __slots__ = ("_secret", "_tolerance_ms")

    def __init__(self, secret: str, *, tolerance: timedelta = TOLERANCE) -> None:
        """``secret``: the endpoint's. ``tolerance``: how far a timestamp may be from the present."""
        self._secret = _checks.text(secret, "secret")
        tolerance_ms = _checks.instance(tolerance, timedelta, "tolerance") // timedelta(milliseconds=1)
        if not 0 < tolerance_ms < 1 << 63:
            raise ValueError("tolerance must be a positive time")
        self._tolerance_ms = tolerance_ms

    def verify(self, headers: Mapping[str, str], body: str | Buffer, *, now: datetime | None = None) -> dict[str, Any]:
        """The notification, once its signature is good: that of Standard Webhooks (``webhook-signature``) where it is
        there, else ``X-Signature``. Pass the body as it came, not what you parsed. Names of headers may be in either
        case.

        :raises Refused: it is not genuine, or is too old.
        """
        if not isinstance(headers, Mapping):
            raise TypeError("headers must be a mapping of names to values")
        given = {_checks.text(name, "a header").lower(): value for name, value in headers.items()}
        is_standard = "webhook-signature" in given
        names = _STANDARD if is_standard else _OWN
        for header in names.values():
            if header not in given:
                raise Refused(f"the header {header} is missing", reason="invalid_webhook")
        values = {name: _checks.text(given[header], header) for name, header in names.items()}
        octets = _checks.octets(body, "body")
        notification = {**values, "body": octets, "tolerance_ms": self._tolerance_ms}
        _library.webhook_verify(self._secret, is_standard, notification, now)
        return _object(octets)

    def sign(
        self,
        body: str | Buffer,
        *,
        id: str,
        number: int = 1,
        previous_secret: str | None = None,
        now: datetime | None = None,
    ) -> dict[str, str]:
        """The headers of one attempt to deliver ``body``. ``id`` is the same for every attempt; ``number`` counts
        from 1. ``previous_secret`` was replaced a short time ago, and signs ``webhook-signature`` as well."""
        if not 1 <= _checks.number(number, "number") < 1 << 32:
            raise ValueError("number must be from 1 to 2**32 - 1")
        attempt = {
            "id": _checks.text(id, "id"),
            "number": number,
            "body": _checks.octets(body, "body"),
            "previous_secret": _checks.optional_text(previous_secret, "previous_secret"),
        }
        headers: dict[str, str] = _library.webhook_headers(self._secret, attempt, now)
        return headers

    def __repr__(self) -> str:
        return "Webhook(***)"


def _object(body: bytes) -> dict[str, Any]:
    try:
        told = json.loads(body)
    except ValueError:
        told = None
    if not isinstance(told, dict):
        raise Refused("the body is genuine, and is not a JSON object", reason="invalid_webhook")
    return told
