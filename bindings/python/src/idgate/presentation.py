"""The result of one presentation without a session."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, TypeVar

from . import _abi, _claims

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Check:
    """One check that was made, with the clause that demands it."""

    group: str
    check: str
    clause: str
    passed: bool


@dataclass(frozen=True, slots=True)
class RevocationDetails:
    """The outcome for revocation: ``good``, ``not_published``, ``off``, or, only for a credential, ``unknown``."""

    credential: str
    #: For the certificate that signed the credential; a bare key publishes nothing.
    signer: str


@dataclass(frozen=True, slots=True)
class ListedProvider:
    """A provider of a trusted list."""

    name: str
    identifier: str | None
    country: str | None


@dataclass(frozen=True, slots=True)
class Provider:
    """The issuer in a trusted list: one provider, or several if the list gives the same certificate to them."""

    candidates: tuple[ListedProvider, ...]
    list_type: Literal["pid", "mdl", "pub-eaa", "av", "qeaa"]
    list_sequence: int

    @classmethod
    def of(cls, told: dict[str, Any]) -> Provider:
        """From what the library says."""
        candidates = told.get("candidates") or [told]
        listed = tuple(ListedProvider(it["name"], it["identifier"], it["country"]) for it in candidates)
        return cls(listed, told["list_type"], told["list_sequence"])


@dataclass(frozen=True, slots=True)
class Presentation:
    """A presentation that passed every check: the requested claims, and facts about the credential."""

    claims: dict[str, Any] = field(repr=False)
    #: vct or docType.
    credential_type: str
    #: ``iss``, or the subject of a certificate (RFC 4514).
    issuer: str | None
    alg: str
    #: ``kb_jwt``, ``device_signature`` or ``device_mac``.
    holder_binding: str
    #: The reason for trust: ``issuer_key``, ``x5chain``, ``pinned_signer`` or ``listed_signer``.
    trust: str
    #: From a trusted list.
    provider: Provider | None
    #: For an mdoc.
    session_transcript: str | None
    valid_from: datetime | None
    valid_until: datetime | None
    #: ``good``, ``signer_good``, ``not_published``, ``off`` or ``unknown``.
    revocation: str
    revocation_details: RevocationDetails
    #: Whether ``issuing_country_unbound`` of the issuer was applied.
    issuing_country_unbound: bool
    #: OIDs of extensions of the signer's certificate that cannot be read and were tolerated.
    tolerated: tuple[str, ...]
    #: Every check that was made, if you asked for them; all of them passed.
    checks: tuple[Check, ...] = field(repr=False)

    def claims_as(self, kind: type[T]) -> T:
        """The claims as that dataclass, TypedDict or pydantic model.

        :raises ClaimsError: the claims do not fit ``kind``.
        """
        return _claims.read(self.claims, kind)

    @classmethod
    def of(cls, told: dict[str, Any]) -> Presentation:
        """From what the library says."""
        provider = told.get("provider")
        return cls(
            claims=told["claims"],
            credential_type=told["credential_type"],
            issuer=told["issuer"],
            alg=told["alg"],
            holder_binding=told["holder_binding"],
            trust=told["trust"],
            provider=Provider.of(provider) if provider else None,
            session_transcript=told["session_transcript"],
            valid_from=_abi.instant_or_none(told["valid_from_ms"]),
            valid_until=_abi.instant_or_none(told["valid_until_ms"]),
            revocation=told["revocation"],
            revocation_details=RevocationDetails(**told["revocation_details"]),
            issuing_country_unbound=bool(told.get("issuing_country_unbound")),
            tolerated=tuple(told.get("tolerated", ())),
            checks=tuple(Check(**check) for check in told.get("checks", ())),
        )
