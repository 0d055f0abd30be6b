"""Sessions: immutable values that you store. What changes is a new session to commit."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, Self, TypedDict

from idgate._native import lib

from . import _abi
from ._abi import Buffer
from .errors import IdgateError


#: What a request speaks: ``draft``, OpenID4VP 1.0, or that within HAIP 1.0.
Profile = Literal["draft", "1.0", "haip"]

#: A protocol of the Digital Credentials API.
Protocol = Literal[
    "openid4vp-v1-unsigned", "openid4vp-v1-signed", "openid4vp-v1-multisigned", "org-iso-mdoc"
]


@dataclass(frozen=True)
class Offer:
    """One request of a session. The first answer to any of them settles the session."""

    #: What ``request_object`` and ``begin`` take as ``offer``; ``None``: the session's own.
    id: str | None
    profile: Profile
    #: Whom a holder's proof is for.
    client_id: str
    #: Where the wallet posts its answer.
    response_uri: str
    #: Where the wallet fetches the Request Object; ``None``: the request travels by value.
    request_uri: str | None
    #: This request by scheme, while a wallet can answer.
    deep_links: dict[str, str] = field(repr=False)


@dataclass(frozen=True)
class BrowserOffer:
    """What a page passes to its browser: ``Verifier.dc_api_requests`` gives it."""

    profile: Profile
    #: Where the page may be from.
    origins: list[str]
    #: What it passes on, in that order.
    protocols: list[Protocol]


@dataclass(frozen=True)
class SessionInfo:
    """What can be said of a session at a time."""

    session_id: str
    tenant: str
    livemode: bool
    #: CREATED, PENDING, VERIFYING, VERIFIED, FAILED or EXPIRED.
    status: str
    #: Why it ended, when FAILED or EXPIRED.
    reason: str | None
    #: What the wallet said, when the reason is ``wallet_error``: a name of OpenID4VP 8.5, as
    #: ``access_denied``, or ``other``.
    wallet_error: str | None
    #: Counts commits.
    revision: int
    created_at: datetime
    expires_at: datetime
    settled_at: datetime | None
    #: For a QR code, while a wallet can answer.
    qr_code_url: str | None = field(repr=False)
    #: By scheme, ``openid4vp``, ``eudi-wallet``, ``haip``, the request for wallets that have it.
    deep_links: dict[str, str] = field(repr=False)
    #: Its requests behind links, in the order of their profiles.
    offers: list[Offer]
    #: Its request to browsers, when it was made with ``dc_api``.
    dc_api: BrowserOffer | None


class Result(TypedDict):
    """What a VERIFIED session came to."""

    claims: dict[str, Any]
    verification_details: dict[str, Any]


class Effect(TypedDict, total=False):
    """Something to do after a commit; ``type`` says what."""

    type: str
    status: str
    reason: str | None
    wallet_error: str | None
    occurred_at_ms: int
    at_ms: int


class Session(_abi.Handle):
    """One verification at one revision."""

    _free = lib.idgate_session_free

    @classmethod
    def restore(cls, snapshot: Buffer, result: Buffer | None = None) -> Self:
        """The session of :meth:`snapshot`, with its result when you kept that."""
        session = cls(
            _abi.make("idgate_session *", lib.idgate_session_restore, *_abi.data(snapshot))
        )
        if result is None:
            return session
        with session:
            return cls(
                _abi.make(
                    "idgate_session *",
                    lib.idgate_session_restore_result,
                    session._pointer,
                    *_abi.data(result),
                )
            )

    def snapshot(self) -> bytes:
        """The session for your database. It holds nonce, state and keys: seal it."""
        return _abi.make_bytes(lib.idgate_session_snapshot, self._pointer)

    def result_snapshot(self, now: datetime | None = None) -> bytes | None:
        """The result, to survive a restart. It holds claims: seal it, erase it after 30 s."""
        return self._or_none(lib.idgate_session_result_snapshot, now)

    def info(self, now: datetime | None = None) -> SessionInfo:
        """What can be said of it at this time."""
        text = _abi.make_bytes(lib.idgate_session_info, self._pointer, _abi.millis(now))
        told = json.loads(text)
        for name in ("created_at", "expires_at", "settled_at"):
            told[name] = _abi.instant_or_none(told.pop(f"{name}_ms"))
        told.setdefault("qr_code_url", None)
        told.setdefault("deep_links", {})
        told["offers"] = [Offer(**{"deep_links": {}, **offer}) for offer in told["offers"]]
        told["dc_api"] = told["dc_api"] and BrowserOffer(**told["dc_api"])
        return SessionInfo(**told)

    def result(self, now: datetime | None = None) -> Result | None:
        """Claims and details of a VERIFIED session, until 30 seconds after verification. Whose
        browser they are for is not asked: see :meth:`result_for`."""
        text = self._or_none(lib.idgate_session_result, now)
        if text is None:
            return None
        result: Result = json.loads(text)
        return result

    def result_for(
        self, response_code: str | None, now: datetime | None = None
    ) -> Result | None:
        """The same for whoever brings ``response_code``: what the person's browser had in the query
        of your ``redirect_uri``, ``None`` when it had none.

        Where the person has to come back into the session that asked (every session that offers
        ``haip`` but with ``same_device`` false in the request, and wherever that is true), there is
        no result for a code that is missing or another. Other sessions need none.
        """
        try:
            text = _abi.make_bytes(
                lib.idgate_session_result_for,
                self._pointer,
                *_abi.data(response_code),
                _abi.millis(now),
            )
        except IdgateError as error:
            if error.kind == "nothing":
                return None
            raise
        result: Result = json.loads(text)
        return result

    def followed(self, now: datetime | None = None) -> Transition | None:
        """The person followed the link: CREATED becomes PENDING."""
        return self._transition(lib.idgate_session_followed, now)

    def due(self, now: datetime | None = None) -> Transition | None:
        """What the time has made of it: EXPIRED, or PENDING after a verification given up."""
        return self._transition(lib.idgate_session_due, now)

    def released(self, now: datetime | None = None) -> Transition | None:
        """Gives up a verification of yours before its time is over, by a fault of your own: PENDING
        again, or EXPIRED, so that the same answer is taken later. Of the session of :class:`Ask`'s
        ``hold``, once that was committed."""
        return self._transition(lib.idgate_session_released, now)

    def _or_none(self, function: Any, now: datetime | None) -> bytes | None:
        try:
            return _abi.make_bytes(function, self._pointer, _abi.millis(now))
        except IdgateError as error:
            if error.kind == "nothing":
                return None
            raise

    def _transition(self, function: Any, now: datetime | None) -> Transition | None:
        try:
            made = _abi.make("idgate_transition", function, self._pointer, _abi.millis(now))
        except IdgateError as error:
            if error.kind == "nothing":
                return None
            raise
        return Transition.take(made)


@dataclass(frozen=True)
class Transition:
    """A change to commit.

    Store ``session.snapshot()`` where the stored revision still is ``from_revision`` (0: insert).
    Where it is another, somebody else was faster: give this one up.
    """

    from_revision: int
    session: Session
    effects: list[Effect]

    @classmethod
    def take(cls, made: Any) -> Self:
        """From what the library made."""
        session = Session(made.session)
        return cls(int(getattr(made, "from")), session, _abi.take_json(made.effects))
