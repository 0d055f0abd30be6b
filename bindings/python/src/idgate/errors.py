"""The exceptions of this package.

>>> import idgate
>>> dmv = idgate.Issuer("https://dmv.example", iaca_roots=b"not a certificate")
>>> try:
...     idgate.Trust([dmv])
... except idgate.Misconfigured as wrong:
...     print(wrong.issuer, wrong.field)
https://dmv.example iaca_roots

A call on a closed object raises ``ValueError``, and an argument of a wrong type raises ``TypeError``.
"""

from __future__ import annotations

from typing import Any, Final, Literal, cast

from .codes import (
    HTTP_STATUS,
    ErrorCode,
    ErrorCodeText,
    Reason,
    ReasonText,
    WithheldReason,
    WithheldReasonText,
)
from .reply import Reply


class IdgateError(Exception):
    """The base of all exceptions of this package. Messages are for people. They never contain claim values, tokens,
    keys or nonces."""

    #: The stable code, the same in every language, for example ``nonce_mismatch``.
    code: str = "internal_error"
    #: What you can do about it; ``None``: nothing beyond the message.
    hint: str | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self).__new__, (type(self), *self.args), vars(self)


class RequestInvalid(IdgateError):
    """A request breaks a rule.

    >>> wrong = RequestInvalid("redirect_uri", "must be an https URL")
    >>> print(wrong)
    redirect_uri: must be an https URL
    """

    def __init__(
        self, path: str, rule: str, *, code: ErrorCodeText = "invalid_request", hint: str | None = None
    ) -> None:
        super().__init__(f"{path}: {rule}" if path else f"the request body {rule}")
        self.code = ErrorCode(code)
        #: The field, for example ``credentials[0].claims[2]``; empty: the body as a whole.
        self.path = path
        #: The rule, and what to do.
        self.rule = rule
        self.hint = hint


class Misconfigured(IdgateError):
    """Trust, keys or options that you gave cannot be used."""

    code = "config"

    def __init__(
        self, why: str, *, issuer: str | None = None, field: str | None = None, hint: str | None = None
    ) -> None:
        super().__init__(why)
        #: The issuer, by its name in the trust.
        self.issuer = issuer
        #: The argument, for example ``iaca_roots``.
        self.field = field
        self.hint = hint


class Refused(IdgateError):
    """A presentation or a notification was checked and refused."""

    def __init__(
        self,
        text: str,
        *,
        reason: ReasonText | Literal["invalid_webhook"],
        check: str | None = None,
        clause: str | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(text)
        #: The reason code: a :class:`Reason`.
        self.reason = reason if reason == "invalid_webhook" else cast(ReasonText, Reason(reason))
        self.code = self.reason
        #: The check that failed, for example ``nonce``.
        self.check = check
        #: The clause of the standard that demands it, for example ``RFC 9901 7.3``.
        self.clause = clause
        self.hint = hint or HINTS.get(reason)


class NotAnAnswer(IdgateError):
    """A wallet's answer or fetch changes nothing. Store nothing, and answer with :attr:`reply`."""

    def __init__(self, text: str, *, code: ErrorCodeText, hint: str | None = None) -> None:
        super().__init__(text)
        self.code = ErrorCode(code)
        self.hint = hint

    @property
    def http_status(self) -> int:
        """The HTTP status to answer with."""
        return HTTP_STATUS.get(self.code, 400)

    @property
    def reply(self) -> Reply:
        """The reply to the wallet."""
        return Reply.refusal(self.http_status, self.code, str(self))


class Withheld(IdgateError):
    """This reader may not have the result."""

    def __init__(self, text: str, *, reason: WithheldReasonText) -> None:
        super().__init__(text)
        #: The reason code: a :class:`WithheldReason`.
        self.reason = cast(WithheldReasonText, WithheldReason(reason))
        self.code = self.reason


class NotAvailable(IdgateError):
    """Something cannot be used at the moment, for example a key in an HSM. Nothing is decided, and the wallet may try
    again."""

    code = "temporarily_unavailable"

    def __init__(self, text: str, *, retry_after: int = 1, hint: str | None = None) -> None:
        super().__init__(text)
        #: In seconds.
        self.retry_after = retry_after
        self.hint = hint

    @property
    def reply(self) -> Reply:
        """The reply to a wallet."""
        return Reply.try_again(self.retry_after)


class InternalError(IdgateError):
    """A fault of idgate. Please report it."""


class ClaimsError(IdgateError):
    """The claims do not fit your type. The message has names of claims, and no values."""

    code = "claims"

    def __init__(self, path: str, rule: str) -> None:
        super().__init__(f"{path}: {rule}" if path else rule)
        #: The claim, for example ``address.locality``.
        self.path = path
        #: The rule that it breaks.
        self.rule = rule


#: Hints by the name of the remedy, and by reason for refusals that are often not the wallet's fault.
HINTS: Final[dict[str, str]] = {
    "add_issuer": "name the issuer in Trust, with its keys or roots",
    "supply_status": "leave fetch out, or pass a Fetcher, so that the status is fetched",
    Reason.NONCE_MISMATCH: "pass the nonce of the request that was answered; each is good for one answer",
    Reason.AUDIENCE_MISMATCH: "pass client_id exactly as the request had it, with its prefix",
    Reason.UNTRUSTED_ISSUER: "to trust this issuer, name it in Trust, with its keys or roots",
    Reason.TYPE_MISMATCH: "to accept this type, name it in vct or doc_types of the Issuer",
    Reason.CLAIM_MISSING: "ask for claims that the wallet has, or treat the claim as not given",
    Reason.DEVICE_AUTH_INVALID: "pass client_id, nonce and response_uri exactly as the request had them; for an "
    "encrypted answer also enc_key or apu",
    Reason.KB_JWT_STALE: "pass sent_at, and check the clock of this machine",
    Reason.REVOCATION_UNKNOWN: "check that the sources of status lists and CRLs can be reached from here",
}
