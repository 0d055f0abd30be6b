//! Certificates in the profile of ISO/IEC 18013-5 Annex B, and broken ones: every field can be set before
//! the certificate is signed. They use the bare DER writer, so a test controls every byte.

use sha1::{Digest as _, Sha1};

use crate::codec::HashAlg;
use crate::der::{self, bit_string, ecdsa_signature, oid, sequence, tlv, unsigned};
use crate::keys::{Curve, SigningKey};
use crate::time::{DAY_MS, YEAR_MS};

/// subjectKeyIdentifier
pub const SUBJECT_KEY_IDENTIFIER: &str = "2.5.29.14";
/// keyUsage
pub const KEY_USAGE: &str = "2.5.29.15";
/// subjectAltName
pub const SUBJECT_ALT_NAME: &str = "2.5.29.17";
/// issuerAltName
pub const ISSUER_ALT_NAME: &str = "2.5.29.18";
/// basicConstraints
pub const BASIC_CONSTRAINTS: &str = "2.5.29.19";
/// cRLDistributionPoints
pub const CRL_DISTRIBUTION_POINTS: &str = "2.5.29.31";
/// authorityKeyIdentifier
pub const AUTHORITY_KEY_IDENTIFIER: &str = "2.5.29.35";
/// extKeyUsage
pub const EXT_KEY_USAGE: &str = "2.5.29.37";
/// certificatePolicies
pub const CERTIFICATE_POLICIES: &str = "2.5.29.32";
/// The content bytes of the policy that marks certificates of a sandbox's samples,
/// 2.25.4256656499847039292397888995468663693.
pub const SAMPLE_POLICY: [u8; 19] = [
    0x69, 0x86, 0xb3, 0xe6, 0xd7, 0xcc, 0xd1, 0xda, 0xb3, 0xf7, 0xaa, 0xae, 0xa7, 0xee, 0xaa, 0xd3,
    0x89, 0xb7, 0x0d,
];
/// The extended key usage of an mDL document signer.
pub const MDL_DOCUMENT_SIGNER: &str = "1.0.18013.5.1.2";
/// The CRL address in sample certificates.
pub const CRL_URI: &str = "https://crl.example/iaca.crl";

/// A distinguished name: one attribute per RDN.
#[derive(Clone, Debug, Default)]
pub struct Name {
    /// Type, string tag and text of each attribute, in order.
    pub attributes: Vec<(String, u8, String)>,
}

impl Name {
    /// `C` and `CN`.
    pub fn new(country: &str, common_name: &str) -> Self {
        Self::default().with("2.5.4.6", der::PRINTABLE_STRING, country).with(
            "2.5.4.3",
            der::UTF8_STRING,
            common_name,
        )
    }

    /// With one more attribute.
    #[must_use]
    pub fn with(mut self, oid: &str, tag: u8, text: &str) -> Self {
        self.attributes.push((oid.into(), tag, text.into()));
        self
    }

    /// With stateOrProvinceName.
    #[must_use]
    pub fn with_state(self, state: &str) -> Self {
        self.with("2.5.4.8", der::UTF8_STRING, state)
    }

    /// As DER.
    pub fn der(&self) -> Vec<u8> {
        let rdn = |(kind, tag, text): &(String, u8, String)| {
            tlv(der::SET, &[&sequence(&[&oid(kind), &tlv(*tag, &[text.as_bytes()])])])
        };
        sequence(&[&self.attributes.iter().map(rdn).collect::<Vec<_>>().concat()])
    }
}

/// One extension.
#[derive(Clone, Debug)]
pub struct Extension {
    /// Its type, in dotted form.
    pub oid: String,
    /// Whether it is critical.
    pub critical: bool,
    /// The content of its OCTET STRING.
    pub value: Vec<u8>,
}

/// A certificate before it is signed. Every field may be broken.
#[derive(Clone, Debug)]
pub struct CertificateBuilder {
    /// 2 means v3.
    pub version: u8,
    /// Big-endian, positive.
    pub serial: Vec<u8>,
    /// The issuer's name.
    pub issuer: Name,
    /// The subject's name.
    pub subject: Name,
    /// Milliseconds since the epoch.
    pub not_before_ms: u64,
    /// Milliseconds since the epoch.
    pub not_after_ms: u64,
    /// SubjectPublicKeyInfo.
    pub spki: Vec<u8>,
    /// The extensions, in order.
    pub extensions: Vec<Extension>,
    /// The hash of the signature; `None`: that of the issuer's curve.
    pub hash: Option<HashAlg>,
}

