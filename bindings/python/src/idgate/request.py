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
    """A requested SD-JWT VC."""

    #: Both mean the same; results say ``vc+sd-jwt``.
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
    """A requested mdoc."""

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

    A request with only these credentials and without a profile has the form that the European age app accepts.
    """

    preset: Literal["eu_age"]
    #: The issuer, by its name in the trust.
    issuer_id: str
    #: From 1 to 99.
    age: int
    #: Its claim comes back under it; without it ``credential_1`` and so on.
    id: NotRequired[str]


class CredentialSet(TypedDict):
    """One of these options must be presented (OpenID4VP 6.2)."""

    #: Ids of credentials that are presented together.
    options: Sequence[Sequence[str]]
    #: Default: true.
    required: NotRequired[bool]


class Pages(TypedDict):
    """The pages that may pass the request to their browser (Digital Credentials API)."""

    #: As browsers write them, for example ``https://shop.example``.
    origins: Sequence[str]
    #: Whether they also get the request of ISO/IEC TS 18013-7 Annex C, if it fits. Default: true.
    iso_mdoc: NotRequired[bool]


class _Common(TypedDict):
    #: The profiles to ask in, each with a request of its own. Default: the verifier's first.
    profiles: NotRequired[Sequence[Profile | ProfileText]]
    #: The same for a single profile.
    profile: NotRequired[Profile | ProfileText]
    #: Where the wallet sends the person afterwards.
    redirect_uri: NotRequired[str]
    #: How long a wallet may take. Default: 300,000.
    ttl_ms: NotRequired[int]
    #: Whether only a browser that returns with the response code gets the claims. Default: true if the session offers
    #: ``haip``.
    same_device: NotRequired[bool]
    dc_api: NotRequired[Pages]
    #: What to do with credentials whose status list cannot be fetched. Default: what their issuers say. ``accept`` is
    #: for issuers whose ``on_unknown_revocation`` is ``tenant``.
    on_unknown_revocation: NotRequired[Literal["refuse", "accept"]]
    #: Texts that the holder agrees to: objects with ``type``, ``credential_ids`` and members of the type
    #: (OpenID4VP 5.1).
    transaction_data: NotRequired[Sequence[Mapping[str, Any]]]


class Request(_Common):
    """A request for these credentials."""

    credentials: Sequence[SdJwtVc | Mdoc | EuAge]
    #: Ids of credentials that must be about the same person.
    same_subject_groups: NotRequired[Sequence[Sequence[str]]]
    #: Which combinations of credentials are enough. Default: all are needed.
    credential_sets: NotRequired[Sequence[CredentialSet]]
    #: Whether all presented credentials must differ, and not only those that are asked for the same claims.
    distinct_credentials: NotRequired[bool]


class RequestOfIssuer(_Common):
    """A request for the ``default_claims`` of one issuer."""

    issuer_id: str
    format: NotRequired[Literal["dc+sd-jwt", "vc+sd-jwt", "mso_mdoc"]]
