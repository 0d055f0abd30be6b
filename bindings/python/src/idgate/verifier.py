"""Making requests, and deciding about answers."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, TypedDict

from idgate._native import ffi, lib

from . import _abi
from ._abi import Buffer
from .fetcher import Fetcher, Lazy
from .session import Profile, Protocol, Session, Transition
from .signer import Signer
from .trust import Trust
from .verification import Decision, Need, Verification


@dataclass(frozen=True)
class Comparison:
    """A registration certificate beside a request."""

    #: Whether it goes to wallets: where a request of the session is signed under ``x509_hash``.
    sent: bool
    #: Whether it would, had it not expired.
    expired: bool
    #: What is asked for and is not registered. Wallets warn of it, or refuse.
    beyond: list[str]


class DcApiRequest(TypedDict):
    """One request to a browser."""

    protocol: Protocol
    data: dict[str, Any]


class DcApiRequests(TypedDict):
    """What a page passes to ``navigator.credentials.get`` as ``digital``."""

    requests: list[DcApiRequest]


class Verifier(_abi.Handle):
    """A configured verifier: make a new one to change trust. It may be shared by threads."""

    _free = lib.idgate_verifier_free

    def __init__(
        self,
        base_url: str,
        trust: Trust,
        *,
        signer: Signer | Sequence[Signer] | None = None,
        former: Sequence[Signer] = (),
        profiles: Sequence[Profile] = ("draft",),
        request_mode: Literal["inline", "jar"] | None = None,
        client_id: Literal["did", "x509_san_dns", "x509_hash"] = "did",
        response_mode: Literal["auto", "direct_post", "direct_post.jwt"] = "auto",
        request_uri_method: Literal["post"] | None = None,
        dc_api: Literal["off", "unsigned", "signed", "multisigned"] = "off",
        trust_version: int = 1,
        fetch: bool | Fetcher = True,
    ) -> None:
        """Trusts what ``trust`` holds now.

        >>> trust = Trust()
        >>> trust.add_issuer("https://issuer.example", vct=["urn:eudi:pid:1"])
        >>> trust.add_jwk("https://issuer.example", Signer("https://issuer.example", b"7" * 32).public_key())
        >>> verifier = Verifier("https://shop.example", trust)
        >>> asked = {"format": "vc+sd-jwt", "issuer_id": "https://issuer.example", "claims": ["birthdate"]}
        >>> made = verifier.create_session({"credentials": [asked]}, tenant="shop")
        >>> made.session.info().status
        'PENDING'

        Without ``signer``, requests are unsigned and by value. With one, they are signed and by
        reference, and answers are encrypted: serve :meth:`request_object` at
        ``{base_url}/v1/oid4vp/request/{session_id}`` and :func:`did_document`. Wallets answer to
        ``{base_url}/v1/oid4vp/response/{session_id}``. A session keeps the profile that it was
        made in, whichever verifier takes its answer.

        ``profiles``: what sessions may speak; the first is for requests that name none. Requests of
        other offers have the offer's id in the place of the session's. ``haip`` needs a signer
        of :meth:`Signer.certified`. ``request_mode`` is how requests of ``draft`` and ``1.0``
        go: ``jar`` when there is a signer, unless you say ``inline``. The rest is for ``1.0``:
        ``client_id`` of signed requests, and ``response_mode``, where ``auto`` encrypts when the
        request is signed. With ``request_uri_method`` links say that wallets may POST for the
        request.

        ``dc_api``: what pages pass to their browser, in all profiles but ``draft``. ``signed`` has
        the unsigned request behind it, ``multisigned`` both; they are signed under ``client_id``,
        in ``haip`` under ``x509_hash``, and multi-signed in ``1.0`` under each that somebody can
        sign. Sessions are made with ``dc_api`` then: see :meth:`dc_api_requests`.

        Of several signers the first that fits signs; ``former`` sign for the sessions that were
        made with them.

        ``fetch``: status lists and CRLs that credentials name are fetched by the library, from public
        addresses; with a :class:`Fetcher` of yours also from others, and with ``False`` not at all:
        then such a credential is refused (``revocation_unknown``) unless you fetch yourself.
        """
        self._fetcher = Lazy(fetch)
        signers = [signer] if isinstance(signer, Signer) else list(signer or [])
        # Verifiers may sign after a signer is closed.
        self._signers = [*signers, *former]
        options = {
            "profiles": list(profiles),
            "request_mode": request_mode or ("jar" if signers else "inline"),
            "client_id": client_id,
            "response_mode": response_mode,
            "request_uri_method": request_uri_method,
            "dc_api": dc_api,
        }
        super().__init__(
            _abi.make(
                "idgate_verifier *",
                lib.idgate_verifier_new,
                *_abi.data(base_url),
                *_abi.data(_abi.as_json(options)),
                *_handles(signers),
                *_handles(former),
                trust._pointer,
                trust_version,
            )
        )

    def request_object(
        self,
        session: Session,
        *,
        offer: str | None = None,
        wallet_nonce: str | None = None,
        now: datetime | None = None,
    ) -> tuple[str, Transition | None]:
        """The Request Object, to be served as ``application/oauth-authz-req+jwt``: of the session's
        own offer, or of the one with that id.

        Commit the transition, when there is one, before you answer.

        :raises Refused: there is nothing to fetch (404), or ``wallet_nonce`` is too long.
        """
        transition, jwt = ffi.new("idgate_transition *"), ffi.new("idgate_bytes *")
        _abi.call(
            lib.idgate_offer_request_object,
            self._pointer,
            session._pointer,
            *_abi.data(offer),
            *_abi.data(wallet_nonce),
            _abi.millis(now),
            transition,
            jwt,
        )
        text = _abi.take(jwt[0]).decode()
        return text, Transition.take(transition[0]) if transition[0].session else None

    def create_session(
        self,
        request: Mapping[str, Any] | str | Buffer,
        *,
        tenant: str = "",
        livemode: bool = True,
        registration: str | None = None,
        strict: bool = False,
        now: datetime | None = None,
    ) -> Transition:
        """Makes a session from a CreateSessionRequest. Commit it before you show its link.

        ``registration``: a registration certificate, which goes to wallets as ``verifier_info``
        where :meth:`compare_registration` says so. With ``strict`` a request that asks for more
        than is registered, or whose certificate has expired, is refused.

        :raises ConfigurationError: the request breaks a rule; ``path`` names the field.
        """
        asked: tuple[Any, ...] = (*_abi.data(_abi.as_json(request)), *_abi.data(tenant), livemode)
        if registration is None:
            create = lib.idgate_session_create
        else:
            create = lib.idgate_session_create_registered
            asked = (*asked, *_abi.data(registration), strict)
        made = _abi.make("idgate_transition", create, self._pointer, *asked, _abi.millis(now))
        return Transition.take(made)

    def compare_registration(
        self,
        registration: str,
        request: Mapping[str, Any] | str | Buffer,
        *,
        livemode: bool = True,
        now: datetime | None = None,
    ) -> Comparison:
        """What becomes of a registration certificate with this request.

        :raises ConfigurationError: it cannot be read, or the request breaks a rule.
        """
        out = ffi.new("idgate_bytes *")
        _abi.call(
            lib.idgate_registration_compare,
            self._pointer,
            *_abi.data(registration),
            *_abi.data(_abi.as_json(request)),
            livemode,
            _abi.millis(now),
            out,
        )
        return Comparison(**_abi.take_json(out[0]))

    def begin(
        self,
        session: Session,
        body: Buffer,
        content_type: str | None,
        *,
        offer: str | None = None,
        now: datetime | None = None,
    ) -> Verification:
        """Takes a wallet's answer to the session's own offer, or to the one with that id.

        :raises Refused: the answer changes nothing; ``code`` says what to answer.
        """
        return Verification(
            _abi.make(
                "idgate_verification *",
                lib.idgate_offer_verification_begin,
                self._pointer,
                session._pointer,
                *_abi.data(offer),
                *_abi.data(content_type),
                *_abi.data(body),
                _abi.millis(now),
            ),
            self._fetcher,
        )

    async def verify(
        self,
        session: Session,
        body: Buffer,
        content_type: str | None,
        *,
        commit: Callable[[Transition], Awaitable[None] | None],
        fetch: Callable[[Need], Awaitable[bytes | None] | bytes | None] | None = None,
        offer: str | None = None,
    ) -> Decision:
        """:meth:`begin` and :meth:`Verification.decide_async` in one, in an event loop. The decision's
        own transition is yours to commit.

        :raises Refused: the answer changes nothing; ``code`` says what to answer.
        """
        begun = await asyncio.to_thread(self.begin, session, body, content_type, offer=offer)
        with begun as verification:
            return await verification.decide_async(commit, fetch)

    async def verify_dc_api(
        self,
        session: Session,
        answer: Mapping[str, Any] | str | Buffer,
        *,
        commit: Callable[[Transition], Awaitable[None] | None],
        fetch: Callable[[Need], Awaitable[bytes | None] | bytes | None] | None = None,
    ) -> Decision:
        """The same of what a page got from its browser: see :meth:`begin_dc_api`."""
        begun = await asyncio.to_thread(self.begin_dc_api, session, answer)
        with begun as verification:
            return await verification.decide_async(commit, fetch)

    def dc_api_requests(self, session: Session, *, now: datetime | None = None) -> DcApiRequests:
        """What a page passes to ``navigator.credentials.get`` as ``digital``, of a session whose
        request had ``dc_api``, as ``{"origins": ["https://shop.example"]}``: name origins of your
        own, whose pages may ask.

        :raises Refused: the session was made without it, or takes no answer any more.
        """
        out = ffi.new("idgate_bytes *")
        _abi.call(
            lib.idgate_dc_api_requests,
            self._pointer,
            session._pointer,
            _abi.millis(now),
            out,
        )
        requests: DcApiRequests = _abi.take_json(out[0])
        return requests

    def begin_dc_api(
        self,
        session: Session,
        answer: Mapping[str, Any] | str | Buffer,
        *,
        now: datetime | None = None,
    ) -> Verification:
        """Takes what the page got: the credential, an object with ``protocol`` and ``data``.

        It is good for a page from one of the session's origins, and ``verification_details`` say
        from which; nothing in it is believed about that. No wallet waits for the ``body`` of the
        decision: tell the page what you like.

        :raises Refused: the answer changes nothing; ``code`` says why.
        """
        return Verification(
            _abi.make(
                "idgate_verification *",
                lib.idgate_dc_api_verification_begin,
                self._pointer,
                session._pointer,
                *_abi.data(_abi.as_json(answer)),
                _abi.millis(now),
            ),
            self._fetcher,
        )


def _handles(signers: Sequence[Signer]) -> tuple[Any, int]:
    pointers = [signer._pointer for signer in signers]
    return ffi.new("idgate_signer *[]", pointers), len(pointers)
