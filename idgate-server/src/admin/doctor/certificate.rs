//! The certificate of a TLS listener: its dates, and the name that wallets use.

use idgate_core::UnixMillis;
use url::{Host, Url};
use x509_parser::certificate::X509Certificate;
use x509_parser::extensions::GeneralName;
use x509_parser::prelude::FromDer as _;

use idgate_store::Finding;

/// ACME renews a month before the end, so a renewal has failed if less time is left.
const SOON_MS: u64 = 14 * 86_400_000;

/// Checks the certificate of a listener at `base_url`.
pub(super) fn check(der: &[u8], base_url: &str, now: UnixMillis) -> Finding {
    let Ok((_, certificate)) = X509Certificate::from_der(der) else {
        return Finding::bad("tls", "the first certificate cannot be read; replace it");
    };
    let validity = certificate.validity();
    let time = |at: i64| UnixMillis::from_secs(u64::try_from(at).unwrap_or(0));
    let (begin, end) =
        (time(validity.not_before.timestamp()), time(validity.not_after.timestamp()));
    if now < begin || now > end {
        let what = format!("the certificate is valid from {begin} to {end} only; renew it");
        return Finding::bad("tls", what);
    }
    let host = Url::parse(base_url).ok().and_then(|url| url.host().map(|host| host.to_owned()));
    if !host.is_some_and(|host| is_for(&certificate, &host)) {
        let what = format!("the certificate is not for the host of {base_url}; wallets refuse it");
        return Finding::bad("tls", what);
    }
    if end.since(now) < SOON_MS {
        return Finding::warning("tls", format!("the certificate ends on {end}; renew it"));
    }
    Finding::good("tls", format!("the certificate is valid until {end}"))
}

/// Whether a subjectAltName matches the host (RFC 9525 6.3; one wildcard label).
fn is_for(certificate: &X509Certificate<'_>, host: &Host) -> bool {
    let Ok(Some(names)) = certificate.subject_alternative_name() else { return false };
    names.value.general_names.iter().any(|name| match (name, host) {
        (GeneralName::DNSName(pattern), Host::Domain(host)) => covers(pattern, host),
        (GeneralName::IPAddress(bytes), Host::Ipv4(address)) => *bytes == address.octets(),
        (GeneralName::IPAddress(bytes), Host::Ipv6(address)) => *bytes == address.octets(),
        _ => false,
    })
}

fn covers(pattern: &str, host: &str) -> bool {
    match pattern.strip_prefix("*.") {
        Some(rest) => host.split_once('.').is_some_and(|(_, own)| own.eq_ignore_ascii_case(rest)),
        None => pattern.eq_ignore_ascii_case(host),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use idgate_testkit::keys::{Curve, SigningKey};
    use idgate_testkit::x509::{self, CertificateBuilder, Name};

    use super::*;
    use idgate_store::Health;

    const NOW: UnixMillis = UnixMillis(1_800_000_000_000);
    const DAY_MS: u64 = 86_400_000;

    #[test]
    fn dates_and_names_are_checked() {
        let key = SigningKey::from_seed(Curve::P256, "tls");
        let name = Name::new("UT", "tls");
        let made = CertificateBuilder::new(name.clone(), name, &key, NOW.0, 31).set(
            x509::SUBJECT_ALT_NAME,
            false,
            x509::ip_names([127, 0, 0, 1]),
        );
        let der = made.sign(&key);
        let health = |url, days: u64| check(&der, url, NOW.plus(days * DAY_MS)).health;
        assert_eq!(health("https://127.0.0.1:8443", 0), Health::Good);
        assert_eq!(health("https://127.0.0.1:8443", 20), Health::Warning);
        assert_eq!(health("https://127.0.0.1:8443", 31), Health::Bad);
        assert_eq!(health("https://127.0.0.2", 0), Health::Bad);
        assert_eq!(health("https://gateway.example", 0), Health::Bad);
        assert_eq!(check(&der, "https://127.0.0.1", UnixMillis(0)).health, Health::Bad);
        assert_eq!(check(b"junk", "https://127.0.0.1", NOW).health, Health::Bad);
    }

    #[test]
    fn a_wildcard_matches_one_label() {
        assert!(covers("Gateway.example", "gateway.example"));
        assert!(covers("*.example", "gateway.example"));
        assert!(!covers("*.example", "a.gateway.example"));
        assert!(!covers("*.example", "example"));
        assert!(!covers("gateway.example", "gateway.example.evil"));
    }
}
