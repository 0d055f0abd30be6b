"""Who is trusted, for what."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, NotRequired, TypedDict

from idgate._native import ffi, lib

from . import _abi
from ._abi import Buffer
from .errors import Refused  # noqa: F401  the example of `verify` has it

Revocation = Literal["if_published", "required", "off"]
Format = Literal["vc+sd-jwt", "mso_mdoc"]


class ListedCertificate(TypedDict):
    """What became of one certificate of a list."""

    sha256: str
    subject: str
    country: str | None
    key: str
    expired: bool
    skipped_because: str | None


class ListedProvider(TypedDict):
    """A provider of a trusted list."""

    name: str
    identifier: str | None
    country: str | None


class TrustedList(TypedDict):
    """What a European trusted list says."""

    list_type: Literal["pid", "mdl", "pub-eaa"]
    sequence: int
    issued_at_ms: int
    #: From then on it vouches for nobody.
    next_update_ms: int
    organization: str | None
    providers: list[ListedProvider]
    certificates: list[ListedCertificate]


class Check(TypedDict):
    """One check that was made, with the clause that demands it."""

    group: str
    check: str
    clause: str
    passed: bool


class RevocationDetails(TypedDict):
    """How revocation was settled: ``good``, ``not_published`` or ``off``, of each apart."""

    credential: str
    #: Of the certificate that signed it; a bare key publishes nothing.
    signer: str


class Provider(TypedDict):
    """Whom a trusted list says that the issuer is: one provider, or those that it may be."""

    name: NotRequired[str]
    identifier: NotRequired[str | None]
    country: NotRequired[str | None]
    #: In the place of the three.
    candidates: NotRequired[list[ListedProvider]]
    list_type: Literal["pid", "mdl", "pub-eaa"]
    list_sequence: int


class Presentation(TypedDict):
    """A presentation that passed every check: the claims asked for, and what is known beside."""

    claims: dict[str, Any]
    credential_type: str
    issuer: str | None
    alg: str
    holder_binding: str
    trust: str
    #: There when a trusted list vouches for the issuer.
    provider: NotRequired[Provider]
    session_transcript: str | None
    valid_from: datetime | None
    valid_until: datetime | None
    revocation: str
    revocation_details: RevocationDetails
    #: There, and true, when the entry's ``issuing_country_unbound`` was made use of.
    issuing_country_unbound: NotRequired[bool]
    #: When they were asked for.
    checks: NotRequired[list[Check]]


class Trust(_abi.Handle):
    """A collection of trust entries; an empty one trusts nobody."""

    _free = lib.idgate_trust_free

    def __init__(self) -> None:
        super().__init__(_abi.make("idgate_trust *", lib.idgate_trust_new))

    def add_issuer(
        self,
        issuer_id: str,
        *,
        iss: str | None = None,
        vct: Sequence[str] = (),
        doc_types: Sequence[str] = (),
        namespaces: Sequence[str] = (),
        claims: Sequence[str] = (),
        countries: Sequence[str] = (),
        ekus: Sequence[str] | None = None,
        sd_jwt_ekus: Sequence[str] = (),
        revocation: Revocation = "if_published",
        status_max_age_days: int = 7,
        issuing_country_unbound: bool = False,
        claim_paths: Mapping[str, Sequence[str | None]] | None = None,
        aki: bool = False,
        device_response_documents: Literal["one", "any"] = "one",
    ) -> None:
        """Adds an entry without material, or replaces the entry of that name.

        The certificate of an SD-JWT VC issuer must have one of ``sd_jwt_ekus``; without them any will
        do, but one that is for other things alone, as serverAuth.
        A status list token without ``exp`` counts for ``status_max_age_days``. With
        ``issuing_country_unbound``, test-mode sessions take an mDL whose issuing_country is not its
        signer's, and say so. The last three are for the profiles 1.0 and haip: where claims of an
        SD-JWT VC stand, whether queries name the roots, and how many documents a DeviceResponse may
        have.
        """
        entry: dict[str, Any] = {
            "issuer_id": issuer_id,
            "iss": iss,
            "vct": list(vct),
            "doc_types": list(doc_types),
            "namespaces": list(namespaces),
            "claims": list(claims),
            "countries": list(countries),
            "sd_jwt_ekus": list(sd_jwt_ekus),
            "revocation": revocation,
            "status_max_age_days": status_max_age_days,
            "issuing_country_unbound": issuing_country_unbound,
            "claim_paths": {name: list(path) for name, path in (claim_paths or {}).items()},
            "aki": aki,
            "device_response_documents": device_response_documents,
        }
        if ekus is not None:
            entry["ekus"] = list(ekus)
        _abi.call(lib.idgate_trust_add_entry, self._pointer, *_abi.data(_abi.as_json(entry)))

    def add_jwk(
        self, issuer_id: str, jwk: str | Buffer | Mapping[str, Any], *, test_only: bool = False
    ) -> None:
        """Adds the public keys of an SD-JWT VC issuer: a JWK or a JWK Set."""
        self._add(issuer_id, lib.IDGATE_JWK, _abi.as_json(jwk), test_only)

    def add_public_key(self, issuer_id: str, pem: str | Buffer, *, test_only: bool = False) -> None:
        """Adds the public key of an SD-JWT VC issuer in PEM."""
        self._add(issuer_id, lib.IDGATE_PUBLIC_KEY, pem, test_only)

    def add_roots(self, issuer_id: str, file: str | Buffer, *, test_only: bool = False) -> None:
        """Adds X.509 roots of mdoc issuers, PEM or DER, one or many."""
        self._add(issuer_id, lib.IDGATE_ROOT, file, test_only)

    def add_status_roots(
        self, issuer_id: str, file: str | Buffer, *, test_only: bool = False
    ) -> None:
        """Adds X.509 roots below which status lists may be signed, PEM or DER, one or many.

        They stand beside the root that vouched for a credential, and vouch for nothing else.
        """
        self._add(issuer_id, lib.IDGATE_STATUS_ROOT, file, test_only)

    def add_sd_jwt_roots(
        self, issuer_id: str, file: str | Buffer, *, test_only: bool = False
    ) -> None:
        """Adds X.509 roots of SD-JWT VC issuers whose certificates come in ``x5c``.

        PEM or DER, one or many. They vouch for no mdoc, and those of mdocs for no SD-JWT VC.
        """
        self._add(issuer_id, lib.IDGATE_SD_JWT_ROOT, file, test_only)

    def add_sd_jwt_signers(
        self, issuer_id: str, file: str | Buffer, *, test_only: bool = False
    ) -> None:
        """Adds certificates of SD-JWT VC issuers that are trusted without a root, PEM or DER."""
        self._add(issuer_id, lib.IDGATE_SD_JWT_SIGNER, file, test_only)

    def add_pinned_signers(
        self, issuer_id: str, file: str | Buffer, *, test_only: bool = False
    ) -> None:
        """Adds mdoc document signers that are trusted without a root, PEM or DER."""
        self._add(issuer_id, lib.IDGATE_PINNED_SIGNER, file, test_only)

    def add_crls(self, issuer_id: str, file: str | Buffer) -> None:
        """Adds CRLs of roots that were added before, PEM or DER. They replace the fetch."""
        self._add(issuer_id, lib.IDGATE_CRL, file)

    def add_master_list(
        self,
        issuer_id: str,
        file: Buffer,
        *,
        signer_ca: str | Buffer | None = None,
        test_only: bool = False,
        now: datetime | None = None,
    ) -> list[ListedCertificate]:
        """Adds the roots of an ICAO Master List, whose signer ``signer_ca`` vouches for."""
        listed: list[ListedCertificate] = self._add(
            issuer_id, lib.IDGATE_MASTER_LIST, file, test_only, signer_ca, now
        )
        return listed

    def add_vical(
        self,
        issuer_id: str,
        file: Buffer,
        *,
        signer_ca: str | Buffer | None = None,
        test_only: bool = False,
        allow_stale: bool = False,
        now: datetime | None = None,
    ) -> list[ListedCertificate]:
        """Adds the roots of a VICAL, whose signer ``signer_ca`` vouches for."""
        listed: list[ListedCertificate] = self._add(
            issuer_id, lib.IDGATE_VICAL, file, test_only, signer_ca, now, allow_stale
        )
        return listed

    def add_trusted_list(
        self,
        issuer_id: str,
        file: str | Buffer,
        *,
        signer_ca: str | Buffer | None = None,
        test_only: bool = False,
        allow_stale: bool = False,
        now: datetime | None = None,
    ) -> TrustedList:
        """Takes a European trusted list (ETSI TS 119 602, JSON), in place of the one before.

        ``signer_ca`` vouches for its signer, or is the signer itself. From ``next_update_ms`` on the
        list vouches for nobody. One that is older than one that was taken before is refused, and so is
        one of another type, or below a CA signed for another organization: remember ``list_type``,
        ``organization`` and ``sequence``, and hold a list to them after a restart.
        """
        listed: TrustedList = self._add(
            issuer_id, lib.IDGATE_TRUSTED_LIST, file, test_only, signer_ca, now, allow_stale
        )
        return listed

    def verify(
        self,
        presentation: str,
        *,
        format: Format,
        issuer_id: str,
        client_id: str,
        nonce: str,
        claims: Sequence[str] = (),
        response_uri: str | None = None,
        doc_type: str | None = None,
        namespace: str | None = None,
        enc_key: Mapping[str, str] | None = None,
        apu: str | None = None,
        alg: str | None = None,
        livemode: bool = True,
        requested_at: datetime | None = None,
        checks: bool = False,
        now: datetime | None = None,
    ) -> Presentation:
        """Verifies one presentation as it stands in ``vp_token``, without a session.

        ``client_id`` and ``nonce`` are compared as they were sent; whether the nonce was used
        before is yours to know. An mdoc needs ``response_uri``, ``doc_type`` and ``namespace``,
        and in an encrypted answer ``enc_key``, the JWK that it was encrypted to, or ``apu``.
        With ``checks``, what was checked is told too, for records.

        >>> trust = Trust()
        >>> trust.add_issuer("https://issuer.example", vct=["urn:eudi:pid:1"])
        >>> try:
        ...     trust.verify("ey…", format="vc+sd-jwt", issuer_id="https://issuer.example",
        ...                  client_id="redirect_uri:https://shop.example/answer", nonce="used once")
        ... except Refused as refused:
        ...     print(refused.code, refused.clause)
        malformed_presentation RFC 9901 4

        :raises Refused: ``code`` says why, and ``clause`` which rule demands it.
        """
        expected: dict[str, Any] = {
            "format": format,
            "issuer_id": issuer_id,
            "client_id": client_id,
            "nonce": nonce,
            "claims": list(claims),
            "response_uri": response_uri,
            "doc_type": doc_type,
            "namespace": namespace,
            "enc_key": None if enc_key is None else dict(enc_key),
            "apu": apu,
            "alg": alg,
            "livemode": livemode,
            "checks": checks,
        }
        if requested_at is not None:
            expected["requested_at_ms"] = _abi.millis(requested_at)
        out = ffi.new("idgate_bytes *")
        _abi.call(
            lib.idgate_verify_presentation,
            self._pointer,
            *_abi.data(_abi.as_json(expected)),
            *_abi.data(presentation),
            _abi.millis(now),
            out,
        )
        verified = _abi.take_json(out[0])
        verified["valid_from"] = _abi.instant_or_none(verified.pop("valid_from_ms"))
        verified["valid_until"] = _abi.instant_or_none(verified.pop("valid_until_ms"))
        result: Presentation = verified
        return result

    async def verify_async(self, presentation: str, **expected: Any) -> Presentation:
        """:meth:`verify` in an event loop: the library works on a thread."""
        return await asyncio.to_thread(self.verify, presentation, **expected)

    def _add(
        self,
        issuer_id: str,
        material: int,
        file: str | Buffer,
        test_only: bool = False,
        signer_ca: str | Buffer | None = None,
        now: datetime | None = None,
        allow_stale: bool = False,
    ) -> Any:
        flags = (lib.IDGATE_TEST_ONLY if test_only else 0) | (
            lib.IDGATE_ALLOW_STALE if allow_stale else 0
        )
        report = ffi.new("idgate_bytes *")
        _abi.call(
            lib.idgate_trust_add,
            self._pointer,
            *_abi.data(issuer_id),
            material,
            *_abi.data(file),
            *_abi.data(signer_ca),
            flags,
            _abi.millis(now),
            report,
        )
        return _abi.take_json(report[0])
