"""The issuers that you trust, and the verification of one presentation without a session."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Literal

from . import _abi, _checks, _deciding, _library
from .codes import Profile, ProfileText
from .errors import Misconfigured
from .fetcher import Fetch, Fetcher, Fetching
from .issuer import Issuer, ListReport
from .presentation import Presentation
from .request import Alg
from .session import Mode
from .verification import PresentationSteps


class Trust(_abi.Handle):
    """The issuers that you trust. It never changes: to change trust, make a new one, and a new verifier."""

    _free = _library.FREE_TRUST
    def __init__(self, issuers: Iterable[Issuer] = (), *, version: int = 1) -> None:
        """Trusts these issuers; without any it trusts no credential. Sessions record ``version`` when they are decided.

        >>> Trust([Issuer("https://issuer.example", vcts=["urn:eudi:pid:1"], jwk="{}")])
        Traceback (most recent call last):
            ...
        idgate.errors.Misconfigured: https://issuer.example: jwk: has no kty EC

        :raises Misconfigured: something that an issuer was given cannot be used; ``issuer`` and ``field`` name it.
        """
        self._version = _checks.number(version, "version")
        if isinstance(issuers, Issuer):
            raise TypeError("issuers must be a list of Issuer")
        given = [_checks.instance(issuer, Issuer, "each of issuers") for issuer in issuers]
        names: set[str] = set()
        for issuer in given:
            if issuer.id in names:
                text = f"{issuer.id}: id: is given twice; put both into one Issuer"
                raise Misconfigured(text, issuer=issuer.id, field="id")
            names.add(issuer.id)
        pointer, self._lists = _library.trust(given)
        super().__init__(pointer)

    @property
    def lists(self) -> tuple[ListReport, ...]:
        """Reports on the lists of its issuers."""
        return self._lists

    @property
    def version(self) -> int:
        """The number that sessions record when they are decided."""
        return self._version

    def verify(
        self,
        vp_token: str,
        *,
        format: Literal["dc+sd-jwt", "vc+sd-jwt", "mso_mdoc"],
        issuer_id: str,
        client_id: str,
        nonce: str,
        claims: Sequence[str] = (),
        claim_paths: Mapping[str, Sequence[str | None]] | None = None,
        sent_at: datetime | None = None,
        doc_type: str | None = None,
        namespace: str | None = None,
        response_uri: str | None = None,
        origin: str | None = None,
        profile: Profile | ProfileText = "1.0",
        enc_key: Mapping[str, Any] | None = None,
        apu: str | None = None,
        alg: Alg | None = None,
        mode: Mode = "live",
        checks: bool = False,
        fetch: bool | Fetcher | Fetch = True,
        now: datetime | None = None,
    ) -> Presentation:
        """Verifies one presentation of a ``vp_token``, without a session: the text of an SD-JWT VC with its key binding
        JWT, or a DeviceResponse in base64url.

        ``client_id`` and ``nonce`` must equal what you sent. You have to check that the nonce was not used before. The
        key binding JWT of an SD-JWT VC must not be older than ``sent_at``. ``claims`` must be there, and only these are
        returned. ``claim_paths`` has the paths of claims that are not members of the payload by their name.

        An mdoc needs ``doc_type``, ``namespace`` and how the answer came: ``response_uri``, or the ``origin`` of the
        page whose browser received it. ``profile`` is that of the request. For an encrypted answer, ``enc_key`` is the
        JWK that it was encrypted to; in ``draft`` also pass the ``apu`` of its header.

        With ``checks`` the presentation also lists every check that was made, for records.

        ``fetch`` says how the status lists and CRLs of the credential are fetched: see :class:`Verifier`. With
        ``False`` a credential that publishes its status is refused, unless the issuer's ``revocation`` is ``off``.

        >>> trust = Trust([Issuer("https://issuer.example", vcts=["urn:eudi:pid:1"])])
        >>> try:
        ...     trust.verify("ey…", format="dc+sd-jwt", issuer_id="https://issuer.example",
        ...                  client_id="redirect_uri:https://shop.example/answer", nonce="used once")
        ... except Refused as refused:
        ...     print(refused.reason, refused.clause)
        malformed_presentation RFC 9901 4

        :raises Refused: ``reason`` says why, and ``clause`` names the rule.
        :raises NotAvailable: a source could not be asked because of a fault of this machine.
        """
        expected = _expected(
            format=format, issuer_id=issuer_id, client_id=client_id, nonce=nonce, claims=claims,
            claim_paths=claim_paths, sent_at=sent_at, doc_type=doc_type, namespace=namespace,
            response_uri=response_uri, origin=origin, profile=profile, enc_key=enc_key, apu=apu, alg=alg,
            mode=mode, checks=checks,
        )  # fmt: skip
        with self._begin(vp_token, expected, fetch, now) as steps:
            return _deciding.verify(steps)

    async def verify_async(
        self,
        vp_token: str,
        *,
        format: Literal["dc+sd-jwt", "vc+sd-jwt", "mso_mdoc"],
        issuer_id: str,
        client_id: str,
        nonce: str,
        claims: Sequence[str] = (),
        claim_paths: Mapping[str, Sequence[str | None]] | None = None,
        sent_at: datetime | None = None,
        doc_type: str | None = None,
        namespace: str | None = None,
        response_uri: str | None = None,
        origin: str | None = None,
        profile: Profile | ProfileText = "1.0",
        enc_key: Mapping[str, Any] | None = None,
        apu: str | None = None,
        alg: Alg | None = None,
        mode: Mode = "live",
        checks: bool = False,
        fetch: bool | Fetcher | Fetch = True,
        now: datetime | None = None,
    ) -> Presentation:
        """:meth:`verify` in an event loop: the library works on a thread, and no thread waits for sources."""
        expected = _expected(
            format=format, issuer_id=issuer_id, client_id=client_id, nonce=nonce, claims=claims,
            claim_paths=claim_paths, sent_at=sent_at, doc_type=doc_type, namespace=namespace,
            response_uri=response_uri, origin=origin, profile=profile, enc_key=enc_key, apu=apu, alg=alg,
            mode=mode, checks=checks,
        )  # fmt: skip
        with await asyncio.to_thread(self._begin, vp_token, expected, fetch, now) as steps:
            return await _deciding.verify_async(steps)

    def _begin(
        self, vp_token: str, expected: dict[str, Any], fetch: bool | Fetcher | Fetch, now: datetime | None
    ) -> PresentationSteps:
        fetching = Fetching(fetch)
        token = _checks.text(vp_token, "vp_token")
        return PresentationSteps(_library.begin_presentation(self.pointer, token, expected, now), fetching, now)


def _expected(
    *,
    format: Any,
    profile: Any,
    mode: Any,
    claims: Any,
    claim_paths: Any,
    sent_at: Any,
    enc_key: Any,
    alg: Any,
    checks: Any,
    **texts: Any,
) -> dict[str, Any]:
    """The expectation in the library's form."""
    formats, profiles = _library.FORMATS, _library.PROFILES
    expected: dict[str, Any] = {
        "format": formats[_checks.one_of(format, formats, "format")],
        "profile": profiles[_checks.one_of(profile, profiles, "profile")],
        "mode": _library.MODES[_checks.one_of(mode, _library.MODES, "mode")],
        "claims": _checks.texts(claims, "claims"),
        "claim_paths": json.dumps(_checks.paths(claim_paths, "claim_paths")) if claim_paths else None,
        "sent_at_ms": None if sent_at is None else _abi.millis(_checks.moment(sent_at, "sent_at")),
        "checks": _checks.flag(checks, "checks"),
        "alg": None if alg is None else _checks.one_of(alg, ("ES256", "ES384", "ES512"), "alg"),
        "enc_key": None if enc_key is None else _checks.json_octets(enc_key, "enc_key"),
    }
    for name in ("issuer_id", "client_id", "nonce"):
        expected[name] = _checks.text(texts.pop(name), name)
    expected |= {name: _checks.optional_text(value, name) for name, value in texts.items()}
    if format == "mso_mdoc":
        _fits_mdoc(**expected)
    expected["name_space"] = expected.pop("namespace")
    return expected


def _fits_mdoc(
    doc_type: str | None, namespace: str | None, response_uri: str | None, origin: str | None, **_: Any
) -> None:
    if doc_type is None or namespace is None:
        raise TypeError("verify needs doc_type and namespace for an mdoc")
    if (response_uri is None) == (origin is None):
        raise TypeError("verify needs either response_uri or origin for an mdoc, not both")
