"""A wallet's answer, from its arrival to the decision."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self, cast

from . import _checks, _library
from ._checks import Buffer
from ._steps import Steps, needs_of
from .codes import ReasonText, StatusText, WalletErrorText
from .fetcher import Need
from .presentation import Check, Presentation
from .reply import Reply
from .session import Session, Transition, outcome


@dataclass(frozen=True, slots=True, init=False)
class Answer:
    """The answer of a wallet.

    >>> Answer(to="ses_1", body=b"state=x", content_type="application/x-www-form-urlencoded")
    Answer(to='ses_1', content_type='application/x-www-form-urlencoded')
    """

    #: The path that it was posted to, or its last segment; ``None``: a page got it from its browser.
    to: str | None
    #: It may contain claims.
    body: bytes = field(repr=False)
    content_type: str | None

    def __init__(self, *, to: str, body: Buffer, content_type: str | None) -> None:
        """``to`` is the path that it was posted to, or its last segment. ``content_type`` is the header, or ``None`` if
        there was none."""
        kind = _checks.optional_text(content_type, "content_type")
        self._set(_checks.text(to, "to"), _checks.octets(body, "body"), kind)

    @classmethod
    def dc_api(cls, answer: Mapping[str, Any] | str | Buffer) -> Self:
        """The answer that a page got from its browser: the credential, an object with ``protocol`` and ``data``.

        It is valid only for a page from one of the session's origins, and ``verification_details`` say from which. The
        origin is taken from the holder's proof, not from this object. No wallet waits for the reply: answer the page as
        you like.
        """
        made = cls.__new__(cls)
        made._set(None, _checks.json_octets(answer, "answer"), None)
        return made

    def _set(self, to: str | None, body: bytes, content_type: str | None) -> None:
        for name, value in (("to", to), ("body", body), ("content_type", content_type)):
            object.__setattr__(self, name, value)


@dataclass(frozen=True, slots=True)
class Report:
    """The checks of an answer, presentation by presentation, and the failed one."""

    #: The failed rule and its clause; ``None``: nothing failed.
    failed: str | None
    credentials: tuple[tuple[Check, ...], ...]


@dataclass(frozen=True, slots=True)
class Ask:
    """Everything but the status is good. Commit ``hold``, fetch all needs in parallel, then supply them."""

    hold: Transition
    needs: tuple[Need, ...]


@dataclass(frozen=True, slots=True)
class Decision:
    """The decision about an answer. Once ``transition`` is committed, answer the wallet with ``reply``.
    :meth:`Verifier.decide` commits it."""

    transition: Transition
    #: 200, or 400 ``invalid_presentation`` whatever the reason. It may contain the redirect: keep it out of logs.
    reply: Reply = field(repr=False)
    #: VERIFIED or FAILED.
    status: StatusText
    #: Why it is FAILED. For you; never show it to the wallet.
    reason: ReasonText | None
    #: The error that the wallet reported, if that is the reason.
    wallet_error: WalletErrorText | None
    #: Where the wallet sends the person, if the session has a redirect.
    redirect_uri: str | None = field(repr=False)
    #: The checks and the failed one, for operators.
    report: Report = field(repr=False)

    @property
    def session(self) -> Session:
        """The session afterwards."""
        return self.transition.session


class Verification(Steps):
    """The verification of a wallet's answer in steps. :meth:`Verifier.decide` does all of them."""

    def step(self) -> Ask | Decision:
        """Runs until the verification is decided, or needs the network."""
        step = _library.step(self.pointer, has_session=True)
        # A step of a session always has both.
        transition = Transition.of(cast(_library.Change, step.change))
        if not step.is_decided:
            return Ask(transition, needs_of(step.told))
        report = step.told["report"]
        checks = tuple(tuple(Check(**check) for check in credential) for credential in report["credentials"])
        return Decision(
            transition,
            cast(Reply, step.reply),
            *outcome(step.told),
            step.told["redirect_uri"],
            Report(report["failed"], checks),
        )


class PresentationSteps(Steps):
    """The verification of one presentation without a session."""

    def step(self) -> tuple[Need, ...] | Presentation:
        """Runs until the verification is decided, or needs the network."""
        step = _library.step(self.pointer, has_session=False)
        return Presentation.of(step.told) if step.is_decided else needs_of(step.told)
