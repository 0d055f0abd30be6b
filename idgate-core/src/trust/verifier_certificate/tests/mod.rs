use alloc::vec;

use idgate_testkit::codec::HashAlg;
use idgate_testkit::der::{bit_string, ecdsa_signature, oid, sequence, tlv};
use idgate_testkit::keys::{self, SigningKey};
use idgate_testkit::time::{DAY_MS, SAMPLE_NOW_MS, YEAR_MS};
use idgate_testkit::x509::{self, CertificateBuilder, Identity, Name};
use sha1::{Digest as _, Sha1};

use super::*;
use crate::codec::der::{self, Reader};
use crate::crypto::tests::PROVIDER;

const NOW: UnixMillis = UnixMillis(SAMPLE_NOW_MS);
const HOST: &str = "gateway.example";

fn signing_key(seed: &str) -> SigningKey {
    SigningKey::from_seed(keys::Curve::P256, seed)
}

fn key(seed: &str) -> PublicKey {
    PublicKey::from_spki_der(&signing_key(seed).public_spki()).unwrap()
}

fn root() -> Identity {
    let builder = Identity::iaca(keys::Curve::P256, SAMPLE_NOW_MS).builder;
    let key = signing_key("access CA");
    let builder = builder.set(x509::BASIC_CONSTRAINTS, true, x509::basic_constraints(true, None));
    builder.with(|own| own.spki = key.public_spki()).self_sign(&key)
}

fn intermediate() -> Identity {
    let (root, key) = (root(), signing_key("intermediate"));
    let name = Name::new("UT", "Utopia access CA 1");
    CertificateBuilder::intermediate(&root, name, &key, SAMPLE_NOW_MS).issue(&root, &key)
}

fn dns(names: &[&str]) -> Vec<u8> {
    sequence(&[&names.iter().flat_map(|name| tlv(0x82, &[name.as_bytes()])).collect::<Vec<_>>()])
}

/// The certificate that an access CA issues for the key `verifier`.
fn leaf() -> CertificateBuilder {
    let name = Name::new("UT", "Utopia shop").with("2.5.4.97", 0x0c, "VATUT-123");
    CertificateBuilder::new(name.clone(), name, &signing_key("verifier"), SAMPLE_NOW_MS, 365)
        .set(x509::KEY_USAGE, true, x509::key_usage(0x80))
        .set(x509::SUBJECT_ALT_NAME, false, dns(&["other.example", "Gateway.example"]))
        .under(&intermediate())
}

fn issued(builder: &CertificateBuilder) -> Vec<u8> {
    builder.sign(&intermediate().key)
}

fn pem(chain: &[&[u8]]) -> Vec<u8> {
    chain.iter().map(|der| keys::pem("CERTIFICATE", der)).collect::<String>().into_bytes()
}

fn import_at(file: &[u8], now: UnixMillis) -> Result<ImportedCertificate, Refusal> {
    let keys = [key("another"), key("verifier")];
    let rules = ImportRules { keys: &keys, host: Some(HOST), now };
    VerifierCertificate::import(&PROVIDER, file, &rules)
}

fn import(chain: &[&[u8]]) -> Result<ImportedCertificate, Refusal> {
    import_at(&pem(chain), NOW)
}

/// The refusal of `builder`'s certificate, followed by the intermediate.
#[track_caller]
fn refused(builder: &CertificateBuilder) -> Refusal {
    import(&[&issued(builder), &intermediate().der]).unwrap_err()
}

#[test]
fn a_chain_is_imported_with_its_contents() {
    let leaf = issued(&leaf());
    let taken = import(&[&leaf, &intermediate().der]).unwrap();
    assert!(!taken.dropped_root);
    let certificate = taken.certificate;
    assert_eq!(certificate.chain, [leaf.clone(), intermediate().der]);
    assert_eq!(certificate.key, key("verifier"));
    assert_eq!(certificate.subject, "2.5.4.97=#0c0956415455542d313233,CN=Utopia shop,C=UT");
    assert_eq!(certificate.organization_identifier.as_deref(), Some("VATUT-123"));
    assert_eq!(certificate.dns_names, ["other.example", HOST]);
    assert_eq!(certificate.valid_until, NOW.plus(364 * DAY_MS));
    assert_eq!(certificate.x509_hash, base64url::encode(&HashAlg::Sha256.hash(&leaf)));
    assert_eq!(
        VerifierCertificate::from_chain(&PROVIDER, &certificate.chain).unwrap(),
        certificate
    );
    assert!(import(&[&leaf]).is_ok(), "the CA above may be the wallets' own");
}

