"""Certificates for SD-JWT VC issuers, and for the gateway."""

import base64
import sys
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python"))

from mdoc import certificate, key_usage, name  # noqa: E402
from wallet import Issuer  # noqa: E402


class Root:
    """A root, and the certificates that it issues."""

    def __init__(self, common_name):
        self.key = ec.generate_private_key(ec.SECP256R1())
        subject = name(common_name)
        usage = key_usage(key_cert_sign=True, crl_sign=True)
        self.certificate = (
            certificate(subject, subject, self.key, 3650)
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(usage, critical=True)
            .sign(self.key, hashes.SHA256())
        )

    @property
    def pem(self):
        """The root as PEM text."""
        return pem(self.certificate)

    def certify(self, subject, public_key):
        """A certificate for a key that signs."""
        authority = x509.AuthorityKeyIdentifier.from_issuer_public_key(self.key.public_key())
        return (
            certificate(subject, self.certificate.subject, PublicKey(public_key), 90)
            .add_extension(key_usage(digital_signature=True), critical=True)
            .add_extension(authority, critical=False)
            .sign(self.key, hashes.SHA256())
        )

    def certify_pem(self, subject, public_key):
        """The same as PEM text."""
        return pem(self.certify(subject, public_key))

    def certify_gateway(self, gateway):
        """Lets the gateway request a certificate, and imports it."""
        request = x509.load_pem_x509_csr(gateway.command("keys", "csr")["csr"].encode())
        chain = Path(gateway.dir, "chain.pem")
        chain.write_text(self.certify_pem(request.subject, request.public_key()), encoding="utf-8")
        gateway.command("keys", "certificate", str(chain))


class CertifiedIssuer(Issuer):
    """Issues SD-JWT VCs under a certificate, which is the only way that Multipaz reads them."""

    def __init__(self, issuer_id, vct, root):
        super().__init__(issuer_id, vct)
        self.sd_jwt_root_pem = root.pem
        public_key = serialization.load_pem_public_key(self.key.export_to_pem())
        self.certificate = root.certify(name(issuer_id.removeprefix("https://")), public_key)

    def header(self):
        """The members of a credential's header in addition to `alg`."""
        der = self.certificate.public_bytes(serialization.Encoding.DER)
        return super().header() | {"x5c": [base64.b64encode(der).decode()]}


class PublicKey:
    """A public key, for functions that expect a key pair."""

    def __init__(self, key):
        self.key = key

    def public_key(self):
        return self.key


def pem(one):
    """A certificate as PEM text."""
    return one.public_bytes(serialization.Encoding.PEM).decode()
