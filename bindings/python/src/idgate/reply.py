"""Answers to wallets over HTTP."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Reply:
    """An HTTP reply to a wallet.

    >>> Reply.try_again().headers["Retry-After"]
    '1'
    """

    status: int
    #: It may contain a response code or a nonce: keep it out of logs.
    body: bytes = field(repr=False)
    content_type: str = "application/json"
    #: In seconds, if the wallet may try again.
    retry_after: int | None = None

    @property
    def headers(self) -> dict[str, str]:
        """Every header but the length."""
        headers = {"Cache-Control": "no-store", "Content-Type": self.content_type}
        if self.retry_after is not None:
            headers["Retry-After"] = str(self.retry_after)
        return headers

    @classmethod
    def json(cls, value: Any, status: int = 200) -> Reply:
        """A reply with a JSON body."""
        return cls(status, json.dumps(value, separators=(",", ":")).encode())

    @classmethod
    def refusal(cls, status: int, code: str, message: str) -> Reply:
        """A reply with the code as ``error``, and a sentence for the wallet's developer as ``message``."""
        return cls.json({"error": code, "message": message}, status)

    @classmethod
    def try_again(cls, retry_after: int = 1) -> Reply:
        """503: you cannot decide or store at the moment, and the wallet may try again."""
        refusal = cls.refusal(503, "temporarily_unavailable", "try again later")
        return cls(refusal.status, refusal.body, retry_after=retry_after)
