"""Signers of Request Objects, and the documents that publish their keys."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from . import _abi, _checks, _library
from ._checks import Buffer


@dataclass(frozen=True, slots=True)
class Registration:
    """The content of a registration certificate."""

    #: The relying party.
    subject: str
    issued_at: datetime | None
    #: ``None``: it has no end.
    expires_at: datetime | None
    #: Whether the signer's certificate has an organizationIdentifier. It then names the same relying party.
    compared: bool


def generate_signing_key() -> bytes:
    """A fresh P-256 key of 32 bytes for :class:`Signer`. Keep it encrypted.

    >>> sorted(Signer("https://shop.example", generate_signing_key()).public_key())
    ['crv', 'kid', 'kty', 'x', 'y']
    """
    return _library.signing_key()


class Signer(_abi.Handle):
    """Signs Request Objects with a key in memory, or with a function of yours."""

    _free = _library.FREE_SIGNER
    #: The callback for the library. Verifiers may sign after the signer is closed, so they keep it.
    _function: Any = None

    def __init__(self, base_url: str, key: Buffer) -> None:
        """Signs with a key of :func:`generate_signing_key`.

        :raises Misconfigured: the URL or the key cannot be used.
        """
        super().__init__(_library.signer(_checks.text(base_url, "base_url"), _checks.octets(key, "key")))

    @classmethod
    def external(
        cls,
        base_url: str,
        public_key: str | Buffer | Mapping[str, Any],
        sign: Callable[[bytes], bytes],
    ) -> Signer:
        """Signs through ``sign``, for example with an HSM: it takes the input and returns the 64 bytes of
        the raw ES256 signature. ``public_key`` is the key's public JWK.

        :raises Misconfigured: the URL or the key cannot be used.
        """
        if not callable(sign):
            raise TypeError("sign must be a function of bytes that returns bytes")
        key = _checks.json_octets(public_key, "public_key")
        pointer, function = _library.external_signer(_checks.text(base_url, "base_url"), key, sign)
        return cls._of(pointer, function)

    def certified(self, chain: str | Buffer, *, now: datetime | None = None) -> Signer:
        """A signer with the same key and a certificate. It signs only requests that name you by the certificate
        (``x509_san_dns``, ``x509_hash`` and all of ``haip``).

        ``chain``, in PEM or DER: the certificate, then those that lead up from it. The chain is checked for use at
        ``now``.

        :raises Misconfigured: the chain cannot be used.
        """
        chain = _checks.octets(chain, "chain")
        return self._of(_library.certified_signer(self.pointer, chain, now), self._function)

    def check_registration(self, jwt: str, *, now: datetime | None = None) -> Registration:
        """Checks a registration certificate (``rc-wrp+jwt``) for use at ``now`` with the
        certificate of this signer, one of :meth:`certified`: the dates, and that both name the same
        relying party. Wallets verify its signature.

        :raises Misconfigured: it cannot be used.
        """
        told = _library.registration(self.pointer, _checks.text(jwt, "jwt"), now)
        return Registration(
            told["subject"],
            _abi.instant_or_none(told["issued_at_ms"]),
            _abi.instant_or_none(told["expires_at_ms"]),
            told["compared"],
        )

    def public_key(self) -> dict[str, Any]:
        """The public JWK, for publication."""
        told: dict[str, Any] = _library.public_key(self.pointer)
        return told

    @classmethod
    def _of(cls, pointer: Any, function: Any) -> Signer:
        signer = Signer.__new__(Signer)
        _abi.Handle.__init__(signer, pointer)
        signer._function = function
        return signer


def did_document(base_url: str, keys: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The DID document, to be served at ``/.well-known/did.json``. ``keys``: the public JWKs of
    the signer in use and of those that open sessions were made with.

    :raises Misconfigured: the URL or a key cannot be used.
    """
    document: dict[str, Any] = _library.did_document(_checks.text(base_url, "base_url"), _keys(keys))
    return document


def jwks(base_url: str, keys: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The JWK Set of the same keys, to be served at ``/.well-known/jwks.json``.

    :raises Misconfigured: the URL or a key cannot be used.
    """
    document: dict[str, Any] = _library.jwks(_checks.text(base_url, "base_url"), _keys(keys))
    return document


def _keys(keys: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    if isinstance(keys, Mapping) or not isinstance(keys, Iterable):
        raise TypeError("keys must be a list of public JWKs")
    given = list(keys)
    if not all(isinstance(key, Mapping) for key in given):
        raise TypeError("keys must be a list of mappings, each a public JWK")
    return [dict(key) for key in given]
