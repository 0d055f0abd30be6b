//! The certificate of the sandbox's own https: made at start, below a CA of the sandbox, for loopback and
//! the names that it was given. Phones install the CA, and its key lies in a developer's folder: it can
//! sign for nothing but what is private to a machine or its network, and for a year.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use idgate_testkit::codec::HashAlg;
use idgate_testkit::der;
use idgate_testkit::keys::{Curve, SigningKey};
use idgate_testkit::time::DAY_MS;
use idgate_testkit::x509::{
    BASIC_CONSTRAINTS, CertificateBuilder, EXT_KEY_USAGE, Identity, KEY_USAGE, Name,
    SUBJECT_ALT_NAME, SUBJECT_KEY_IDENTIFIER, basic_constraints, ext_key_usage, key_usage,
    subject_key_identifier,
};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::aws_lc_rs::default_provider;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

const SERVER_AUTH: &str = "1.3.6.1.5.5.7.3.1";
const NAME_CONSTRAINTS: &str = "2.5.29.30";
const DIGITAL_SIGNATURE: u8 = 0b1000_0000;
const CERTIFICATE_SIGNATURE: u8 = 0b0000_0100;
/// Browsers take no certificate that is good for longer than 398.
const DAYS: u64 = 90;
const AUTHORITY_DAYS: u64 = 365;
/// A new one is made so long after the last that no certificate outlives it.
const RENEWED_AFTER_DAYS: u64 = 270;
/// Its own names: `local` stands for everything below it.
const NAMES: [&str; 2] = ["localhost", "local"];
/// Addresses that are nobody's on the internet.
const PRIVATE: [(IpAddr, u32); 8] = [
    (IpAddr::V4(Ipv4Addr::new(127, 0, 0, 0)), 8),
    (IpAddr::V6(Ipv6Addr::LOCALHOST), 128),
    (IpAddr::V4(Ipv4Addr::new(10, 0, 0, 0)), 8),
    (IpAddr::V4(Ipv4Addr::new(172, 16, 0, 0)), 12),
    (IpAddr::V4(Ipv4Addr::new(192, 168, 0, 0)), 16),
    (IpAddr::V4(Ipv4Addr::new(169, 254, 0, 0)), 16),
    (IpAddr::V6(Ipv6Addr::new(0xfc00, 0, 0, 0, 0, 0, 0, 0)), 7),
    (IpAddr::V6(Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 0)), 10),
];
/// Tags of a dNSName and an iPAddress in a GeneralName.
const DNS_NAME: u8 = 0x82;
const IP_ADDRESS: u8 = 0x87;
/// Tag of permittedSubtrees in nameConstraints.
const PERMITTED: u8 = 0xa0;

/// The CA, which may sign for private addresses, names of this network, and `names` and `addresses`: for
/// a seed the same one, until it is renewed or is to be for others.
pub(super) fn authority(
    seed: &str,
    made_at: u64,
    names: &[String],
    addresses: &[IpAddr],
    now_ms: u64,
) -> Identity {
    let key = SigningKey::from_seed(Curve::P256, format!("{seed} https"));
    let renewed_after = RENEWED_AFTER_DAYS.saturating_mul(DAY_MS);
    let age = now_ms.saturating_sub(made_at);
    let begins = now_ms.min(made_at).saturating_add(age.saturating_sub(age % renewed_after));
    let name = Name::new("UT", "idgate sandbox CA");
    let constraints = constraints(names, addresses);
    // Of one issuer no two certificates have the same.
    let own = [&*key.public_sec1(), &constraints, &begins.to_be_bytes()].concat();
    let serial = HashAlg::Sha256.hash(&own).into_iter().take(16).collect();
    CertificateBuilder::new(name.clone(), name, &key, begins, AUTHORITY_DAYS)
        .set(BASIC_CONSTRAINTS, true, basic_constraints(true, Some(0)))
        .set(KEY_USAGE, true, key_usage(CERTIFICATE_SIGNATURE))
        .set(EXT_KEY_USAGE, false, ext_key_usage(&[SERVER_AUTH]))
        .set(NAME_CONSTRAINTS, true, constraints)
        .set(SUBJECT_KEY_IDENTIFIER, false, subject_key_identifier(&key))
        .with(|ca| ca.serial = serial)
        .self_sign(&key)
}

/// As people compare it.
pub(super) fn fingerprint(der: &[u8]) -> String {
    let bytes = HashAlg::Sha256.hash(der);
    bytes.iter().map(|byte| format!("{byte:02X}")).collect::<Vec<_>>().join(":")
}

