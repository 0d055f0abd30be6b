"""Sessions: immutable values that you store. Each change is a new session to commit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType
from typing import Any, Literal, Self, TypeVar, cast, overload

from . import _abi, _checks, _claims, _library
from ._checks import Buffer
from .codes import (
    Profile,
    ProfileText,
    Reason,
    ReasonText,
    Status,
    StatusText,
    WalletError,
    WalletErrorText,
)

T = TypeVar("T")

#: Live or test. Trust material and keys for tests are used only in test-mode sessions.
Mode = Literal["live", "test"]

#: A protocol of the Digital Credentials API.
Protocol = Literal[
    "openid4vp-v1-unsigned", "openid4vp-v1-signed", "openid4vp-v1-multisigned", "org-iso-mdoc"
]


@dataclass(frozen=True, slots=True)
class Offer:
    """A request of a session that is sent as a link. The first answer to any offer settles the session."""

    #: The last segment of its paths: the id of the session, or one of its own.
    handle: str
    profile: ProfileText
    #: The audience of the answer.
    client_id: str
    #: Where wallets post the answer.
    response_uri: str
    #: Where wallets fetch the request; ``None``: it travels by value.
    request_uri: str | None
    #: Its links, by scheme; empty if the session no longer accepts an answer.
    deep_links: Mapping[str, str] = field(repr=False)


@dataclass(frozen=True, slots=True)
class BrowserOffer:
    """The request that a page passes to its browser. :meth:`Verifier.dc_api_requests` returns it."""

    profile: ProfileText
    #: The allowed origins of the page.
    origins: tuple[str, ...]
    #: The protocols of its requests, in that order.
    protocols: tuple[Protocol, ...]


@dataclass(frozen=True, slots=True)
class SessionInfo:
    """The facts of a session at one time, without claims."""

    id: str
    tenant: str
    mode: Mode
    #: A :class:`Status`.
    status: StatusText
    #: Why it is FAILED or EXPIRED: a :class:`Reason`.
    reason: ReasonText | None
    #: The error that the wallet reported, if that is the reason: a :class:`WalletError`.
    wallet_error: WalletErrorText | None
    #: The number of its commits.
    revision: int
    created_at: datetime
    expires_at: datetime
    settled_at: datetime | None
    #: The ``version`` of the trust that decided; ``None`` before the decision.
    trust_version: int | None
    #: The link of its first request, for a QR code, while a wallet can answer.
    qr_code_url: str | None = field(repr=False)
    #: The link for each wallet scheme (``openid4vp``, ``eudi-wallet``, ``haip``), while a wallet can answer.
    deep_links: Mapping[str, str] = field(repr=False)
    #: Its requests as links, in the order of their profiles.
    offers: tuple[Offer, ...]
    #: Its request to browsers, if it was made with ``dc_api``.
    dc_api: BrowserOffer | None


@dataclass(frozen=True, slots=True)
class Browser:
    """The reader is the person's browser, with the ``response_code`` from its address, or ``None`` if there is none. If
    the person has to return to the session that asked, the code proves that they did."""

    response_code: str | None = field(repr=False)


@dataclass(frozen=True, slots=True)
class Backend:
    """The reader is a program of yours. It must not show the result to the browser that asks for it, because that
    browser may belong to another person than the one who answered."""


#: The reader of a result.
Reader = Browser | Backend


@dataclass(frozen=True, slots=True)
class Result:
    """The result of a VERIFIED session."""

    #: The requested claims, by the ids of the request.
    claims: dict[str, dict[str, Any]] = field(repr=False)
    verification_details: dict[str, Any] = field(repr=False)

    @overload
    def credential(self, id: str) -> dict[str, Any]: ...
    @overload
    def credential(self, id: str, kind: type[T]) -> T: ...
    def credential(self, id: str, kind: type[T] | None = None) -> dict[str, Any] | T:
        """The claims of one credential. ``kind`` reads them as that dataclass, TypedDict or pydantic model.

        :raises KeyError: there is no credential with that id.
        :raises ClaimsError: the claims do not fit ``kind``.
        """
        claims = self.claims[id]
        return claims if kind is None else _claims.read(claims, kind)

    def claims_as(self, kind: type[T]) -> T:
        """All claims as that dataclass, TypedDict or pydantic model, whose members are the ids of the request.

        :raises ClaimsError: the claims do not fit ``kind``.
        """
        return _claims.read(self.claims, kind)


@dataclass(frozen=True, slots=True)
class PublishStatus:
    """Publish the new status."""

    status: StatusText
    reason: ReasonText | None
    wallet_error: WalletErrorText | None
    occurred_at: datetime


@dataclass(frozen=True, slots=True)
class ExpireAt:
    """Call :meth:`Session.due` at that time."""

    at: datetime


@dataclass(frozen=True, slots=True)
class RedactClaimsAt:
    """Erase the result at that time."""

    at: datetime


#: Something to do after a commit.
Effect = PublishStatus | ExpireAt | RedactClaimsAt


class Session(_abi.Handle):
    """One session at one revision."""

    _free = _library.FREE_SESSION

    @classmethod
    def restore(cls, snapshot: Buffer, result: Buffer | None = None) -> Self:
        """Restores a session from :meth:`snapshot`, with its result if you kept that."""
        session = cls(_library.restored(_checks.octets(snapshot, "snapshot")))
        if result is None:
            return session
        with session:
            return cls(_library.with_result(session.pointer, _checks.octets(result, "result")))

    def snapshot(self) -> bytes:
        """The session for your database. It contains nonce, state and keys: encrypt it."""
        return _library.snapshot(self.pointer)

    def result_snapshot(self, now: datetime | None = None) -> bytes | None:
        """The result, to survive a restart. It contains claims: encrypt it, and erase it after 30 s."""
        return _library.result_snapshot(self.pointer, now)

    def info(self, now: datetime | None = None) -> SessionInfo:
        """The facts at this time."""
        return _info(_library.info(self.pointer, now))

    def result(self, reader: Reader, now: datetime | None = None) -> Result:
        """Claims and details of a VERIFIED session, until 30 seconds after verification. Say who reads:
        ``Browser(response_code=…)`` or ``Backend()``.

        Some sessions have to end in the browser that began: those that offer ``haip``, unless ``same_device`` is false
        in the request, and those where it is true. A browser reads their result with the code in the query of your
        ``redirect_uri``. Other sessions need no code.

        :raises Withheld: this reader may not have the result; ``reason`` says why.
        """
        match reader:
            case Backend():
                told = _library.result_for_backend(self.pointer, now)
            case Browser(response_code):
                code = _checks.optional_text(response_code, "response_code")
                told = _library.result_for_browser(self.pointer, code, now)
            case _:
                raise TypeError("reader must be Browser(response_code=…) or Backend()")
        return Result(told["claims"], told["verification_details"])

    def followed(self, now: datetime | None = None) -> Transition | None:
        """Records that the person followed the link: CREATED becomes PENDING."""
        return Transition.of(_library.followed(self.pointer, now))

    def due(self, now: datetime | None = None) -> Transition | None:
        """The change that is due at this time: EXPIRED, or PENDING after a verification that was given up."""
        return Transition.of(_library.due(self.pointer, now))

    def released(self, now: datetime | None = None) -> Transition | None:
        """Gives up a verification early because of a fault on your side. The session is PENDING again, or EXPIRED, so
        that the same answer can be accepted later. Call it on the session of :class:`Ask`'s ``hold``, once that was
        committed."""
        return Transition.of(_library.released(self.pointer, now))


@dataclass(frozen=True, slots=True)
class Transition:
    """A change to commit.

    Store ``session.snapshot()`` if the stored revision is still ``from_revision`` (0: insert).
    Otherwise another answer was faster: discard this transition.
    """

    from_revision: int
    session: Session
    effects: tuple[Effect, ...]

    @overload
    @classmethod
    def of(cls, change: _library.Change) -> Self: ...
    @overload
    @classmethod
    def of(cls, change: _library.Change | None) -> Self | None: ...
    @classmethod
    def of(cls, change: _library.Change | None) -> Self | None:
        """Converts the library's value."""
        if change is None:
            return None
        revision, session, effects = change
        return cls(revision, Session(session), tuple(_effect(effect) for effect in effects))


