"""Creating requests, and deciding about answers."""

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

    #: Whether wallets receive it: they do if a request of the session is signed under ``x509_hash``.
    sent: bool
    #: Whether wallets would receive it if it had not expired.
    expired: bool
    #: Claims that are requested but not registered. Wallets warn the person, or refuse.
    beyond: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RequestObject:
    """The Request Object for a wallet. Commit ``transition``, if there is one, then answer with ``reply``."""

    #: It contains the nonce: keep it out of logs.
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
    """A configured verifier. Make a new one to change trust. Threads may share it."""

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
        """Trusts the issuers of ``trust``, and supports ``profiles``. The first one is for requests that name none.

        >>> key = Signer("https://issuer.example", b"7" * 32).public_key()
        >>> trust = Trust([Issuer("https://issuer.example", vcts=["urn:eudi:pid:1"], jwk=key)])
        >>> verifier = Verifier("https://shop.example", trust, profiles=["1.0"])
        >>> asked = {"format": "dc+sd-jwt", "issuer_id": "https://issuer.example", "claims": ["birthdate"]}
        >>> made = verifier.create_session({"credentials": [asked]}, mode="live", tenant="shop")
        >>> made.session.info().status == "PENDING"
        True

        Without ``signer``, requests are unsigned and by value. With one, they are signed and by
        reference, and answers are encrypted. Serve :meth:`request_object` at
        ``{base_url}/v1/oid4vp/request/{handle}``, and :func:`did_document`. Wallets post answers to
        ``{base_url}/v1/oid4vp/response/{handle}``. A session keeps the profile that it was
        made in, whichever verifier takes its answer.

        ``haip`` needs a signer of :meth:`Signer.certified`. ``request_mode`` says how requests of ``draft`` and ``1.0``
        reach wallets; its default is ``jar`` if there is a signer. The next two are for ``1.0``. ``client_id`` is for
        signed requests; its default is ``x509_hash`` if the first signer has a certificate, else ``did``. Without
        ``response_mode``, answers are encrypted if the request is signed. With ``request_uri_method`` links say that
        wallets may POST for the request.

        ``dc_api`` lets pages pass requests to their browser, in all profiles but ``draft``. ``signed`` also includes
        the unsigned request, and ``multisigned`` includes both. Requests are signed under ``client_id``, in ``haip``
        under ``x509_hash``, and multi-signed in ``1.0`` under each identifier that a signer can sign for. Make sessions
        with ``dc_api``: see :meth:`dc_api_requests`.

        Of several signers, the first that fits signs. ``former_signers`` sign only for sessions that were made with
        them.

        ``fetch``: by default the library fetches the status lists and CRLs that credentials name, from public
        addresses. A :class:`Fetcher` of yours can also reach other addresses, and a function of yours replaces the
        fetcher. With ``False`` nothing is fetched, and a credential that needs a list is refused
        (``revocation_unknown``).

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
        """Creates a session from a request, which may also be the body of ``CreateSessionRequest`` in JSON. Commit it
        before you show its link. Trust material and keys for tests are used only with the ``mode`` ``test``.
        ``tenant`` is your name for its owner.

        ``registration`` is a registration certificate. Wallets receive it as ``verifier_info`` if
        :meth:`compare_registration` says so. With ``strict`` a request is refused if it asks for more
        than is registered, or if its certificate has expired.

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
        """The Request Object for a wallet. ``handle`` is the path that the wallet requested, or its last segment.
        For a POST pass ``content_type`` and ``form``, the body; or ``wallet_nonce``, if you read the form yourself.

        :raises NotAnAnswer: there is nothing to fetch, or the form cannot be read; answer with its ``reply``.
        :raises NotAvailable: the signer cannot sign at the moment; answer with its ``reply``.
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
        """The requests that a page passes to ``navigator.credentials.get`` as ``digital``. The request of the session
        must have had ``dc_api``, for example ``{"origins": ["https://shop.example"]}``, with origins of your own whose
        pages may ask.

        :raises NotAnAnswer: the session was made without ``dc_api``, or no longer accepts an answer.
        """
        asked = _checks.instance(session, Session, "session").pointer
        return cast(DcApiRequests, _library.dc_api_requests(self.pointer, asked, now))

    def decide(
        self, session: Session, answer: Answer, store: Store, *, now: datetime | None = None
    ) -> Decision:
        """Decides about a wallet's answer and stores the decision. Then answer the wallet with its ``reply``. Before
        the first fetch of a status list or a CRL it stores a hold, so that no other answer is accepted during that
        time. If anything fails after that, it releases the hold (:meth:`Session.released`), so that the wallet may try
        again.

        :raises NotAnAnswer: the answer changes nothing; answer the wallet with the ``reply`` of the exception.
        :raises NotAvailable: a source could not be asked because of a fault of this machine; answer with its ``reply``.
        """
        with self.begin(session, answer, now=now) as verification:
            return _deciding.decide(verification, store)

    async def decide_async(
        self, session: Session, answer: Answer, store: Store, *, now: datetime | None = None
    ) -> Decision:
        """:meth:`decide` in an event loop: the library works on a thread, and no thread waits for sources. The methods
        of ``store`` may be coroutine functions; other functions run on threads, so that they may also wait. A cancelled
        task waits for a ``commit`` that has begun, and releases the hold."""
        with await asyncio.to_thread(self.begin, session, answer, now=now) as verification:
            return await _deciding.decide_async(verification, store)

    def begin(self, session: Session, answer: Answer, *, now: datetime | None = None) -> Verification:
        """Starts to verify a wallet's answer in steps.

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
