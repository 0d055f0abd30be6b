"""Webhooks: signing notifications, and verifying them at the receiver."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from . import _checks, _library
from ._checks import Buffer
from .errors import IdgateError, Misconfigured, Refused

TOLERANCE = timedelta(minutes=5)


@dataclass(frozen=True, slots=True)
class _Scheme:
    """One of the two signature schemes. One valid signature is enough."""

    is_standard: bool
    headers: Mapping[str, str]
    clause: str

    def refused(self, text: str) -> Refused:
        check = "the sender signed these bytes a short time ago"
        return Refused(text, reason="invalid_webhook", check=check, clause=self.clause)


_STANDARD = _Scheme(
    True,
    {"id": "webhook-id", "timestamp": "webhook-timestamp", "signature": "webhook-signature"},
    "Standard Webhooks, signature scheme",
)
_OWN = _Scheme(
    False, {"timestamp": "x-timestamp", "signature": "x-signature"}, "idgate webhooks, X-Signature"
)


class Webhook:
    """The notifications of one endpoint.

    >>> webhook = Webhook("whsec_" + "a" * 43 + "=")
    >>> headers = webhook.headers(b'{"type": "test"}', id="whd_1", number=1)
    >>> webhook.verify(headers, b'{"type": "test"}')
    {'type': 'test'}
    >>> webhook.verify(headers, b'{"type": "another"}')
    Traceback (most recent call last):
        ...
    idgate.errors.Refused: the webhook's signature is not valid for this secret and body
    """

    __slots__ = ("_secret", "_tolerance_ms")

    def __init__(self, secret: str, *, tolerance: timedelta = TOLERANCE) -> None:
        """``secret`` is the endpoint's. ``tolerance`` says how far a timestamp may be from the current time.

        :raises Misconfigured: the secret cannot be used.
        """
        self._secret = _checks.text(secret, "secret")
        tolerance_ms = _checks.instance(tolerance, timedelta, "tolerance") // timedelta(milliseconds=1)
        if not 0 < tolerance_ms < 1 << 63:
            raise ValueError("tolerance must be a positive time")
        self._tolerance_ms = tolerance_ms
        # Lets the library read the secret, so that a short one is refused before the first notification.
        try:
            self.headers(b"", id="", number=1)
        except (IdgateError, ValueError) as error:
            raise Misconfigured(str(error), field="secret") from None

    def verify(self, headers: Mapping[str, str], body: str | Buffer, *, now: datetime | None = None) -> dict[str, Any]:
        """Returns the notification if its signature is valid: that of Standard Webhooks (``webhook-signature``) if it
        is there, else ``X-Signature``. Pass the body as it came, not a parsed form. The names of headers may be in
        upper or lower case.

        :raises Refused: the notification is not genuine, or is too old.
        """
        if not isinstance(headers, Mapping):
            raise TypeError("headers must be a mapping of names to values")
        received: dict[str, list[str]] = {}
        for name, value in headers.items():
            received.setdefault(_checks.text(name, "a header").lower(), []).append(value)
        scheme = _STANDARD if "webhook-signature" in received else _OWN
        values = {name: _only(scheme, header, received.get(header, [])) for name, header in scheme.headers.items()}
        octets = _checks.octets(body, "body")
        notification = {**values, "body": octets, "tolerance_ms": self._tolerance_ms}
        try:
            _library.webhook_verify(self._secret, scheme.is_standard, notification, now)
        except Refused as refused:
            raise scheme.refused(str(refused)) from None
        return _object(scheme, octets)

    def headers(
        self,
        body: str | Buffer,
        *,
        id: str,
        number: int,
        previous_secret: str | None = None,
        now: datetime | None = None,
    ) -> dict[str, str]:
        """The headers of one attempt to deliver ``body``. ``id`` is the same for every attempt; ``number`` counts
        from 1. ``previous_secret`` is a secret that you replaced a short time ago; it also signs
        ``webhook-signature``."""
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


def _only(scheme: _Scheme, header: str, values: list[str]) -> str:
    """The value of a header that must be there exactly once."""
    if len(values) != 1:
        raise scheme.refused(f"the header {header} is {'repeated' if values else 'missing'}")
    return _checks.text(values[0], header)


def _object(scheme: _Scheme, body: bytes) -> dict[str, Any]:
    try:
        told = json.loads(body)
    except ValueError:
        told = None
    if not isinstance(told, dict):
        raise scheme.refused("the signature is valid, but the body is not a JSON object")
    return told
