"""Verifies the webhooks of idgate. Use either function; both need the unparsed body.

    if not verify(secret, body, headers.get("X-Timestamp"), headers.get("X-Signature")):
        return 400
"""

import base64
import hashlib
import hmac
import re
import time

TOLERANCE_MS = 300_000  # how far the clocks may differ, in either direction

_BASE64 = re.compile(r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?")
_DIGITS = re.compile(r"[0-9]{1,16}")


def verify(
    secret: str, body: bytes, timestamp: str | None, signature: str | None, now_ms: int | None = None
) -> bool:
    """X-Signature: hex of HMAC-SHA256 over `<X-Timestamp>.<body>`, keyed with the secret's text."""
    if timestamp is None or signature is None or not _is_recent(timestamp, 1, now_ms):
        return False
    signed = timestamp.encode() + b"." + body
    expected = hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest()
    return _equal(expected, signature)


def verify_standard(
    secret: str,
    body: bytes,
    id: str | None,
    timestamp: str | None,
    signatures: str | None,
    now_ms: int | None = None,
) -> bool:
    """webhook-signature (Standard Webhooks): one valid `v1,…` entry is enough."""
    if id is None or timestamp is None or signatures is None or not _is_recent(timestamp, 1000, now_ms):
        return False
    signed = b".".join([id.encode(), timestamp.encode(), body])
    mac = hmac.new(_standard_key(secret), signed, hashlib.sha256).digest()
    expected = "v1," + base64.b64encode(mac).decode()
    return any([_equal(expected, entry) for entry in signatures.split(" ")])


def _standard_key(secret: str) -> bytes:
    encoded = secret.removeprefix("whsec_")
    if encoded != secret and _BASE64.fullmatch(encoded):
        return base64.b64decode(encoded)
    return secret.encode()


def _is_recent(timestamp: str, unit_ms: int, now_ms: int | None) -> bool:
    if not _DIGITS.fullmatch(timestamp):
        return False
    now = time.time_ns() // 1_000_000 if now_ms is None else now_ms
    return abs(now - int(timestamp) * unit_ms) <= TOLERANCE_MS


def _equal(expected: str, given: str) -> bool:
    return hmac.compare_digest(expected.encode(), given.encode("utf-8", "replace"))