#[test]
fn its_services_are_its_organizational_units() {
    let named = |units: &[&str]| {
        let name = Name::new("UT", "Utopia shop");
        let name = units.iter().fold(name, |name, unit| name.with("2.5.4.11", 0x0c, unit));
        let leaf = issued(&leaf().with(|own| own.subject = name));
        import(&[&leaf, &intermediate().der]).unwrap().certificate.services
    };
    assert_eq!(named(&[]), [""; 0]);
    assert_eq!(named(&["shop", "bank"]), ["shop", "bank"]);
}

/// RFC 6962 3.2, 3.3: a timestamp of version 1 in a list, in an OCTET STRING.
fn timestamps() -> Vec<u8> {
    let mut timestamp = vec![0];
    timestamp.extend([7; 32]);
    timestamp.extend([0, 0, 1, 0x9a, 0, 0, 0, 0]);
    timestamp.extend([0, 0, 4, 3, 0, 2, 0x30, 0]);
    let length = |bytes: &[u8]| u16::try_from(bytes.len()).unwrap().to_be_bytes();
    let list = [&length(&timestamp)[..], &timestamp].concat();
    tlv(4, &[&length(&list), &list])
}

#[test]
fn a_missing_or_broken_list_of_timestamps_is_reported_and_never_refused() {
    let with = |list: Option<Vec<u8>>| {
        let builder = match list {
            Some(list) => leaf().set("1.3.6.1.4.1.11129.2.4.2", false, list),
            None => leaf(),
        };
        let taken = import(&[&issued(&builder), &intermediate().der]).unwrap();
        taken.certificate.transparency
    };
    assert_eq!(with(None), Transparency::Missing);
    assert_eq!(with(Some(timestamps())), Transparency::Present);
    let mut cut = timestamps();
    cut.truncate(cut.len() - 3);
    for broken in [vec![], tlv(4, &[]), tlv(4, &[&[0, 0]]), tlv(4, &[&[0, 9, 0, 7, 1]]), cut] {
        assert_eq!(with(Some(broken.clone())), Transparency::Unreadable, "{broken:?}");
    }
}

/// OpenID4VP 1.0 5.9.3: the value after `x509_hash:` for the document signer of ISO/IEC 18013-5
/// Annex D, which is in `IDGATE_VECTORS`, or next to the repository.
#[test]
fn the_hash_of_annex_ds_certificate_is_the_known_one() {
    let beside = concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared/vectors");
    let vectors = std::env::var("IDGATE_VECTORS").unwrap_or_else(|_| beside.into());
    let file = std::path::Path::new(&vectors).join("iso18013-annex-d/vectors.json");
    let Ok(text) = std::fs::read(&file) else {
        std::eprintln!("skipped: no iso18013-annex-d under IDGATE_VECTORS");
        return;
    };
    let vectors: serde_json::Value = serde_json::from_slice(&text).unwrap();
    let hex = vectors["ISO_18013_5_ANNEX_D_DS_CERT"].as_str().unwrap();
    let byte = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
    let leaf: Vec<u8> = (0..hex.len()).step_by(2).map(byte).collect();
    let certificate = VerifierCertificate::from_chain(&PROVIDER, &[leaf]).unwrap();
    assert_eq!(certificate.x509_hash, "t5eY67wMr7QGaDtgp1rXjfc1vDU14xFR2w4t_Eu5jTs");
}

#[test]
fn a_self_signed_last_certificate_is_removed() {
    let (leaf, root) = (issued(&leaf()), root().der);
    let taken = import(&[&leaf, &intermediate().der, &root]).unwrap();
    assert!(taken.dropped_root);
    assert_eq!(taken.certificate.chain, [leaf, intermediate().der]);
}

