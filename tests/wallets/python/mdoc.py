"""An mdoc issuer on pymdoccbor, and a device that signs with cryptography and cbor2."""

import base64
import datetime
import hashlib

import cbor2
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.x509.oid import NameOID, ObjectIdentifier
from pymdoccbor.mdoc.issuer import MdocCborIssuer

MDL = "org.iso.18013.5.1.mDL"
MDL_NAMESPACE = "org.iso.18013.5.1"
MDL_DOCUMENT_SIGNER = ObjectIdentifier("1.0.18013.5.1.2")
COORDINATE_BYTES = 32
DAY = datetime.timedelta(days=1)


class Authority:
    """A sample IACA and document signer (ISO/IEC 18013-5 Annex B).

    They leave out issuerAltName and the CRL distribution points, which test-mode sessions
    tolerate.
    """

    def __init__(self, issuer_id, common_name):
        self.issuer_id = issuer_id
        self.root_key, self.signer_key = generate_key(), generate_key()
        root_name, signer_name = name(f"{common_name} IACA"), name(f"{common_name} signer")
        self.root = self._root(root_name)
        self.signer = self._signer(signer_name)

    @property
    def root_pem(self):
        """The root as PEM text."""
        return self.root.public_bytes(serialization.Encoding.PEM).decode()

    def issue(self, device_key, elements, days=30):
        """The IssuerSigned from pymdoccbor."""
        today = datetime.datetime.now(datetime.timezone.utc).date()
        numbers = self.signer_key.private_numbers()
        issuer = MdocCborIssuer(
            alg="ES256",
            private_key={
                "KTY": "EC2",
                "CURVE": "P_256",
                "ALG": "ES256",
                "D": numbers.private_value.to_bytes(COORDINATE_BYTES, "big"),
                "X": numbers.public_numbers.x.to_bytes(COORDINATE_BYTES, "big"),
                "Y": numbers.public_numbers.y.to_bytes(COORDINATE_BYTES, "big"),
                "KID": b"signer",
            },
        )
        mdoc = issuer.new(
            doctype=MDL,
            data={MDL_NAMESPACE: dict(elements)},
            validity={
                "issuance_date": str(today - DAY),
                "expiry_date": str(today + datetime.timedelta(days=days)),
            },
            devicekeyinfo=base64.urlsafe_b64encode(public_pem(device_key)).decode(),
            x509_chain=[self.signer.public_bytes(serialization.Encoding.DER)],
        )
        return mdoc["documents"][0]["issuerSigned"]

    def _root(self, subject):
        usage = key_usage(key_cert_sign=True, crl_sign=True)
        return (
            certificate(subject, subject, self.root_key, 3650)
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(usage, critical=True)
            .sign(self.root_key, hashes.SHA256())
        )

    def _signer(self, subject):
        authority = x509.AuthorityKeyIdentifier.from_issuer_public_key(self.root_key.public_key())
        return (
            certificate(subject, self.root.subject, self.signer_key, 365)
            .add_extension(key_usage(digital_signature=True), critical=True)
            .add_extension(x509.ExtendedKeyUsage([MDL_DOCUMENT_SIGNER]), critical=True)
            .add_extension(authority, critical=False)
            .sign(self.root_key, hashes.SHA256())
        )


def present(issuer_signed, device_key, elements, request, doc_type=MDL, namespace=MDL_NAMESPACE):
    """The vp_token: these elements of the namespace, proved for the request."""
    items = issuer_signed["nameSpaces"][namespace]
    shown = [item for item in items if cbor2.loads(item.value)["elementIdentifier"] in elements]
    namespaces = cbor2.CBORTag(24, cbor2.dumps({}))
    authentication = ["DeviceAuthentication", transcript(request), doc_type, namespaces]
    payload = cbor2.dumps(cbor2.CBORTag(24, cbor2.dumps(authentication)))
    device_signed = {
        "nameSpaces": namespaces,
        "deviceAuth": {"deviceSignature": sign1_detached(device_key, payload)},
    }
    document = {
        "docType": doc_type,
        "issuerSigned": {
            "nameSpaces": {namespace: shown},
            "issuerAuth": issuer_signed["issuerAuth"],
        },
        "deviceSigned": device_signed,
    }
    response = cbor2.dumps({"version": "1.0", "documents": [document], "status": 0})
    return base64.urlsafe_b64encode(response).rstrip(b"=").decode()


def transcript(request):
    """The SessionTranscript of an unencrypted answer (OpenID4VP 1.0 B.2.6.1)."""
    info = [request["client_id"], request["nonce"], None, request["response_uri"]]
    return [None, None, ["OpenID4VPHandover", hashlib.sha256(cbor2.dumps(info)).digest()]]


def sign1_detached(key, payload):
    """A COSE_Sign1 of ES256 with a detached payload."""
    protected = cbor2.dumps({1: -7})
    to_be_signed = cbor2.dumps(["Signature1", protected, b"", payload])
    r, s = decode_dss_signature(key.sign(to_be_signed, ec.ECDSA(hashes.SHA256())))
    raw = r.to_bytes(COORDINATE_BYTES, "big") + s.to_bytes(COORDINATE_BYTES, "big")
    return [protected, {}, None, raw]


def generate_key():
    """A P-256 key whose coordinates have no leading zero byte, because pymdoccbor would drop it."""
    while True:
        key = ec.generate_private_key(ec.SECP256R1())
        numbers = key.public_key().public_numbers()
        if min(numbers.x, numbers.y).bit_length() > 8 * (COORDINATE_BYTES - 1):
            return key


def public_pem(key):
    """SubjectPublicKeyInfo as PEM."""
    spki = serialization.PublicFormat.SubjectPublicKeyInfo
    return key.public_key().public_bytes(serialization.Encoding.PEM, spki)


def name(common_name):
    """C and CN."""
    attributes = [(NameOID.COUNTRY_NAME, "UT"), (NameOID.COMMON_NAME, common_name)]
    return x509.Name([x509.NameAttribute(oid, text) for oid, text in attributes])


def certificate(subject, issuer, key, days):
    """The common parts of every certificate, before it is signed."""
    now = datetime.datetime.now(datetime.timezone.utc)
    identifier = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - DAY)
        .not_valid_after(now + datetime.timedelta(days=days))
        .add_extension(identifier, critical=False)
    )


def key_usage(**bits):
    """A key usage with exactly these bits."""
    every = (
        "digital_signature",
        "content_commitment",
        "key_encipherment",
        "data_encipherment",
        "key_agreement",
        "key_cert_sign",
        "crl_sign",
        "encipher_only",
        "decipher_only",
    )
    return x509.KeyUsage(**{bit: bits.get(bit, False) for bit in every})
