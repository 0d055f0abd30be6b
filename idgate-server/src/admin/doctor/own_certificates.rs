//! The certificates of the gateway and its clients: their dates, and whether the profiles that need
//! one have one.

use idgate_core::{Profile, UnixMillis, Verifier};

use crate::config::{ClientId, Config, RequestMode};
use idgate_store::gateway_key::RENEW_BEFORE_MS;
use idgate_store::{CertificateRecord, Finding};

const CHECK: &str = "certificates";

/// Checks `records`, with the settings if those are valid.
pub(super) fn judge(
    records: &[CertificateRecord],
    config: Option<&Config>,
    now: UnixMillis,
) -> Vec<Finding> {
    let in_force: Vec<_> = records.iter().filter(|record| record.replaced_at.is_none()).collect();
    let needs = config.is_some_and(needs_certificate);
    if in_force.is_empty() {
        let what = "there is none, but a profile in IDGATE_PROFILES needs one; begin with `idgate keys \
                    csr`";
        return needs.then(|| Finding::warning(CHECK, what)).into_iter().collect();
    }
    let mut found: Vec<Finding> = in_force.iter().map(|record| about(record, now)).collect();
    found.extend(in_force.iter().filter_map(|record| without_timestamps(record)));
    if needs && !in_force.iter().any(|record| record.client_id.is_empty()) {
        let what = "the gateway has none, so clients without their own have none; begin with `idgate \
                    keys csr`";
        found.push(Finding::warning(CHECK, what));
    }
    if let Some(config) = config.filter(|config| goes_by_name(config)) {
        found.extend(about_names(&in_force, config));
    }
    found
}

/// Checks that the certificates have the host of the base URL.
fn about_names(in_force: &[&CertificateRecord], config: &Config) -> Vec<Finding> {
    let Some(host) = Verifier::host_name(&config.base_url_at(config.listen)) else {
        let what = "x509_san_dns needs a host, and IDGATE_BASE_URL names none; set it to the URL that \
                    wallets use";
        return vec![Finding::warning(CHECK, what)];
    };
    let nameless = in_force.iter().filter(|record| !record.certificate.names_host(&host));
    let finding = |record: &&CertificateRecord| {
        let whose = whose(record);
        let what = format!(
            "that of {whose} has no dNSName {host}, which x509_san_dns needs; have it issued again \
             with that name, or change IDGATE_CLIENT_ID"
        );
        Finding::warning(CHECK, what)
    };
    nameless.map(finding).collect()
}

fn about(record: &CertificateRecord, now: UnixMillis) -> Finding {
    let (whose, until) = (whose(record), record.certificate.valid_until);
    if !record.certificate.is_valid_at(now) {
        let what = format!(
            "that of {whose} expired at {until}, and sessions that need it are refused; renew it"
        );
        return Finding::bad(CHECK, what);
    }
    if until.since(now) < RENEW_BEFORE_MS {
        return Finding::warning(CHECK, format!("that of {whose} ends on {until}; renew it"));
    }
    Finding::good(CHECK, format!("that of {whose} is valid until {until}"))
}

/// Warns of an EU access certificate, which names its organization, without the timestamps that EU
/// wallets check.
fn without_timestamps(record: &CertificateRecord) -> Option<Finding> {
    record.certificate.organization_identifier.as_ref()?;
    let (whose, lacks) = (whose(record), record.certificate.transparency.lacks()?);
    let what = format!(
        "that of {whose} {lacks}, and EU wallets treat it as failed (ARF CT_06); get one that \
         has them"
    );
    Some(Finding::warning(CHECK, what))
}

fn whose(record: &CertificateRecord) -> &str {
    if record.client_id.is_empty() { "the gateway" } else { &record.client_id }
}

/// Whether an enabled profile signs with a certificate.
fn needs_certificate(config: &Config) -> bool {
    config.profiles.enabled.contains(&Profile::Haip)
        || signs_1_0(config) && config.profiles.client_id != ClientId::Did
}

/// Whether certificates must name the host.
fn goes_by_name(config: &Config) -> bool {
    signs_1_0(config) && config.profiles.client_id == ClientId::X509SanDns
}

fn signs_1_0(config: &Config) -> bool {
    let jar = config.request_mode == RequestMode::Jar;
    jar && config.profiles.enabled.contains(&Profile::V1_0)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]
mod tests {
    use std::collections::BTreeMap;