/// This library does not verify SHA-1, but the certificate is removed anyway, and the one before it
/// is signed by it.
#[test]
fn a_last_certificate_self_signed_with_sha_1_is_removed() {
    let (leaf, root) = (issued(&leaf()), signed_with_sha_1(&root()));
    assert!(Certificate::parse(&root).unwrap().signature_algorithm().is_none());
    let taken = import(&[&leaf, &intermediate().der, &root]).unwrap();
    assert!(taken.dropped_root);
    assert_eq!(taken.certificate.chain, [leaf.clone(), intermediate().der]);
    assert_eq!(import(&[&leaf, &root]).unwrap_err(), Refusal::NotSignedByNext(1));
}

/// The root's certificate with a new signature.
fn signed_with_sha_1(root: &Identity) -> Vec<u8> {
    let tbs = root.builder.tbs(&root.key);
    let mut fields = Reader::within(&tbs, der::SEQUENCE).unwrap();
    let own = x509::signature_algorithm(root.key.curve(), None);
    let algorithm = sequence(&[&oid("1.2.840.10045.4.1")]);
    let mut signed = Vec::new();
    while !fields.is_empty() {
        let field = fields.next().unwrap().raw;
        signed.extend_from_slice(if field == own { &algorithm[..] } else { field });
    }
    let tbs = sequence(&[&signed]);
    let signature = ecdsa_signature(&root.key.sign_prehashed(&Sha1::digest(&tbs)));
    sequence(&[&tbs, &algorithm, &bit_string(&signature)])
}

#[test]
fn files_without_certificates_are_refused() {
    let damaged = |file: &str| file.replace("-----END", "");
    let whole = String::from_utf8(pem(&[&issued(&leaf())])).unwrap();
    let private = [whole.as_str(), &signing_key("verifier").private_pem()].concat();
    for file in ["", "text", &damaged(&whole), &whole.replace("MII", "M!I"), &private] {
        let refusal = import_at(file.as_bytes(), NOW).unwrap_err();
        assert!(matches!(refusal, Refusal::Unreadable(_)), "{refusal}");
    }
}

#[test]
fn a_chain_has_at_most_10_certificates() {
    let leaf = issued(&leaf());
    assert_eq!(import(&[leaf.as_slice(); 11]).unwrap_err(), Refusal::TooMany);
}

#[test]
fn a_malformed_certificate_is_refused_with_its_place() {
    let leaf = issued(&leaf());
    for hostile in [&b"\x30\x00"[..], &[0x30, 0x80], &leaf[..leaf.len() - 1], &[0xff; 64]] {
        let refusal = import(&[&leaf, hostile]).unwrap_err();
        assert!(matches!(refusal, Refusal::Malformed(2, _)), "{refusal}");
    }
    let large = CertificateBuilder::set(
        intermediate().builder,
        "1.2.3.4",
        false,
        tlv(4, &[&vec![0; 20_000]]),
    );
    let refusal = import(&[&leaf, &large.sign(&root().key)]).unwrap_err();
    assert!(matches!(refusal, Refusal::Malformed(2, _)), "{refusal}");
}

#[test]
fn the_key_is_on_p_256() {
    for curve in [keys::Curve::P384, keys::Curve::P521] {
        let spki = SigningKey::from_seed(curve, "verifier").public_spki();
        assert_eq!(refused(&leaf().with(|own| own.spki = spki)), Refusal::NotP256);
    }
}

#[test]
fn the_key_is_one_of_ours() {
    let other = leaf().with(|own| own.spki = signing_key("stranger").public_spki());
    assert_eq!(refused(&other), Refusal::OtherKey);
    let swapped = import(&[&intermediate().der, &issued(&leaf())]);
    assert_eq!(swapped.unwrap_err(), Refusal::OtherKey);
}

#[test]
fn the_first_certificate_is_not_self_signed() {
    let own = leaf().with(|own| own.issuer = own.subject.clone()).sign(&signing_key("verifier"));
    assert_eq!(import(&[&own]).unwrap_err(), Refusal::SelfSigned);
}

#[test]
fn the_first_certificate_is_not_a_ca() {
    let ca = leaf().set(x509::BASIC_CONSTRAINTS, true, x509::basic_constraints(true, None));
    assert_eq!(refused(&ca), Refusal::IsCa);
}

#[test]
fn a_key_usage_has_digital_signature() {
    let other = leaf().set(x509::KEY_USAGE, true, x509::key_usage(0x08));
    assert_eq!(refused(&other), Refusal::KeyUsage);
    let without = issued(&leaf().without(x509::KEY_USAGE));
    assert!(import(&[&without, &intermediate().der]).is_ok());
}