/// A certificate and its key.
#[derive(Clone, Debug)]
pub struct Identity {
    /// The fields of the certificate, to issue under it.
    pub builder: CertificateBuilder,
    /// Its private key.
    pub key: SigningKey,
    /// The certificate.
    pub der: Vec<u8>,
}

impl CertificateBuilder {
    /// A certificate without extensions, valid for `days` from a day before `now_ms`.
    pub fn new(issuer: Name, subject: Name, key: &SigningKey, now_ms: u64, days: u64) -> Self {
        let not_before_ms = now_ms.saturating_sub(DAY_MS);
        Self {
            version: 2,
            serial: HashAlg::Sha256.hash(&key.public_sec1()).into_iter().take(16).collect(),
            issuer,
            subject,
            not_before_ms,
            not_after_ms: not_before_ms.saturating_add(days.saturating_mul(DAY_MS)),
            spki: key.public_spki(),
            extensions: Vec::new(),
            hash: None,
        }
    }

    /// An IACA root of this name (Annex B.1.2), self-issued.
    pub fn iaca_root(name: Name, key: &SigningKey, now_ms: u64) -> Self {
        Self::new(name.clone(), name, key, now_ms, 10 * YEAR_MS / DAY_MS)
            .set(BASIC_CONSTRAINTS, true, basic_constraints(true, Some(0)))
            .set(KEY_USAGE, true, key_usage(0b0000_0110))
            .set(SUBJECT_KEY_IDENTIFIER, false, subject_key_identifier(key))
            .set(ISSUER_ALT_NAME, false, uri_names("https://iaca.example/"))
            .set(CRL_DISTRIBUTION_POINTS, false, distribution_points(&[CRL_URI]))
    }

    /// An intermediate CA under `issuer`.
    pub fn intermediate(issuer: &Identity, name: Name, key: &SigningKey, now_ms: u64) -> Self {
        Self::iaca_root(name, key, now_ms).under(issuer)
    }

    /// A document signer under `issuer` (Annex B.1.4), valid for a year.
    pub fn document_signer(issuer: &Identity, name: Name, key: &SigningKey, now_ms: u64) -> Self {
        Self::new(name.clone(), name, key, now_ms, 365)
            .set(KEY_USAGE, true, key_usage(0b1000_0000))
            .set(EXT_KEY_USAGE, true, ext_key_usage(&[MDL_DOCUMENT_SIGNER]))
            .set(SUBJECT_KEY_IDENTIFIER, false, subject_key_identifier(key))
            .set(ISSUER_ALT_NAME, false, uri_names("https://iaca.example/"))
            .set(CRL_DISTRIBUTION_POINTS, false, distribution_points(&[CRL_URI]))
            .under(issuer)
    }

    /// A self-issued root with this name for issuers of SD-JWT VCs, with only what RFC 5280 requires.
    pub fn issuer_root(name: Name, key: &SigningKey, now_ms: u64) -> Self {
        Self::new(name.clone(), name, key, now_ms, 10 * YEAR_MS / DAY_MS)
            .set(BASIC_CONSTRAINTS, true, basic_constraints(true, None))
            .set(KEY_USAGE, true, key_usage(0b0000_0110))
            .set(SUBJECT_KEY_IDENTIFIER, false, subject_key_identifier(key))
    }

    /// An issuer of SD-JWT VCs under `issuer`, valid for longer than a document signer may be, and without
    /// the requirements of that profile.
    pub fn issuer_of_sd_jwts(issuer: &Identity, name: Name, key: &SigningKey, now_ms: u64) -> Self {
        Self::new(name.clone(), name, key, now_ms, 5 * YEAR_MS / DAY_MS)
            .set(KEY_USAGE, true, key_usage(0b1000_0000))
            .under(issuer)
    }

    /// Issued by `issuer`: its name and key identifier.
    #[must_use]
    pub fn under(mut self, issuer: &Identity) -> Self {
        self.issuer = issuer.builder.subject.clone();
        self.set(AUTHORITY_KEY_IDENTIFIER, false, authority_key_identifier(&issuer.key))
    }

    /// With this extension, instead of one of the same type.
    #[must_use]
    pub fn set(mut self, oid: &str, critical: bool, value: Vec<u8>) -> Self {
        let extension = Extension { oid: oid.into(), critical, value };
        match self.extensions.iter_mut().find(|own| own.oid == oid) {
            Some(own) => *own = extension,
            None => self.extensions.push(extension),
        }
        self
    }

