//! The access certificate that HAIP requires, issued by a sample CA.

use idgate_core::crypto::aws_lc_rs::PROVIDER;
use idgate_core::shell::{ImportRules, VerifierCertificate};
use idgate_core::{Profile, UnixMillis, Verifier};
use idgate_testkit::keys::{Curve, SigningKey};
use idgate_testkit::x509::{
    CertificateBuilder, Identity, KEY_USAGE, Name, SUBJECT_ALT_NAME, dns_names, key_usage,
};

use idgate_server::config::{ClientId, Config};
use idgate_store::OperatorStore;

const DAYS: u64 = 90;
const DIGITAL_SIGNATURE: u8 = 0b1000_0000;

/// If a profile requires a certificate, does what `idgate keys csr`, a CA and `idgate keys
/// certificate` do. Returns the CA's certificate, which wallets must trust.
pub(crate) fn certify(
    operator: &mut OperatorStore,
    config: &Config,
    now: UnixMillis,
) -> Result<Option<Vec<u8>>, String> {
    let profiles = &config.profiles;
    if !profiles.enabled.contains(&Profile::Haip) && profiles.client_id == ClientId::Did {
        return Ok(None);
    }
    let host = config.base_url.as_deref().and_then(Verifier::host_name);
    let host = host.as_deref();
    let authority = authority(now);
    let key = operator.requested_key("", now).map_err(explain)?;
    let leaf = leaf(&authority, key.public().spki_der(), host, now);
    let keys = operator.certificate_keys("").map_err(explain)?;
    let rules = ImportRules { keys: &keys, host, now };
    let imported = VerifierCertificate::import(&PROVIDER, &leaf, &rules).map_err(explain)?;
    operator.import_certificate("", &imported.certificate, now).map_err(explain)?;
    Ok(Some(authority.der))
}

fn authority(now: UnixMillis) -> Identity {
    let key = SigningKey::from_seed(Curve::P256, "idgate sample access authority");
    let name = Name::new("UT", "Utopia access authority");
    CertificateBuilder::issuer_root(name, &key, now.0).self_sign(&key)
}

/// A certificate for the key in `spki` and the name `host`.
fn leaf(authority: &Identity, spki: Vec<u8>, host: Option<&str>, now: UnixMillis) -> Vec<u8> {
    let subject = Name::new("UT", "idgate demo");
    let mut builder =
        CertificateBuilder::new(subject.clone(), subject, &authority.key, now.0, DAYS)
            .set(KEY_USAGE, true, key_usage(DIGITAL_SIGNATURE))
            .under(authority);
    builder.spki = spki;
    if let Some(host) = host {
        builder = builder.set(SUBJECT_ALT_NAME, false, dns_names(&[host]));
    }
    builder.sign(&authority.key)
}

fn explain(error: impl std::fmt::Display) -> String {
    error.to_string()
}