#[test]
fn x509_san_dns_needs_the_host_among_the_names() {
    let missing = Refusal::HostMissing(HOST.into());
    for names in [&["*.example"][..], &["a.gateway.example"], &["gateway.exampl"], &[]] {
        let other = leaf().set(x509::SUBJECT_ALT_NAME, false, dns(names));
        assert_eq!(refused(&other), missing, "{names:?}");
    }
    let without = leaf().without(x509::SUBJECT_ALT_NAME);
    assert_eq!(refused(&without), missing);
    let keys = [key("verifier")];
    let rules = ImportRules { keys: &keys, host: None, now: NOW };
    let taken = VerifierCertificate::import(&PROVIDER, &pem(&[&issued(&without)]), &rules).unwrap();
    assert!(!taken.certificate.names_host(HOST), "x509_hash asks for no name");
}

#[test]
fn each_certificate_is_signed_by_the_next() {
    let leaf_der = issued(&leaf());
    let stranger = Identity::iaca(keys::Curve::P384, SAMPLE_NOW_MS);
    let foreign = CertificateBuilder::intermediate(
        &stranger,
        intermediate().builder.subject,
        &signing_key("stranger"),
        SAMPLE_NOW_MS,
    )
    .sign(&stranger.key);
    assert_eq!(import(&[&leaf_der, &foreign]).unwrap_err(), Refusal::NotSignedByNext(1));
    let unrelated = [&leaf_der[..], &intermediate().der, &foreign];
    assert_eq!(import(&unrelated).unwrap_err(), Refusal::NotSignedByNext(2));
}

#[test]
fn the_removed_root_must_have_signed_the_one_before_it() {
    let leaf = issued(&leaf());
    let stranger = Identity::iaca(keys::Curve::P384, SAMPLE_NOW_MS).der;
    let key = signing_key("stranger");
    let of_that_name = root().builder.with(|own| own.spki = key.public_spki()).self_sign(&key).der;
    for root in [&root().der, &stranger, &of_that_name] {
        assert_eq!(import(&[&leaf, root]).unwrap_err(), Refusal::NotSignedByNext(1));
    }
    for root in [&stranger, &of_that_name] {
        let refusal = import(&[&leaf, &intermediate().der, root]).unwrap_err();
        assert_eq!(refusal, Refusal::NotSignedByNext(2));
    }
}

#[test]
fn the_signer_of_the_first_certificate_must_be_a_ca() {
    let not_a_ca = intermediate().builder.without(x509::BASIC_CONSTRAINTS).sign(&root().key);
    let refusal = import(&[&issued(&leaf()), &not_a_ca]).unwrap_err();
    assert_eq!(refusal, Refusal::NotSignedByNext(1));
}

#[test]
fn every_certificate_is_within_its_validity() {
    let late = leaf().with(|own| own.not_before_ms = SAMPLE_NOW_MS + DAY_MS);
    assert_eq!(refused(&late), Refusal::NotYetValid(1, NOW.plus(DAY_MS)));
    let gone = leaf().with(|own| own.not_after_ms = SAMPLE_NOW_MS - 1000);
    assert_eq!(refused(&gone), Refusal::Expired(1, NOW.minus(1000)));
    let until = NOW.minus(DAY_MS).plus(2 * YEAR_MS);
    let old = intermediate().builder.with(|own| own.not_after_ms = until.0).sign(&root().key);
    let leaf = issued(&leaf().with(|own| own.not_after_ms = until.0 + DAY_MS));
    let file = pem(&[&leaf, &old]);
    let taken = import_at(&file, until.plus(999)).unwrap().certificate;
    assert_eq!(taken.valid_until, until);
    assert!(taken.is_valid_at(until.plus(999)) && !taken.is_valid_at(until.plus(1000)));
    assert_eq!(import_at(&file, until.plus(1000)).unwrap_err(), Refusal::Expired(2, until));
}

#[test]
fn the_hash_of_a_certificate_is_that_of_its_der() {
    // SHA-256 of the empty input.
    assert_eq!(x509_hash(&PROVIDER, b""), "47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU");
}