    /// With the policy that marks a sandbox's samples.
    #[must_use]
    pub fn marked_as_sample(self) -> Self {
        let policy = tlv(der::OID, &[&SAMPLE_POLICY]);
        self.set(CERTIFICATE_POLICIES, false, sequence(&[&sequence(&[&policy])]))
    }

    /// Without the extension of this type.
    #[must_use]
    pub fn without(mut self, oid: &str) -> Self {
        self.extensions.retain(|own| own.oid != oid);
        self
    }

    /// Applies a change of a test.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    /// Signed by `issuer_key`, as DER.
    pub fn sign(&self, issuer_key: &SigningKey) -> Vec<u8> {
        signed(&self.tbs(issuer_key), issuer_key, self.hash)
    }

    /// Signed by `issuer`; `key` is the subject's.
    pub fn issue(self, issuer: &Identity, key: &SigningKey) -> Identity {
        let der = self.sign(&issuer.key);
        Identity { builder: self, key: key.clone(), der }
    }

    /// Signed by its own key.
    pub fn self_sign(self, key: &SigningKey) -> Identity {
        let der = self.sign(key);
        Identity { builder: self, key: key.clone(), der }
    }

    /// The TBSCertificate for a signature by `issuer_key`.
    pub fn tbs(&self, issuer_key: &SigningKey) -> Vec<u8> {
        let extensions: Vec<u8> = self.extensions.iter().flat_map(extension).collect();
        let extensions = match extensions.is_empty() {
            true => Vec::new(),
            false => tlv(0xa3, &[&sequence(&[&extensions])]),
        };
        sequence(&[
            &tlv(0xa0, &[&unsigned(&[self.version])]),
            &unsigned(&self.serial),
            &signature_algorithm(issuer_key.curve(), self.hash),
            &self.issuer.der(),
            &sequence(&[&der::time(self.not_before_ms), &der::time(self.not_after_ms)]),
            &self.subject.der(),
            &self.spki,
            &extensions,
        ])
    }
}

impl Identity {
    /// A sample IACA root of Utopia on `curve`: the same one on every run.
    pub fn iaca(curve: Curve, now_ms: u64) -> Self {
        let key = SigningKey::from_seed(curve, "idgate sample IACA");
        CertificateBuilder::iaca_root(Name::new("UT", "Utopia IACA"), &key, now_ms).self_sign(&key)
    }

    /// A sample document signer under this root, on `curve`.
    pub fn document_signer(&self, curve: Curve, now_ms: u64) -> Self {
        let key = SigningKey::from_seed(curve, "idgate sample document signer");
        let name = Name::new("UT", "Utopia document signer");
        CertificateBuilder::document_signer(self, name, &key, now_ms).issue(self, &key)
    }

    /// A sample root for issuers of SD-JWT VCs on `curve`: the same one on every run.
    pub fn issuer_root(curve: Curve, now_ms: u64) -> Self {
        let key = SigningKey::from_seed(curve, "idgate sample issuer root");
        CertificateBuilder::issuer_root(Name::new("UT", "Utopia issuers"), &key, now_ms)
            .self_sign(&key)
    }

    /// A sample issuer of SD-JWT VCs under this root, which signs with `key`.
    pub fn issuer_of_sd_jwts(&self, key: &SigningKey, now_ms: u64) -> Self {
        let name = Name::new("UT", "Utopia registry");
        CertificateBuilder::issuer_of_sd_jwts(self, name, key, now_ms).issue(self, key)
    }

    /// The next root of this name, and the link certificate that this one signs for it.
    pub fn rolled_over(&self, seed: &str, now_ms: u64) -> (Self, Self) {
        let key = SigningKey::from_seed(self.key.curve(), seed);
        let next = CertificateBuilder::iaca_root(self.builder.subject.clone(), &key, now_ms);
        let link = next.clone().under(self).issue(self, &key);
        (next.self_sign(&key), link)
    }
}

/// The common form of signed certificates and CRLs: the to-be-signed part, the algorithm, the signature.
pub fn signed(tbs: &[u8], key: &SigningKey, hash: Option<HashAlg>) -> Vec<u8> {
    let raw = match hash {
        Some(hash) => key.sign_prehashed(&hash.hash(tbs)),
        None => key.sign(tbs),
    };
    let algorithm = signature_algorithm(key.curve(), hash);
    sequence(&[tbs, &algorithm, &bit_string(&ecdsa_signature(&raw))])
}

