"""Issuers and their trust material, for :class:`Trust`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Literal

from . import _checks
from ._checks import Buffer
from .errors import Misconfigured

#: The rule for revocation: a published status must be good; there must be a status; or it is not checked.
Revocation = Literal["if_published", "required", "off"]

#: Whether a credential is accepted when its status list cannot be fetched.
OnUnknownRevocation = Literal["refuse", "accept", "tenant"]

#: The content of a file, in PEM or DER.
Material = str | Buffer

#: One or several of these.
Materials = Material | Sequence[Material]

#: The arguments of an issuer that take the content of files, in the order in which they are read.
MATERIAL: Final = (
    "jwk",
    "public_key_pem",
    "iaca_roots",
    "mdoc_signers",
    "x5c_roots",
    "x5c_signers",
    "status_roots",
    "vical",
    "master_list",
    "trusted_list",
    "crls",
)
_MAX_DAYS: Final = 3650
LISTS: Final = ("vical", "master_list", "trusted_list")


class ListFile(_checks.Frozen):
    """A VICAL, an ICAO Master List or a European trusted list, and the rules for its import."""

    __slots__ = ("allow_stale", "content", "now", "signed_below")

    content: bytes
    signed_below: bytes | None
    allow_stale: bool
    now: datetime | None

    def __init__(
        self,
        content: Material,
        *,
        signed_below: Material | None = None,
        allow_stale: bool = False,
        now: datetime | None = None,
    ) -> None:
        """``signed_below`` is the CA below which the signer must be; for a trusted list also the signer itself. Without
        it anyone could have made the list, so the list is accepted only for a ``test_only`` issuer. ``allow_stale``
        accepts the list although a newer one is due. The list is read at ``now``.
        """
        self._set(
            content=_checks.octets(content, "content"),
            signed_below=None if signed_below is None else _checks.octets(signed_below, "signed_below"),
            allow_stale=_checks.flag(allow_stale, "allow_stale"),
            now=None if now is None else _checks.moment(now),
        )

    def __repr__(self) -> str:
        return f"ListFile({len(self.content)} bytes)"


@dataclass(frozen=True, slots=True)
class SkippedCertificate:
    """A certificate of a list that cannot be used."""

    #: RFC 4514.
    subject: str
    why: str


@dataclass(frozen=True, slots=True)
class ListReport:
    """A report on a list that an issuer was given."""

    issuer: str
    #: The argument that contained it.
    field: Literal["vical", "master_list", "trusted_list"]
    #: How many of its certificates are used.
    taken: int
    skipped: tuple[SkippedCertificate, ...]
    #: When a newer trusted list is due. This one is no longer valid from then on.
    next_update: datetime | None = None
    #: For a trusted list, like the next two. Keep them, and compare them with the next list of the issuer: it must have
    #: the same type and organization, and must not be older.
    list_type: Literal["pid", "mdl", "pub-eaa"] | None = None
    sequence: int | None = None
    #: The organization of its signer.
    organization: str | None = None


class Issuer(_checks.Frozen):
    """One issuer that you trust: which credentials it may issue, and the keys and certificates that they are
    verified with.

    >>> dmv = Issuer("https://dmv.example", doc_types=["org.iso.18013.5.1.mDL"])
    >>> dmv.id
    'https://dmv.example'
    """

    __slots__ = ("entry", "id", "material", "test_only")

    #: The name that requests use for it.
    id: str
    entry: dict[str, Any]
    material: tuple[tuple[str, int | None, bytes | ListFile], ...]
    test_only: bool

    def __init__(
        self,
        id: str,
        *,
        jwk: Material | Mapping[str, Any] | Sequence[Material | Mapping[str, Any]] = (),
        public_key_pem: Materials = (),
        iaca_roots: Materials = (),
        mdoc_signers: Materials = (),
        x5c_roots: Materials = (),
        x5c_signers: Materials = (),
        status_roots: Materials = (),
        crls: Materials = (),
        vical: ListFile | Sequence[ListFile] = (),
        master_list: ListFile | Sequence[ListFile] = (),
        trusted_list: ListFile | Sequence[ListFile] = (),
        vcts: Sequence[str] = (),
        doc_types: Sequence[str] = (),
        namespaces: Sequence[str] = (),
        claim_paths: Mapping[str, Sequence[str | None]] | None = None,
        default_claims: Sequence[str] = (),
        iss: str | None = None,
        any_iss: bool = False,
        countries: Sequence[str] = (),
        mdoc_ekus: Sequence[str] = (),
        x5c_ekus: Sequence[str] = (),
        revocation: Revocation = "if_published",
        on_unknown_revocation: OnUnknownRevocation = "refuse",
        status_max_age_days: int = 7,
        named_in_queries: bool = False,
        trusted_list_urls: Sequence[str] = (),
        device_response_documents: Literal["one", "any"] = "one",
        issuing_country_unbound: bool = False,
        test_only: bool = False,
    ) -> None:
        """``id`` is the name that requests use for the issuer. If it is a URL or a DID, the ``iss`` of a credential
        must equal it, or the text that you pass as ``iss``. With ``any_iss`` the ``iss`` is not compared.

        Keys and certificates, each the content of a file or a sequence of them:

        * ``jwk``, ``public_key_pem``: the public keys of an SD-JWT VC issuer: a JWK or a JWK Set, or PEM;
        * ``iaca_roots``: X.509 roots of mdoc document signers (ISO/IEC 18013-5 B.1), and ``mdoc_signers``:
          certificates of document signers that are trusted without a root;
        * ``x5c_roots``: X.509 roots of SD-JWT VC issuers that sign with the certificates in ``x5c``, and
          ``x5c_signers``: certificates that are trusted without a root;
        * ``status_roots``: roots below which status lists may be signed, in addition to the one of the credential;
        * ``crls``: CRLs of these roots. They replace the fetch;
        * ``vical``, ``master_list``, ``trusted_list``: lists of certificates.

        Credentials that it may issue:

        * ``vcts``, ``doc_types``: the types that are accepted; without any, all;
        * ``namespaces``: mdoc namespaces that a request may leave unnamed;
        * ``claim_paths``: where claims of its SD-JWT VCs are that are not members of the payload by their name, for
          example ``{"city": ["address", "locality"]}``; ``None`` is every element of a list;
        * ``default_claims``: the claims of a request that names only this issuer;
        * ``countries``: countryName of the roots that are used; without any, all;
        * ``mdoc_ekus``, ``x5c_ekus``: object identifiers of extended key usages of which a document signer, or the
          certificate of an SD-JWT VC issuer, must have one. ``mdoc_ekus`` replace that of the mDL.

        How credentials are checked and asked for:

        * ``on_unknown_revocation``: what to do with a credential whose status list cannot be fetched: ``refuse``,
          ``accept``, or ``tenant``, with which the session's request decides. Not with the revocation ``required``;
        * ``status_max_age_days``: how long a status list without ``exp`` counts after its ``iat``;
        * ``named_in_queries``: queries name the key identifiers of its roots, and ``trusted_list_urls`` these lists
          (OpenID4VP 6.1.1);
        * ``device_response_documents``: how many documents the DeviceResponse of an mdoc may have, in ``1.0`` and
          ``haip``;
        * ``issuing_country_unbound``: test-mode sessions accept an mDL whose issuing_country is not its signer's;
        * ``test_only``: all its material is used only in test-mode sessions.
        """
        entry = {
            "issuer_id": _checks.text(id, "id"),
            "iss": _checks.optional_text(iss, "iss"),
            "any_iss": _checks.flag(any_iss, "any_iss"),
            "vct": _checks.texts(vcts, "vcts"),
            "doc_types": _checks.texts(doc_types, "doc_types"),
            "namespaces": _checks.texts(namespaces, "namespaces"),
            "claim_paths": _checks.paths(claim_paths or {}, "claim_paths"),
            "default_claims": _checks.texts(default_claims, "default_claims"),
            "countries": _checks.texts(countries, "countries"),
            "mdoc_ekus": _checks.texts(mdoc_ekus, "mdoc_ekus"),
            "x5c_ekus": _checks.texts(x5c_ekus, "x5c_ekus"),
            "revocation": _choice(id, "revocation", revocation, ("if_published", "required", "off")),
            "on_unknown_revocation": _choice(
                id, "on_unknown_revocation", on_unknown_revocation, ("refuse", "accept", "tenant")
            ),
            "status_max_age_days": _days(id, _checks.number(status_max_age_days, "status_max_age_days")),
            "named_in_queries": _checks.flag(named_in_queries, "named_in_queries"),
            "trusted_list_urls": _checks.texts(trusted_list_urls, "trusted_list_urls"),
            "device_response_documents": _choice(
                id, "device_response_documents", device_response_documents, ("one", "any")
            ),
            "issuing_country_unbound": _checks.flag(issuing_country_unbound, "issuing_country_unbound"),
        }
        given = {
            "jwk": jwk,
            "public_key_pem": public_key_pem,
            "iaca_roots": iaca_roots,
            "mdoc_signers": mdoc_signers,
            "x5c_roots": x5c_roots,
            "x5c_signers": x5c_signers,
            "status_roots": status_roots,
            "vical": vical,
            "master_list": master_list,
            "trusted_list": trusted_list,
            "crls": crls,
        }
        material = tuple(part for field in MATERIAL for part in _parts(field, given[field]))
        self._set(id=id, entry=entry, material=material, test_only=_checks.flag(test_only, "test_only"))

    def __repr__(self) -> str:
        return f"Issuer({self.id!r}, {len(self.material)} of material)"


def _wrong(issuer: str, field: str, why: str) -> Misconfigured:
    return Misconfigured(f"{issuer}: {field}: {why}", issuer=issuer, field=field)


def _choice(issuer: str, field: str, value: Any, choices: Sequence[str]) -> str:
    if value not in choices:
        raise _wrong(issuer, field, f"must be one of {', '.join(choices)}")
    return str(value)


def _days(issuer: str, days: int) -> int:
    if not 1 <= days <= _MAX_DAYS:
        raise _wrong(issuer, "status_max_age_days", f"must be from 1 to {_MAX_DAYS}")
    return days


def _parts(field: str, value: Any) -> Iterable[tuple[str, int | None, bytes | ListFile]]:
    """The contents of that argument, each with its index if there are several."""
    contents: Sequence[bytes | ListFile]
    if field in LISTS:
        files = [value] if isinstance(value, ListFile) or not _is_sequence(value) else list(value)
        contents = [_checks.instance(file, ListFile, field) for file in files]
    elif field == "jwk":
        keys = list(value) if _is_sequence(value) else [value]
        contents = [_checks.json_octets(key, field) for key in keys]
    else:
        contents = _materials(value, field)
    several = len(contents) > 1
    return [(field, at if several else None, content) for at, content in enumerate(contents)]


def _materials(value: Any, name: str) -> list[bytes]:
    if not _is_sequence(value):
        return [_checks.octets(value, name)]
    return [_checks.octets(one, f"{name}[{at}]") for at, one in enumerate(value)]


def _is_sequence(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, (str, bytes, bytearray, memoryview))
