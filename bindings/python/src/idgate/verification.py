"""A wallet's answer, from its first look to the decision."""

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
    #: It may have claims.
    body: bytes = field(repr=False)
    content_type: str | None

    def __init__(self, *, to: str, body: Buffer, content_type: str | None) -> None:
        """``to``: the path that it was posted to, or its last segment. ``content_type``: the header, ``None`` when
        there was none."""
        kind = _checks.optional_text(content_type, "content_type")
        self._set(_checks.text(to, "to"), _checks.octets(body, "body"), kind)

    @classmethod
    def dc_api(cls, answer: Mapping[str, Any] | str | Buffer) -> Self:
        """The answer that a page got from its browser: the credential, an object with ``protocol`` and ``data``.

        It is good for a page from one of the session's origins, and ``verification_details`` say from which; nothing
        in it is believed about that. No wallet waits for the reply: tell the page what you like.
        """
        made = cls.__new__(cls)
        made._set(None, _checks.json_octets(answer, "answer"), None)
        return made

    def _set(self, to: str | None, body: bytes, content_type: str | None) -> None:
        for name, value in (("to", to), ("body", body), ("content_type", content_type)):
            object.__setattr__(self, name, value)


@dataclass(frozen=True, slots=True)
class Report:
    """Which checks of an answer were made, presentation by presentation, and what failed."""

    #: The rule and its clause; ``None``: nothing did.
    failed: str | None
    credentials: tuple[tuple[Check, ...], ...]


@dataclass(frozen=True, slots=True)
class Ask:
    """Everything but the status is good. Commit ``hold``, fetch all needs at once, supply them."""

    hold: Transition
    needs: tuple[Need, ...]


@dataclass(frozen=True, slots=True)
class Decision:
    """The decision about an answer. Once ``transition`` is committed, answer the wallet with ``reply``.
    :meth:`Verifier.decide` commits it."""

    transition: Transition
    #: 200, or 400 ``invalid_presentation`` whatever the reason. It may have the way back: keep it out of logs.
    reply: Reply = field(repr=False)
    #: VERIFIED or FAILED.
    status: StatusText
    #: Why it is FAILED, for you and never for the wallet.
    reason: ReasonText | None
    #: The error that the wallet reported, when that is the reason.
    wallet_error: WalletErrorText | None
    #: Where the wallet sends the person, when the session has that.
    redirect_uri: str | None = field(repr=False)
    #: Which checks were made and what failed, for operators.
    report: Report = field(repr=False)

    @property
    def session(self) -> Session:
        """The session afterwards."""
        return self.transition.session


class Verification(Steps):
    """A wallet's answer under verification, step by step: :meth:`Verifier.decide` does it all."""

    def step(self) -> Ask | Decision:
        """Goes as far as possible without the network."""
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
    """One presentation under verification, without a session."""

    def step(self) -> tuple[Need, ...] | Presentation:
        """Goes as far as possible without the network."""
        step = _library.step(self.pointer, has_session=False)
        return Presentation.of(step.told) if step.is_decided else needs_of(step.told)