    use idgate_core::crypto::aws_lc_rs::PROVIDER;
    use idgate_core::shell::VerifierCertificate;
    use idgate_testkit::keys::{Curve, SigningKey};
    use idgate_testkit::x509::{CertificateBuilder, Identity, Name};

    use super::*;
    use crate::config::Settings;
    use idgate_store::Health;

    const NOW: UnixMillis = UnixMillis(1_790_000_000_000);
    const DAY_MS: u64 = 86_400_000;

    fn config(pairs: &[(&str, &str)]) -> Config {
        let flags: BTreeMap<String, String> =
            pairs.iter().map(|(key, text)| ((*key).into(), (*text).into())).collect();
        Config::new(&Settings::collect(&flags, [], None).unwrap()).unwrap()
    }

    /// A record of a certificate that is valid from a day before for `days`.
    fn record(client_id: &str, days: u64) -> CertificateRecord {
        record_of(Name::new("UT", "shop"), client_id, days)
    }

    fn record_of(name: Name, client_id: &str, days: u64) -> CertificateRecord {
        let root = Identity::iaca(Curve::P256, NOW.0);
        let key = SigningKey::from_seed(Curve::P256, client_id);
        let leaf = CertificateBuilder::new(name.clone(), name, &key, NOW.0, days).under(&root);
        CertificateRecord {
            client_id: client_id.into(),
            key_id: "key".into(),
            certificate: VerifierCertificate::from_chain(&PROVIDER, &[leaf.sign(&root.key)])
                .unwrap(),
            imported_at: NOW,
            replaced_at: None,
        }
    }

    fn healths(records: &[CertificateRecord], config: Option<&Config>) -> Vec<Health> {
        judge(records, config, NOW).iter().map(|finding| finding.health).collect()
    }

    #[test]
    fn a_certificate_is_warned_of_30_days_before_its_end() {
        assert_eq!(healths(&[record("", 32)], None), [Health::Good]);
        assert_eq!(
            healths(&[record("", 30), record("cli_a", 60)], None),
            [Health::Warning, Health::Good]
        );
        assert_eq!(judge(&[record("", 30)], None, NOW.plus(30 * DAY_MS))[0].health, Health::Bad);
    }

    #[test]
    fn an_access_certificate_without_timestamps_is_warned_of() {
        let name = Name::new("UT", "shop").with("2.5.4.97", 0x0c, "VATUT-123");
        let found = judge(&[record_of(name, "cli_a", 60)], None, NOW);
        let [Finding { health: Health::Good, .. }, warning] = &found[..] else {
            panic!("{found:?}")
        };
        assert_eq!(warning.health, Health::Warning);
        assert!(warning.message.contains("RFC 6962 3.3") && warning.message.contains("cli_a"));
    }

    #[test]
    fn a_replaced_certificate_does_not_count() {
        let replaced = CertificateRecord { replaced_at: Some(NOW), ..record("", 30) };
        assert!(healths(&[replaced], None).is_empty());
    }

    #[test]
    fn a_missing_certificate_of_a_profile_is_warned_of() {
        let draft = config(&[]);
        assert!(healths(&[], Some(&draft)).is_empty());
        let haip = config(&[("profiles", "haip,draft")]);
        assert_eq!(healths(&[], Some(&haip)), [Health::Warning]);
        assert_eq!(healths(&[record("cli_a", 60)], Some(&haip)), [Health::Good, Health::Warning]);
        let by_did = config(&[("profiles", "1.0"), ("oid4vp_request_mode", "jar")]);
        assert!(healths(&[], Some(&by_did)).is_empty());
        let by_name = config(&[
            ("profiles", "1.0"),
            ("oid4vp_request_mode", "jar"),
            ("client_id", "x509_san_dns"),
            ("base_url", "https://gateway.example"),
        ]);
        assert_eq!(healths(&[record("", 60)], Some(&by_name)), [Health::Good, Health::Warning]);
    }

    #[test]
    fn a_base_url_without_a_host_is_warned_of() {
        let by_name = config(&[
            ("profiles", "1.0"),
            ("oid4vp_request_mode", "jar"),
            ("client_id", "x509_san_dns"),
        ]);
        let found = judge(&[record("", 60)], Some(&by_name), NOW);
        assert!(found[1].health == Health::Warning && found[1].message.contains("IDGATE_BASE_URL"));
    }
}
