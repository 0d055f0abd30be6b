"""Making requests, and deciding about answers."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, TypedDict, cast

from . import _abi, _checks, _deciding, _library
from ._checks import Buffer
from .codes import Profile, ProfileText
from .errors import Misconfigured
from .fetcher import Fetch, Fetcher, Fetching
from .reply import Reply
from .request import Request, RequestOfIssuer
from .session import Mode, Protocol, Session, Transition
from .signer import Signer
from .store import Store
from .trust import Trust
from .verification import Answer, Decision, Verification


@dataclass(frozen=True, slots=True)
class Comparison:
    """A registration certificate, compared with a request."""

    #: Whether it goes to wallets: where a request of the session is signed under ``x509_hash``.
    sent: bool
    #: Whether it would, had it not expired.
    expired: bool
    #: Claims that are asked for and not registered. Wallets warn of it, or refuse.
    beyond: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RequestObject:
    """The Request Object for a wallet. Once ``transition``, when there is one, is committed, answer with ``reply``."""

    #: It has the nonce: keep it out of logs.
    reply: Reply = field(repr=False)
    transition: Transition | None

    @property
    def jwt(self) -> str:
        """The Request Object."""
        return self.reply.body.decode()


class DcApiRequest(TypedDict):
    """One request to a browser."""

    protocol: Protocol
    data: dict[str, Any]


class DcApiRequests(TypedDict):
    """The requests that a page passes to ``navigator.credentials.get`` as ``digital``."""

    requests: list[DcApiRequest]


class Verifier(_abi.Handle):
    """A configured verifier: make a new one to change trust. It may be shared by threads."""

    _free = _library.FREE_VERIFIER

    def __init__(
        self,
        base_url: str,
        trust: Trust,
        *,
        profiles: Sequence[Profile | ProfileText],
        signer: Signer | Sequence[Signer] | None = None,
        former_signers: Sequence[Signer] = (),
        request_mode: Literal["inline", "jar"] | None = None,
        client_id: Literal["did", "x509_san_dns", "x509_hash"] | None = None,
        response_mode: Literal["direct_post", "direct_post.jwt"] | None = None,
        request_uri_method: Literal["post"] | None = None,
        dc_api: Literal["unsigned", "signed", "multisigned"] | None = None,
        fetch: bool | Fetcher | Fetch = True,
    ) -> None:
        """Trusts what ``trust`` holds, and speaks ``profiles``; the first is for requests that name none.

        >>> key = Signer("https://issuer.example", b"7" * 32).public_key()
        >>> trust = Trust([Issuer("https://issuer.example", vcts=["urn:eudi:pid:1"], jwk=key)])
        >>> verifier = Verifier("https://shop.example", trust, profiles=["1.0"])
        >>> asked = {"format": "dc+sd-jwt", "issuer_id": "https://issuer.example", "claims": ["birthdate"]}
        >>> made = verifier.create_session({"credentials": [asked]}, mode="live", tenant="shop")
        >>> made.session.info().status == "PENDING"
        True

        Without ``signer``, requests are unsigned and by value. With one, they are signed and by
        reference, and answers are encrypted: serve :meth:`request_object` at
        ``{base_url}/v1/oid4vp/request/{handle}`` and :func:`did_document`. Wallets answer to
        ``{base_url}/v1/oid4vp/response/{handle}``. A session keeps the profile that it was
        made in, whichever verifier takes its answer.

        ``haip`` needs a signer of :meth:`Signer.certified`. ``request_mode`` is how requests of ``draft`` and ``1.0``
        go: ``jar`` when there is a signer, unless you say ``inline``. The next two are for ``1.0``:
        ``client_id`` of signed requests, without it ``x509_hash`` where the first signer has a certificate, else
        ``did``; and ``response_mode``, without which answers are encrypted when the request is signed. With
        ``request_uri_method`` links say that wallets may POST for the request.

        ``dc_api``: what pages pass to their browser, in all profiles but ``draft``. ``signed`` has
        the unsigned request behind it, ``multisigned`` both; they are signed under ``client_id``,
        in ``haip`` under ``x509_hash``, and multi-signed in ``1.0`` under each that a signer can
        sign. Sessions are made with ``dc_api`` then: see :meth:`dc_api_requests`.

        Of several signers the first that fits signs; ``former_signers`` sign for the sessions that were
        made with them.

        ``fetch``: the library fetches status lists and CRLs that credentials name, from public addresses. With a
        :class:`Fetcher` of yours it also reaches others. A function of yours takes its place. With ``False`` nothing
        is fetched, and such a credential is refused (``revocation_unknown``).

        :raises Misconfigured: something that you gave cannot be used.
        """
        self._fetching = Fetching(fetch)
        signers = _signers([] if signer is None else signer, "signer")
        # Verifiers may sign after a signer is closed.
        self._signers = [*signers, *_signers(former_signers, "former_signers")]
        given = {
            "request_mode": request_mode,
            "client_id": client_id,
            "response_mode": response_mode,
            "dc_api": dc_api,
        }
        choices = _library.CHOICES
        options = {
            name: choices[name][_option(value, choices[name], name)]
            for name, value in given.items()
            if value is not None
        }
        if request_uri_method is not None:
            _option(request_uri_method, ("post",), "request_uri_method")
        super().__init__(
            _library.verifier(
                _checks.text(base_url, "base_url"),
                _options(profiles, tuple(Profile), "profiles"),
                options,
                request_uri_method is not None,
                [one.pointer for one in signers],
                [one.pointer for one in self._signers[len(signers) :]],
                _checks.instance(trust, Trust, "trust").pointer,
                trust.version,
            )
        )

    def create_session(
        self,
        request: Request | RequestOfIssuer | str | Buffer,
        *,
        mode: Mode,
        tenant: str = "",
        registration: str | None = None,
        strict: bool = False,
        now: datetime | None = None,
    ) -> Transition:
        """Makes a session from a request, which may also be the body of ``CreateSessionRequest`` in JSON. Commit it
        before you show its link. ``mode`` says whether it counts: material and keys for tests serve ``test`` alone.
        ``tenant`` is your name for its owner.

        ``registration``: a registration certificate, which goes to wallets as ``verifier_info``
        where :meth:`compare_registration` says so. With ``strict`` a request that asks for more
        than is registered, or whose certificate has expired, is refused.

        :raises RequestInvalid: the request breaks a rule; ``path`` names the field.
        """
        return Transition.of(
            _library.create_session(
                self.pointer,
                _checks.json_octets(request, "request"),
                _is_live(mode),
                _checks.text(tenant, "tenant"),
                _checks.optional_text(registration, "registration"),
                _checks.flag(strict, "strict"),
                now,
            )
        )

    def compare_registration(
        self,
        registration: str,
        request: Request | RequestOfIssuer | str | Buffer,
        *,
        mode: Mode,
        now: datetime | None = None,
    ) -> Comparison:
        """Compares a registration certificate with this request.

        :raises Misconfigured: it cannot be read.
        :raises RequestInvalid: the request breaks a rule.
        """
        registration = _checks.text(registration, "registration")
        asked = _checks.json_octets(request, "request")
        told = _library.compare_registration(self.pointer, registration, asked, _is_live(mode), now)
        return Comparison(told["sent"], told["expired"], tuple(told["beyond"]))

    def request_object(
        self,
        session: Session,
        handle: str,
        *,
        content_type: str | None = None,
        form: Buffer | None = None,
        wallet_nonce: str | None = None,
        now: datetime | None = None,
    ) -> RequestObject:
        """The Request Object, for a wallet that asked for it. ``handle``: the path that it asked, or its last segment.
        Of a POST pass ``content_type`` and ``form``, the body; or ``wallet_nonce``, if you read the form yourself.

        :raises NotAnAnswer: there is nothing to fetch, or the form cannot be read; answer with its ``reply``.
        :raises NotAvailable: the signer cannot sign now; it has a ``reply``, too.
        """
        asked: dict[str, str | bytes | None] = {
            "to": _checks.text(handle, "handle"),
            "content_type": _checks.optional_text(content_type, "content_type"),
            "body": None if form is None else _checks.octets(form, "form"),
            "wallet_nonce": _checks.optional_text(wallet_nonce, "wallet_nonce"),
        }
        pointer = _checks.instance(session, Session, "session").pointer
        reply, change = _library.request_object(self.pointer, pointer, asked, now)
        return RequestObject(reply, Transition.of(change))

    def dc_api_requests(self, session: Session, *, now: datetime | None = None) -> DcApiRequests:
        """The requests that a page passes to ``navigator.credentials.get`` as ``digital``, of a session whose
        request had ``dc_api``, for example ``{"origins": ["https://shop.example"]}``: name origins of your
        own, whose pages may ask.

        :raises NotAnAnswer: the session was made without it, or takes no answer any more.
        """
        asked = _checks.instance(session, Session, "session").pointer
        return cast(DcApiRequests, _library.dc_api_requests(self.pointer, asked, now))

    def decide(
        self, session: Session, answer: Answer, store: Store, *, now: datetime | None = None
    ) -> Decision:
        """Takes a wallet's answer to its decision, and stores that; then answer the wallet with its ``reply``. Before
        the first fetch of a status list or a CRL it stores a hold, so that no other answer is taken in that time.
        Whatever fails after that, the hold is given back (:meth:`Session.released`), so that the wallet may come again.

        :raises NotAnAnswer: the answer changes nothing; answer the wallet with the ``reply`` of the exception.
        :raises NotAvailable: a source could not be asked, by a fault of this machine; it has a ``reply``, too.
        """
        with self.begin(session, answer, now=now) as verification:
            return _deciding.decide(verification, store)

    async def decide_async(
        self, session: Session, answer: Answer, store: Store, *, now: datetime | None = None
    ) -> Decision:
        """:meth:`decide` in an event loop: the library works on a thread, and none waits for sources. The methods of
        ``store`` may be coroutine functions; others run on threads, so that they too may wait. A task that is cancelled
        waits for a ``commit`` that has begun, and gives the hold back."""
        with await asyncio.to_thread(self.begin, session, answer, now=now) as verification:
            return await _deciding.decide_async(verification, store)

    def begin(self, session: Session, answer: Answer, *, now: datetime | None = None) -> Verification:
        """Takes a wallet's answer, to go on step by step.

        :raises NotAnAnswer: the answer changes nothing.
        """
        asked = _checks.instance(session, Session, "session").pointer
        given = _checks.instance(answer, Answer, "answer")
        fields = {
            "to": given.to,
            "content_type": given.content_type,
            "body": given.body,
            "from_page": given.to is None,
        }
        return Verification(_library.begin(self.pointer, asked, fields, now), self._fetching, now)


def _option(value: Any, choices: Collection[str], name: str) -> str:
    if _checks.text(value, name) not in choices:
        raise Misconfigured(f"{name}: must be one of {', '.join(choices)}", field=name)
    return str(value)


def _options(value: Any, choices: Collection[str], name: str) -> list[str]:
    given = [_option(one, choices, name) for one in _checks.texts(value, name)]
    if not given:
        raise Misconfigured(f"{name}: name at least one of {', '.join(choices)}", field=name)
    return given


def _signers(given: Signer | Iterable[Signer], name: str) -> list[Signer]:
    if isinstance(given, Signer):
        return [given]
    if not isinstance(given, Iterable):
        raise TypeError(f"{name} must be a Signer or a list of them")
    return [_checks.instance(one, Signer, name) for one in given]


def _is_live(mode: Any) -> bool:
    return _checks.one_of(mode, ("live", "test"), "mode") == "live"