/// The AlgorithmIdentifier of ECDSA (RFC 5758 3.2).
pub fn signature_algorithm(curve: Curve, hash: Option<HashAlg>) -> Vec<u8> {
    let own = match curve {
        Curve::P256 => HashAlg::Sha256,
        Curve::P384 => HashAlg::Sha384,
        Curve::P521 => HashAlg::Sha512,
    };
    sequence(&[&oid(match hash.unwrap_or(own) {
        HashAlg::Sha256 => "1.2.840.10045.4.3.2",
        HashAlg::Sha384 => "1.2.840.10045.4.3.3",
        HashAlg::Sha512 => "1.2.840.10045.4.3.4",
    })])
}

/// SHA-1 of the public key's bits (RFC 5280 4.2.1.2).
pub fn key_identifier(key: &SigningKey) -> Vec<u8> {
    Sha1::digest(key.public_sec1()).to_vec()
}

/// The value of subjectKeyIdentifier.
pub fn subject_key_identifier(key: &SigningKey) -> Vec<u8> {
    tlv(der::OCTET_STRING, &[&key_identifier(key)])
}

/// The value of authorityKeyIdentifier.
pub fn authority_key_identifier(issuer: &SigningKey) -> Vec<u8> {
    sequence(&[&tlv(0x80, &[&key_identifier(issuer)])])
}

/// The value of basicConstraints.
pub fn basic_constraints(ca: bool, path_len: Option<u8>) -> Vec<u8> {
    let ca: &[u8] = if ca { &[0x01, 0x01, 0xff] } else { &[] };
    sequence(&[ca, &path_len.map_or_else(Vec::new, |path_len| unsigned(&[path_len]))])
}

/// The value of keyUsage; digitalSignature is the highest bit.
pub fn key_usage(bits: u8) -> Vec<u8> {
    let unused = u8::try_from(bits.trailing_zeros().min(7)).unwrap_or(0);
    tlv(der::BIT_STRING, &[&[unused, bits]])
}

/// The value of extKeyUsage.
pub fn ext_key_usage(usages: &[&str]) -> Vec<u8> {
    sequence(&[&usages.iter().flat_map(|usage| oid(usage)).collect::<Vec<_>>()])
}

/// GeneralNames with one URI, for issuerAltName.
pub fn uri_names(uri: &str) -> Vec<u8> {
    sequence(&[&tlv(0x86, &[uri.as_bytes()])])
}

/// GeneralNames with one IPv4 address, for the subjectAltName of a TLS server.
pub fn ip_names(address: [u8; 4]) -> Vec<u8> {
    sequence(&[&tlv(0x87, &[&address])])
}

/// GeneralNames with these DNS names, for the subjectAltName of a server.
pub fn dns_names(names: &[&str]) -> Vec<u8> {
    let name = |name: &&str| tlv(0x82, &[name.as_bytes()]);
    sequence(&[&names.iter().flat_map(name).collect::<Vec<_>>()])
}

/// The value of cRLDistributionPoints: one point per URI.
pub fn distribution_points(uris: &[&str]) -> Vec<u8> {
    let point =
        |uri: &&str| sequence(&[&tlv(0xa0, &[&tlv(0xa0, &[&tlv(0x86, &[uri.as_bytes()])])])]);
    sequence(&[&uris.iter().flat_map(point).collect::<Vec<_>>()])
}

fn extension(extension: &Extension) -> Vec<u8> {
    let critical: &[u8] = if extension.critical { &[0x01, 0x01, 0xff] } else { &[] };
    let value = tlv(der::OCTET_STRING, &[&extension.value]);
    sequence(&[&oid(&extension.oid), critical, &value])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::SAMPLE_NOW_MS;

    #[test]
    fn a_seed_gives_one_certificate() {
        for curve in Curve::ALL {
            let signer =
                || Identity::iaca(curve, SAMPLE_NOW_MS).document_signer(curve, SAMPLE_NOW_MS);
            assert_eq!(signer().der, signer().der);
        }
    }

    #[test]
    fn an_extension_replaces_one_of_its_type() {
        let root = Identity::iaca(Curve::P256, SAMPLE_NOW_MS).builder;
        let count = root.extensions.len();
        let changed = root.set(KEY_USAGE, false, key_usage(0x80));
        assert_eq!(changed.extensions.len(), count);
        assert_eq!(changed.without(KEY_USAGE).extensions.len(), count - 1);
    }
}