/// The value of nameConstraints (RFC 5280 4.2.1.10).
fn constraints(names: &[String], addresses: &[IpAddr]) -> Vec<u8> {
    let names = NAMES.into_iter().chain(names.iter().map(String::as_str));
    let names = names.map(|name| der::tlv(DNS_NAME, &[name.as_bytes()]));
    let own = addresses.iter().map(|address| match address {
        IpAddr::V4(_) => (*address, 32),
        IpAddr::V6(_) => (*address, 128),
    });
    let ranges = PRIVATE.into_iter().chain(own).map(|(address, bits)| match address {
        IpAddr::V4(address) => {
            let mask = u32::MAX.checked_shl(32_u32.saturating_sub(bits)).unwrap_or(0);
            der::tlv(IP_ADDRESS, &[&address.octets(), &mask.to_be_bytes()])
        }
        IpAddr::V6(address) => {
            let mask = u128::MAX.checked_shl(128_u32.saturating_sub(bits)).unwrap_or(0);
            der::tlv(IP_ADDRESS, &[&address.octets(), &mask.to_be_bytes()])
        }
    });
    let subtrees: Vec<u8> = names.chain(ranges).flat_map(|name| der::sequence(&[&name])).collect();
    der::sequence(&[&der::tlv(PERMITTED, &[&subtrees])])
}

/// Speaks TLS with a certificate for loopback, `names` and `addresses`.
///
/// # Errors
/// A key cannot be made or used.
pub(super) fn acceptor(
    authority: &Identity,
    names: &[String],
    addresses: &[IpAddr],
    now_ms: u64,
) -> Result<TlsAcceptor, String> {
    let key = SigningKey::generate(Curve::P256).map_err(|error| error.to_string())?;
    let name = Name::new("UT", "idgate sandbox");
    let leaf = CertificateBuilder::new(name.clone(), name, &key, now_ms, DAYS)
        .set(KEY_USAGE, true, key_usage(DIGITAL_SIGNATURE))
        .set(EXT_KEY_USAGE, false, ext_key_usage(&[SERVER_AUTH]))
        .set(SUBJECT_ALT_NAME, false, alternative_names(names, addresses))
        .under(authority)
        .with(|leaf| leaf.not_after_ms = leaf.not_after_ms.min(authority.builder.not_after_ms))
        .sign(&authority.key);
    let cannot = |error: &dyn std::fmt::Display| format!("https cannot be set up: {error}");
    let private = PrivateKeyDer::from_pem_slice(key.private_pem().as_bytes());
    let private = private.map_err(|error| cannot(&error))?;
    let mut config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| cannot(&error))?
        .with_no_client_auth()
        .with_single_cert(vec![CertificateDer::from(leaf)], private)
        .map_err(|error| cannot(&error))?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}

fn alternative_names(names: &[String], addresses: &[IpAddr]) -> Vec<u8> {
    let loopback: [IpAddr; 2] = [[127, 0, 0, 1].into(), std::net::Ipv6Addr::LOCALHOST.into()];
    let names = names.iter().map(String::as_str).chain(["localhost"]);
    let names = names.map(|name| der::tlv(DNS_NAME, &[name.as_bytes()]));
    let addresses = loopback.iter().chain(addresses).map(|address| match address {
        IpAddr::V4(address) => der::tlv(IP_ADDRESS, &[&address.octets()]),
        IpAddr::V6(address) => der::tlv(IP_ADDRESS, &[&address.octets()]),
    });
    let all: Vec<u8> = names.chain(addresses).flatten().collect();
    der::sequence(&[&all])
}

#[cfg(test)]
mod tests {
    use super::*;

    const MADE_AT: u64 = 1_790_000_000_000;

    #[test]
    fn the_authority_is_the_same_until_it_is_renewed_or_is_for_others() {
        let of = |names: &[&str], days: u64| {
            let names: Vec<String> = names.iter().map(|name| String::from(*name)).collect();
            authority("a seed", MADE_AT, &names, &[], MADE_AT.saturating_add(days * DAY_MS))
        };
        let first = of(&[], 0);
        assert_eq!(first.der, of(&[], RENEWED_AFTER_DAYS - 1).der);
        for other in [of(&[], RENEWED_AFTER_DAYS), of(&["laptop.example"], 0)] {
            assert_ne!(fingerprint(&first.der), fingerprint(&other.der));
            assert_ne!(first.builder.serial, other.builder.serial, "one issuer, one number each");
            assert_eq!(first.builder.spki, other.builder.spki);
        }
        // No certificate of the last day before it is renewed outlives it.
        let last = MADE_AT + RENEWED_AFTER_DAYS * DAY_MS + DAYS * DAY_MS;
        assert!(last <= first.builder.not_after_ms);
        assert!(first.builder.not_after_ms - first.builder.not_before_ms <= 365 * DAY_MS);
    }

    #[test]
    fn a_clock_that_was_set_back_still_gives_an_authority_for_today() {
        let now = MADE_AT - 500 * DAY_MS;
        let ca = authority("a seed", MADE_AT, &[], &[], now).builder;
        assert!(ca.not_before_ms < now && now < ca.not_after_ms);
    }
}
