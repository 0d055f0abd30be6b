"""The one exception of this package."""

from __future__ import annotations


class IdgateError(Exception):
    """Something is refused or wrong.

    ``code`` is stable and the same that the gateway uses, as ``nonce_mismatch``. The text is for
    people and never carries claim values, tokens, keys or nonces.
    """

    #: ``refused``, ``bad_request``, ``bad_response``, ``config``, ``misuse``, ``unavailable``,
    #: ``nothing`` or ``internal``: who must act.
    kind: str
    #: The stable code.
    code: str
    #: The field of a request that breaks a rule, as ``credentials[0].claims[2]``; else empty.
    path: str

    def __init__(self, kind: str, code: str, message: str, path: str = "") -> None:
        super().__init__(message)
        self.kind = kind
        self.code = code
        self.path = path

    def __reduce__(self) -> tuple[type[IdgateError], tuple[str, str, str, str]]:
        return type(self), (self.kind, self.code, str(self), self.path)
