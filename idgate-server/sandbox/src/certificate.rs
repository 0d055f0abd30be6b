//! The certificates of the sandbox's own https, made at start below two CAs of the sandbox. One CA
//! is for this machine alone. The other is for phones: a person installs it, and its key is in a
//! developer's folder. It can therefore sign only for the machine's own address and name in the
//! network, and only for 30 days.

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
/// Lifetime of both CAs: short, because people forget to remove them from phones.
const AUTHORITY_DAYS: u64 = 30;
/// A new CA is made this long after the last, so that no certificate outlives its CA.
const RENEWED_AFTER_DAYS: u64 = 14;
const DAYS: u64 = 15;
/// A name that cannot exist (RFC 6761 6.4).
const NO_NAME: &str = "invalid";
/// Tags of a dNSName and an iPAddress in a GeneralName.
const DNS_NAME: u8 = 0x82;
const IP_ADDRESS: u8 = 0x87;
/// Tag of permittedSubtrees in nameConstraints.
const PERMITTED: u8 = 0xa0;

/// The names and addresses of a server, and of the CA above it.
#[derive(Clone, Debug)]
pub(super) struct Place {
    /// The key's part of the seed, and the CA's name.
    key: &'static str,
    ca: &'static str,
    names: Vec<String>,
    addresses: Vec<IpAddr>,
}

impl Place {
    /// This machine, for programs that run on it; `name` is its host name.
    pub(super) fn of_machine(name: Option<&str>) -> Self {
        let names = ["localhost"].into_iter().chain(name).map(String::from).collect();
        let addresses = vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()];
        Self { key: "https", ca: "idgate sandbox CA", names, addresses }
    }

    /// The machine as phones on its network reach it.
    pub(super) fn of_network(address: IpAddr, name: Option<&str>) -> Self {
        Self {
            key: "https for phones",
            ca: "idgate sandbox CA for phones (TEST)",
            names: name.map(String::from).into_iter().collect(),
            addresses: vec![address],
        }
    }
}

/// The CA for exactly this place. The same seed gives the same CA, until it is renewed or the place
/// changes.
pub(super) fn authority(seed: &str, made_at: u64, place: &Place, now_ms: u64) -> Identity {
    let key = SigningKey::from_seed(Curve::P256, format!("{seed} {}", place.key));
    let renewed_after = RENEWED_AFTER_DAYS.saturating_mul(DAY_MS);
    let age = now_ms.saturating_sub(made_at);
    let begins = now_ms.min(made_at).saturating_add(age.saturating_sub(age % renewed_after));
    let name = Name::new("UT", place.ca);
    let constraints = constraints(place);
    // The serial number must be unique for an issuer.
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

/// The SHA-256 fingerprint, in the form that people compare.
pub(super) fn fingerprint(der: &[u8]) -> String {
    let bytes = HashAlg::Sha256.hash(der);
    bytes.iter().map(|byte| format!("{byte:02X}")).collect::<Vec<_>>().join(":")
}

/// The value of nameConstraints (RFC 5280 4.2.1.10).
fn constraints(place: &Place) -> Vec<u8> {
    let names = place.names.iter().map(|name| der::tlv(DNS_NAME, &[name.as_bytes()]));
    // A name type without a constraint would be unrestricted.
    let no_name = place.names.is_empty().then(|| der::tlv(DNS_NAME, &[NO_NAME.as_bytes()]));
    let addresses = place.addresses.iter().map(|address| match address {
        IpAddr::V4(address) => der::tlv(IP_ADDRESS, &[&address.octets(), &[0xff; 4]]),
        IpAddr::V6(address) => der::tlv(IP_ADDRESS, &[&address.octets(), &[0xff; 16]]),
    });
    let all = names.chain(no_name).chain(addresses);
    let subtrees: Vec<u8> = all.flat_map(|name| der::sequence(&[&name])).collect();
    der::sequence(&[&der::tlv(PERMITTED, &[&subtrees])])
}

/// TLS with a certificate for the place.
///
/// # Errors
/// A key cannot be made or used.
pub(super) fn acceptor(
    authority: &Identity,
    place: &Place,
    now_ms: u64,
) -> Result<TlsAcceptor, String> {
    let key = SigningKey::generate(Curve::P256).map_err(|error| error.to_string())?;
    let name = Name::new("UT", "idgate sandbox");
    let leaf = CertificateBuilder::new(name.clone(), name, &key, now_ms, DAYS)
        .set(KEY_USAGE, true, key_usage(DIGITAL_SIGNATURE))
        .set(EXT_KEY_USAGE, false, ext_key_usage(&[SERVER_AUTH]))
        .set(SUBJECT_ALT_NAME, false, alternative_names(place))
        .under(authority)
        .with(|leaf| leaf.not_after_ms = leaf.not_after_ms.min(authority.builder.not_after_ms))
        .sign(&authority.key);
    let cannot = |error: &dyn std::fmt::Display| format!("cannot set up https: {error}");
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

fn alternative_names(place: &Place) -> Vec<u8> {
    let names = place.names.iter().map(|name| der::tlv(DNS_NAME, &[name.as_bytes()]));
    let addresses = place.addresses.iter().map(|address| match address {
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
    fn the_ca_stays_the_same_until_it_is_renewed_or_its_place_changes() {
        let of = |name: Option<&str>, days: u64| {
            let place = Place::of_machine(name);
            authority("a seed", MADE_AT, &place, MADE_AT.saturating_add(days * DAY_MS))
        };
        let first = of(None, 0);
        assert_eq!(first.der, of(None, RENEWED_AFTER_DAYS - 1).der);
        for other in [of(None, RENEWED_AFTER_DAYS), of(Some("laptop.example"), 0)] {
            assert_ne!(fingerprint(&first.der), fingerprint(&other.der));
            assert_ne!(
                first.builder.serial, other.builder.serial,
                "serial numbers are unique for an issuer"
            );
            assert_eq!(first.builder.spki, other.builder.spki);
        }
        // A certificate from the last day before the renewal does not outlive the CA.
        let last = MADE_AT + RENEWED_AFTER_DAYS * DAY_MS + DAYS * DAY_MS;
        assert!(last <= first.builder.not_after_ms);
        assert!(first.builder.not_after_ms - first.builder.not_before_ms <= 30 * DAY_MS);
    }

    #[test]
    fn the_ca_for_phones_and_the_ca_of_the_machine_have_different_keys() {
        let address = IpAddr::from([192, 168, 0, 7]);
        let of = |place: &Place| authority("a seed", MADE_AT, place, MADE_AT).builder.spki;
        let phones = Place::of_network(address, None);
        assert_ne!(of(&Place::of_machine(None)), of(&phones));
    }

    #[test]
    fn a_clock_that_was_set_back_still_gives_a_ca_that_is_valid_today() {
        let now = MADE_AT - 500 * DAY_MS;
        let ca = authority("a seed", MADE_AT, &Place::of_machine(None), now).builder;
        assert!(ca.not_before_ms < now && now < ca.not_after_ms);
    }
}
