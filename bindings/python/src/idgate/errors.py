"""The exceptions of this package, by who must act.

>>> import idgate
>>> with idgate.Trust() as trust:
...     try:
...         trust.add_roots("https://dmv.example", b"not a certificate")
...     except idgate.ConfigurationError as error:
...         print(error.code, "-", error.remedy)
config - add it with Trust.add_issuer()
"""

from __future__ import annotations

import re


class IdgateError(Exception):
    """Something is refused or wrong; the class says who must act.

    ``code`` is stable and the same that the gateway uses, as ``nonce_mismatch``. The text is for
    people and never carries claim values, tokens, keys or nonces.
    """

    #: ``refused``, ``bad_request``, ``bad_response``, ``config``, ``misuse``, ``unavailable``,
    #: ``nothing`` or ``internal``: what it is, more closely than the class.
    kind: str
    #: The stable code.
    code: str
    #: The field of a request that breaks a rule, as ``credentials[0].claims[2]``; else empty.
    path: str
    #: The clause of the standard that demands it, as ``RFC 9901 7.3``; ``None``: it is no such rule.
    clause: str | None
    #: What to do; ``None``: nothing but what the text says.
    remedy: str | None

    def __new__(cls, kind: str, *rest: str | None) -> IdgateError:
        return super().__new__(_CLASSES.get(kind, cls) if cls is IdgateError else cls)

    def __init__(
        self, kind: str, code: str, message: str, path: str = "", clause: str | None = None
    ) -> None:
        message = _in_python(message)
        super().__init__(message)
        self.kind = kind
        self.code = code
        self.path = path
        self.clause = clause or None
        self.remedy = _REMEDIES.get(code) or _what_to_do(message, kind)

    def __reduce__(self) -> tuple[type[IdgateError], tuple[str, str, str, str, str | None]]:
        return IdgateError, (self.kind, self.code, str(self), self.path, self.clause)


class ConfigurationError(IdgateError):
    """You must act: what was given to this package is wrong, or a request breaks a rule."""


class Refused(IdgateError):
    """Nobody must act: what came from outside is not accepted, and ``code`` says why."""


class NotAvailable(IdgateError):
    """Whoever runs this must act: something that is needed cannot be used now, as a key in an HSM."""


_CLASSES: dict[str, type[IdgateError]] = {
    "refused": Refused,
    "bad_request": ConfigurationError,
    "bad_response": Refused,
    "config": ConfigurationError,
    "misuse": ConfigurationError,
    "unavailable": NotAvailable,
    "nothing": NotAvailable,
    "internal": NotAvailable,
}

#: What Python calls what the library names.
_WORDS = [
    (re.compile(r"idgate_(\w+) \* is NULL"), lambda found: f"this {found[1].title()} is closed"),
    (re.compile(r"idgate_trust_add_entry"), lambda _: "Trust.add_issuer()"),
    (re.compile(r"IDGATE_TEST_ONLY"), lambda _: "test_only=True"),
]

#: What to do about a refusal that is often not the wallet's fault.
_REMEDIES = {
    "nonce_mismatch": "pass the nonce of the request that was answered; each is good for one",
    "audience_mismatch": "pass client_id exactly as the request had it, prefix and all",
    "untrusted_issuer": "if the issuer is to be trusted, add its keys or roots with Trust.add_jwk(), "
    "Trust.add_roots() or Trust.add_sd_jwt_roots()",
    "type_mismatch": "if the type is to be accepted, name it in vct or doc_types of Trust.add_issuer()",
    "claim_missing": "ask for what the wallet has, or treat it as not given",
    "device_auth_invalid": "pass client_id, nonce and response_uri exactly as the request had them; "
    "of an encrypted answer also enc_key or apu",
    "kb_jwt_stale": "pass requested_at, and see that the clock of this machine is right",
    "revocation_unknown": "see that the sources of status lists and CRLs can be reached",
    "session_not_pending": "answer 409: another answer was first, or the time is over",
}


def _in_python(message: str) -> str:
    for pattern, word in _WORDS:
        message = pattern.sub(word, message)
    return message


def _what_to_do(message: str, kind: str) -> str | None:
    """The part of a text that says what to do. Texts of refusals end with check and clause."""
    if kind == "refused":
        return None
    return message.partition("; ")[2] or None
