"""Notifications: signing them, and verifying them where they arrive."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta

from idgate._native import lib

from . import _abi
from ._abi import Buffer
from .errors import IdgateError

TOLERANCE = timedelta(minutes=5)


def headers(
    secret: str,
    *,
    id: str,
    number: int,
    body: Buffer,
    previous_secret: str | None = None,
    now: datetime | None = None,
) -> dict[str, str]:
    """The headers of one attempt to deliver ``body``; ``number`` counts from 1."""
    text = _abi.make_bytes(
        lib.idgate_webhook_headers,
        *_abi.data(secret),
        *_abi.data(previous_secret),
        *_abi.data(id),
        number,
        *_abi.data(body),
        _abi.millis(now),
    )
    made: dict[str, str] = _abi.json_of(text)
    return made


def verify(
    secret: str,
    headers: Mapping[str, str],
    body: Buffer,
    *,
    now: datetime | None = None,
    tolerance: timedelta = TOLERANCE,
) -> None:
    """Believes a notification: by ``webhook-signature`` when it is there, else by ``X-Signature``.

    >>> secret, body = "whsec_" + "a" * 43 + "=", b'{"type":"test"}'
    >>> sent = headers(secret, id="whd_1", number=1, body=body)
    >>> verify(secret, sent, body)
    >>> verify(secret, sent, body + b" ")
    Traceback (most recent call last):
        ...
    idgate.errors.Refused: the webhook's signature is not valid for this secret and body

    :raises Refused: it is not to be believed.
    """
    given = {name.lower(): value for name, value in headers.items()}
    times = (_abi.millis(now), tolerance // timedelta(milliseconds=1))
    names: tuple[str, ...]
    if "webhook-signature" in given:
        names = ("webhook-id", "webhook-timestamp", "webhook-signature")
        function = lib.idgate_webhook_verify_standard
    else:
        names = ("x-timestamp", "x-signature")
        function = lib.idgate_webhook_verify
    missing = [name for name in names if name not in given]
    if missing:
        raise IdgateError("refused", "invalid_webhook", f"the header {missing[0]} is missing")
    values = [part for name in names for part in _abi.data(given[name])]
    _abi.call(function, *_abi.data(secret), *values, *_abi.data(body), *times)
