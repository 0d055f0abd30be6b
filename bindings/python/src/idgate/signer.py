"""Who signs Request Objects, and what is published about it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from idgate._native import ffi, lib

from . import _abi
from ._abi import Buffer


@dataclass(frozen=True)
class Registration:
    """What a registration certificate says of itself."""

    #: The party.
    subject: str
    issued_at: datetime | None
    #: ``None``: it does not say.
    expires_at: datetime | None
    #: Whether the signer's certificate has an organizationIdentifier, which is the party then.
    compared: bool


def generate_signing_key() -> bytes:
    """A fresh P-256 key, 32 bytes. Keep it sealed; :class:`Signer` takes it.

    >>> sorted(Signer("https://shop.example", generate_signing_key()).public_key())
    ['crv', 'kid', 'kty', 'x', 'y']
    """
    return _abi.make_bytes(lib.idgate_signing_key_generate)


class Signer(_abi.Handle):
    """Signs Request Objects: a key in memory, or a function of yours."""

    _free = lib.idgate_signer_free
    #: What the library calls. Verifiers may sign after the signer is closed, and keep it.
    _function: Any = None

    def __init__(self, base_url: str, key: Buffer) -> None:
        """Signs with a key of :func:`generate_signing_key`."""
        super().__init__(
            _abi.make(
                "idgate_signer *", lib.idgate_signer_new, *_abi.data(base_url), *_abi.data(key)
            )
        )

    @classmethod
    def external(
        cls,
        base_url: str,
        public_key: str | Buffer | Mapping[str, Any],
        sign: Callable[[bytes], bytes],
    ) -> Signer:
        """Signs through ``sign``, as with an HSM: it takes the input and returns the 64 bytes of
        the raw ES256 signature. ``public_key`` is the key's public JWK."""

        def call(_: Any, data: Any, length: int, signature: Any) -> int:
            made = sign(bytes(ffi.buffer(data, length)))
            if len(made) != 64:
                return 2
            ffi.memmove(signature, made, 64)
            return 0

        function = ffi.callback("int32_t(void *, const uint8_t *, size_t, uint8_t *)", call, 1)
        signer = cls.__new__(cls)
        _abi.Handle.__init__(
            signer,
            _abi.make(
                "idgate_signer *",
                lib.idgate_signer_new_external,
                *_abi.data(base_url),
                *_abi.data(_abi.as_json(public_key)),
                function,
                ffi.NULL,
            ),
        )
        signer._function = function
        return signer

    def certified(self, chain: str | Buffer, *, now: datetime | None = None) -> Signer:
        """The same key with a certificate: it signs requests that name you by it
        (``x509_san_dns``, ``x509_hash`` and all of ``haip``), and no others.

        ``chain``, PEM or DER: the certificate, then those that lead up from it. It is checked for
        use at ``now``.
        """
        signer = Signer.__new__(Signer)
        _abi.Handle.__init__(
            signer,
            _abi.make(
                "idgate_signer *",
                lib.idgate_signer_certified,
                self._pointer,
                *_abi.data(chain),
                _abi.millis(now),
            ),
        )
        signer._function = self._function
        return signer

    def check_registration(self, jwt: str, *, now: datetime | None = None) -> Registration:
        """Checks a registration certificate (``rc-wrp+jwt``) for use at ``now`` beside the
        certificate of this signer, one of :meth:`certified`: the dates, and that both are of one
        party. Its signature is for wallets to verify.

        :raises ConfigurationError: it cannot be used.
        """
        out = ffi.new("idgate_bytes *")
        _abi.call(
            lib.idgate_registration_check,
            self._pointer,
            *_abi.data(jwt),
            _abi.millis(now),
            out,
        )
        told = _abi.take_json(out[0])
        for name in ("issued_at", "expires_at"):
            told[name] = _abi.instant_or_none(told.pop(f"{name}_ms"))
        return Registration(**told)

    def public_key(self) -> dict[str, Any]:
        """The public JWK, to be published."""
        told: dict[str, Any] = _abi.json_of(
            _abi.make_bytes(lib.idgate_signer_public_key, self._pointer)
        )
        return told


def did_document(base_url: str, keys: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The DID document, to be served at ``/.well-known/did.json``. ``keys``: the public JWKs of
    the signer in use and of those that open sessions were made with."""
    return _published(lib.idgate_did_document, base_url, keys)


def jwks(base_url: str, keys: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The JWK Set of the same keys, to be served at ``/.well-known/jwks.json``."""
    return _published(lib.idgate_jwks, base_url, keys)


def _published(
    function: Any, base_url: str, keys: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    data = _abi.data(_abi.as_json([dict(key) for key in keys]))
    text = _abi.make_bytes(function, *_abi.data(base_url), *data)
    document: dict[str, Any] = _abi.json_of(text)
    return document
