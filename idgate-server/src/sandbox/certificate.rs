//! The certificate of the sandbox's own https: made at start, below a CA of the sandbox, for loopback and
//! the names that it was given.

use std::net::IpAddr;
use std::sync::Arc;

use idgate_testkit::der;
use idgate_testkit::keys::{Curve, SigningKey};
use idgate_testkit::x509::{
    CertificateBuilder, EXT_KEY_USAGE, Identity, KEY_USAGE, Name, SUBJECT_ALT_NAME, ext_key_usage,
    key_usage,
};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::aws_lc_rs::default_provider;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

const SERVER_AUTH: &str = "1.3.6.1.5.5.7.3.1";
const DIGITAL_SIGNATURE: u8 = 0b1000_0000;
/// Browsers take no certificate that is good for longer than 398.
const DAYS: u64 = 90;
/// Tags of a dNSName and an iPAddress in a GeneralName.
const DNS_NAME: u8 = 0x82;
const IP_ADDRESS: u8 = 0x87;

/// The CA; the same one for a seed.
pub(super) fn authority(seed: &str, made_at: u64) -> Identity {
    let key = SigningKey::from_seed(Curve::P256, format!("{seed} https"));
    CertificateBuilder::issuer_root(Name::new("UT", "idgate sandbox CA"), &key, made_at)
        .self_sign(&key)
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
