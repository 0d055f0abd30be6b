"""Requests as you write them: the body of ``CreateSessionRequest`` in the interface description.

A type checker finds a key that does not exist:

>>> asked: Request = {
...     "credentials": [{"id": "pid", "format": "dc+sd-jwt", "issuer_id": "https://issuer.example",
...                      "claims": ["birthdate"]}],
... }
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NotRequired, TypedDict

from .codes import Profile, ProfileText

#: The signature algorithm of an issuer.
Alg = Literal["ES256", "ES384", "ES512"]

#: A condition on a disclosed value, a part of JSON Schema.
ClaimFilter = TypedDict(
    "ClaimFilter",
    {
        "type": NotRequired[Any],
        "const": NotRequired[Any],
        "enum": NotRequired[Sequence[Any]],
        "minimum": NotRequired[float],
        "maximum": NotRequired[float],
        "exclusiveMinimum": NotRequired[float],
        "exclusiveMaximum": NotRequired[float],
        "minLength": NotRequired[int],
        "maxLength": NotRequired[int],
        "pattern": NotRequired[str],
        "format": NotRequired[Literal["date"]],
        "formatMinimum": NotRequired[str],
        "formatMaximum": NotRequired[str],
    },
)


class SdJwtVc(TypedDict):
    """An SD-JWT VC that is asked for."""

    #: Both mean the same; results have ``vc+sd-jwt``.
    format: Literal["dc+sd-jwt", "vc+sd-jwt"]
    #: The issuer, by its name in the trust.
    issuer_id: str
    claims: Sequence[str]
    #: Its claims come back under it; without it ``credential_1`` and so on.
    id: NotRequired[str]
    #: Where claims are that are not members of the payload by their name; ``None`` is every element of a list.
    claim_paths: NotRequired[Mapping[str, Sequence[str | None]]]
    #: Conditions, by the name of the claim.
    claim_filters: NotRequired[Mapping[str, ClaimFilter]]
    #: Narrows the issuer's algorithm.
    alg: NotRequired[Alg]
    #: The paths of claims that must be equal within a group.
    subject_claim_paths: NotRequired[Sequence[str]]


class Mdoc(TypedDict):
    """An mdoc that is asked for."""

    format: Literal["mso_mdoc"]
    #: The issuer, by its name in the trust.
    issuer_id: str
    claims: Sequence[str]
    #: Its claims come back under it; without it ``credential_1`` and so on.
    id: NotRequired[str]
    #: Without it the issuer's.
    doc_type: NotRequired[str]
    #: Without it the issuer's.
    namespace: NotRequired[str]
    #: Conditions, by the name of the claim.
    claim_filters: NotRequired[Mapping[str, ClaimFilter]]
    #: Narrows the issuer's algorithm.
    alg: NotRequired[Alg]
    #: The paths of claims that must be equal within a group.
    subject_claim_paths: NotRequired[Sequence[str]]


class EuAge(TypedDict):
    """The European proof that the holder is ``age`` years old or older.

    A request of these alone that names no profile is made as the European age app takes it.
    """

    preset: Literal["eu_age"]
    #: The issuer, by its name in the trust.
    issuer_id: str
    #: From 1 to 99.
    age: int
    #: Its claim comes back under it; without it ``credential_1`` and so on.
    id: NotRequired[str]


class CredentialSet(TypedDict):
    """One of these options must come (OpenID4VP 6.2)."""

    #: Ids of credentials that come together.
    options: Sequence[Sequence[str]]
    #: Without it, true.
    required: NotRequired[bool]


class Pages(TypedDict):
    """The pages that may pass the request to their browser (Digital Credentials API)."""

    #: As browsers write them, for example ``https://shop.example``.
    origins: Sequence[str]
    #: Whether they also get the request of ISO/IEC TS 18013-7 Annex C, where it fits; without it, true.
    iso_mdoc: NotRequired[bool]


class _Common(TypedDict):
    #: The profiles to ask in, each with a request of its own; without them the verifier's first.
    profiles: NotRequired[Sequence[Profile | ProfileText]]
    #: The same for one.
    profile: NotRequired[Profile | ProfileText]
    #: Where the wallet sends the person afterwards.
    redirect_uri: NotRequired[str]
    #: How long a wallet may take; without it 300,000.
    ttl_ms: NotRequired[int]
    #: Whether claims are given only to a browser that comes back with the response code; without it they are where
    #: the session offers ``haip``.
    same_device: NotRequired[bool]
    dc_api: NotRequired[Pages]
    #: The treatment of credentials whose status list cannot be had; without it what their issuers say. ``accept`` is
    #: for issuers of which ``on_unknown_revocation`` is ``tenant``.
    on_unknown_revocation: NotRequired[Literal["refuse", "accept"]]
    #: Texts that the holder agrees to: objects with ``type``, ``credential_ids`` and members of the type
    #: (OpenID4VP 5.1).
    transaction_data: NotRequired[Sequence[Mapping[str, Any]]]


class Request(_Common):
    """A request for these credentials."""

    credentials: Sequence[SdJwtVc | Mdoc | EuAge]
    #: Ids of credentials that must be about the same person.
    same_subject_groups: NotRequired[Sequence[Sequence[str]]]
    #: Which credentials will do; without it all are needed.
    credential_sets: NotRequired[Sequence[CredentialSet]]
    #: Whether every credential must be another one, and not only those that are asked for the same claims.
    distinct_credentials: NotRequired[bool]


class RequestOfIssuer(_Common):
    """A request for the ``default_claims`` of one issuer."""

    issuer_id: str
    format: NotRequired[Literal["dc+sd-jwt", "vc+sd-jwt", "mso_mdoc"]]
