//! Limits of the library: the last value that is accepted, and the first that is refused.

use idgate_core::UnixMillis;
use idgate_core::crypto::{
    ContentEncryption, CryptoProvider, Curve, EcdhPrivateKey, aws_lc_rs, rustcrypto,
};
use idgate_core::jose::JweRecipient;
use idgate_core::shell::limits::{
    MAX_CERTIFICATES, MAX_JWE_HEADER_CHARS, MAX_LIST_PROVIDERS, MAX_LIST_SERVICES,
};
use idgate_core::shell::{ListAnchors, ListRules};
use idgate_testkit::codec::from_base64url;
use idgate_testkit::jwe::{Enc, Encryption};
use idgate_testkit::keys::{Curve as KitCurve, SigningKey};
use idgate_testkit::time::SAMPLE_NOW_MS;
use idgate_testkit::trusted_list::list_signer;
use idgate_testkit::x509::Identity;
use idgate_testkit::xml_list::{GRANTED, QEAA, XmlKind, XmlList, provider, service};
use idgate_xml_list::import_trusted_list;
use serde_json::Value;

const PROVIDERS: [CryptoProvider; 2] = [aws_lc_rs::PROVIDER, rustcrypto::PROVIDER];
const NOW: UnixMillis = UnixMillis(SAMPLE_NOW_MS);

#[test]
fn the_header_of_a_jwe_has_at_most_8192_characters() {
    assert_eq!(MAX_JWE_HEADER_CHARS, 8192);
    let recipient = SigningKey::from_seed(KitCurve::P256, "recipient");
    let ephemeral = SigningKey::from_seed(KitCurve::P256, "ephemeral");
    let padded = |bytes: usize| {
        let public = recipient.public_sec1();
        let mut encryption = Encryption::new(&public, "k", Enc::A128Gcm, &ephemeral);
        encryption.set("x", "");
        let rest = Value::from(encryption.header.clone()).to_string().len();
        encryption.set("x", "x".repeat(bytes - rest));
        encryption.encrypt(b"answer").unwrap()
    };
    let scalar = recipient.private_jwk()["d"].as_str().and_then(from_base64url).unwrap();
    let key = EcdhPrivateKey::from_scalar(Curve::P256, &scalar).unwrap();
    let ours = JweRecipient { key: &key, kid: "k", enc: &ContentEncryption::ALL };
    // Base64url writes three bytes as four characters.
    let (longest, longer) = (padded(8192 / 4 * 3), padded(8192 / 4 * 3 + 1));
    assert_eq!(longest[0].len(), 8192);
    for provider in PROVIDERS {
        assert!(ours.open(&provider, &longest.join(".")).is_ok());
        assert!(ours.open(&provider, &longer.join(".")).is_err());
    }
}

/// The verdict on a national list in XML with that many providers, each with that many services,
/// each with that many certificates.
fn verdict(providers: usize, services: usize, certificates: usize) -> Result<(), String> {
    let (signer, issuer) =
        (list_signer(SAMPLE_NOW_MS), Identity::issuer_root(KitCurve::P256, SAMPLE_NOW_MS));
    let one = service(QEAA, GRANTED, &vec![&issuer.der[..]; certificates]);
    let mut list = XmlList::new(XmlKind::National, SAMPLE_NOW_MS);
    for n in 0..providers {
        let id = format!("VATUT-{n}");
        list = list.with(provider("P", &id, "UT", &vec![one.clone(); services]));
    }
    let anchors = ListAnchors::from_file(&aws_lc_rs::PROVIDER, &signer.der).unwrap();
    let file = list.sign(&signer);
    let rules = ListRules::new(&anchors);
    let read = import_trusted_list(&aws_lc_rs::PROVIDER, file.as_bytes(), &rules, NOW);
    read.map(drop).map_err(|error| error.to_string())
}

#[test]
fn a_list_in_xml_has_at_most_2000_providers_of_20_services_with_10_certificates() {
    let limits = (MAX_LIST_PROVIDERS, MAX_LIST_SERVICES, MAX_CERTIFICATES);
    assert_eq!(limits, (2000, 20, 10));
    for good in [(2000, 1, 1), (1, 20, 1), (1, 1, 10)] {
        assert_eq!(verdict(good.0, good.1, good.2), Ok(()), "{good:?}");
    }
    for (providers, services, certificates, why) in [
        (2001, 1, 1, "has more than 2000 providers"),
        (1, 21, 1, "has a provider with more than 20 services"),
        (1, 1, 11, "has a service with more than 10 certificates"),
    ] {
        let refused = verdict(providers, services, certificates).unwrap_err();
        assert!(refused.contains(why), "{refused}");
    }
}