def _effect(told: dict[str, Any]) -> Effect:
    match told["type"]:
        case "publish_status":
            return PublishStatus(*outcome(told), _abi.instant(told["occurred_at_ms"]))
        case "expire_at":
            return ExpireAt(_abi.instant(told["at_ms"]))
    return RedactClaimsAt(_abi.instant(told["at_ms"]))


def outcome(told: dict[str, Any]) -> tuple[StatusText, ReasonText | None, WalletErrorText | None]:
    """Status, reason and the wallet's error."""
    reason, wallet_error = told["reason"], told["wallet_error"]
    return (
        cast(StatusText, Status(told["status"])),
        cast(ReasonText, Reason(reason)) if reason else None,
        cast(WalletErrorText, WalletError(wallet_error)) if wallet_error else None,
    )


def _info(told: dict[str, Any]) -> SessionInfo:
    dc_api = told["dc_api"]
    return SessionInfo(
        told["session_id"],
        told["tenant"],
        told["mode"],
        *outcome(told),
        told["revision"],
        _abi.instant(told["created_at_ms"]),
        _abi.instant(told["expires_at_ms"]),
        _abi.instant_or_none(told["settled_at_ms"]),
        told["trust_version"],
        told.get("qr_code_url"),
        _links(told),
        tuple(_offer(offer) for offer in told["offers"]),
        dc_api and BrowserOffer(_profile(dc_api), tuple(dc_api["origins"]), tuple(dc_api["protocols"])),
    )


def _offer(told: dict[str, Any]) -> Offer:
    return Offer(
        told["handle"],
        _profile(told),
        told["client_id"],
        told["response_uri"],
        told["request_uri"],
        _links(told),
    )


def _profile(told: dict[str, Any]) -> ProfileText:
    return cast(ProfileText, Profile(told["profile"]))


def _links(told: dict[str, Any]) -> Mapping[str, str]:
    return MappingProxyType(told.get("deep_links", {}))
