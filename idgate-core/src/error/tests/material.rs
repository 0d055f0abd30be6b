//! Keys, certificates, lists and settings that cannot be used.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use idgate_testkit::keys::{Curve, SigningKey, pem};
use idgate_testkit::master_list::{MasterList, master_list_signer};
use idgate_testkit::time::{DAY_MS, YEAR_MS};
use idgate_testkit::trusted_list::{Kind, TrustedList, list_ca, list_signer, list_signer_below};
use idgate_testkit::x509::{CertificateBuilder, Identity, Name};
use serde_json::json;

use super::assert_neutral;
use crate::crypto::tests::PROVIDER;
use crate::crypto::{Es256Key, Jwk, PublicKey, SoftwareSigner};
use crate::ids::ClaimPath;
use crate::request::fixtures::NOW;
use crate::request::{ClaimFilter, DcApiPages, Profile, RegistrationCertificate};
use crate::session::ClientIdForm;
use crate::trust::verifier_certificate::ImportRules;
use crate::trust::{ListFile, OnUnknownRevocation, RevocationPolicy};
use crate::trust::{ListState, VerifierCertificate};
use crate::verifier::ProfileOptions;
use crate::webhook::InvalidWebhook;
use crate::webhook::secret::SigningSecret;
use crate::{Issuer, Transcript, Trust, Verifier};

fn key() -> SigningKey {
    SigningKey::from_seed(Curve::P256, "somebody")
}

/// Files that are not keys, certificates or lists of the required kind.
fn files() -> Vec<Vec<u8>> {
    let (key, ca) = (key(), Identity::iaca(Curve::P256, NOW.0));
    let texts = [
        String::new(),
        "what?".into(),
        key.private_pem(),
        key.public_pem(),
        pem("CERTIFICATE", b"what?"),
        pem("X509 CRL", b"what?"),
        "-----BEGIN CERTIFICATE-----\n".into(),
        key.private_jwk().to_string(),
        json!({"keys": []}).to_string(),
        json!({"keys": [{"kty": "oct", "k": "AA"}]}).to_string(),
        json!({"kty": "EC", "crv": "P-256", "x": "AA", "y": "AA"}).to_string(),
        "<?xml version=\"1.0\"?>".into(),
        "a.b.c".into(),
    ];
    let leaf = ca.document_signer(Curve::P256, NOW.0).der;
    texts.into_iter().map(String::into_bytes).chain([vec![0x30, 0x80], leaf]).collect()
}

type With = fn(Issuer, Vec<u8>) -> Issuer;

#[test]
fn texts_about_the_material_of_an_issuer_are_neutral() {
    let fields: [With; 9] = [
        |issuer, file| issuer.jwk(file),
        |issuer, file| issuer.public_key_pem(file),
        |issuer, file| issuer.iaca_roots(file),
        |issuer, file| issuer.mdoc_signers(file),
        |issuer, file| issuer.x5c_roots(file),
        |issuer, file| issuer.x5c_signers(file),
        |issuer, file| issuer.status_roots(file),
        |issuer, file| issuer.crls(file),
        |issuer, _| issuer.mdoc_eku("1.what?"),
    ];
    let mut refusals = 0;
    for (field, file) in
        fields.iter().flat_map(|field| files().into_iter().map(move |it| (field, it)))
    {
        if let Err(refused) = Trust::new(PROVIDER, [field(Issuer::new("issuer"), file)]) {
            assert_neutral(refused);
            refusals += 1;
        }
    }
    assert!(refusals > 100, "{refusals}");
    let again = [Issuer::new("issuer"), Issuer::new("issuer")];
    assert_neutral(Trust::new(PROVIDER, again).unwrap_err());
    let days = [Issuer::new("issuer").status_max_age_days(0)];
    assert_neutral(Trust::new(PROVIDER, days).unwrap_err());
    let both = Issuer::new("issuer").revocation(RevocationPolicy::Required);
    let both = [both.on_unknown_revocation(OnUnknownRevocation::Accept)];
    assert_neutral(Trust::new(PROVIDER, both).unwrap_err());
}

#[test]
fn texts_about_a_list_are_neutral() {
    let kinds: [fn(Issuer, ListFile) -> Issuer; 3] =
        [Issuer::vical, Issuer::master_list, Issuer::trusted_list];
    let ca = Identity::iaca(Curve::P256, NOW.0);
    let master = MasterList::new(&[&ca.der], NOW.0).sign(&master_list_signer(&ca, NOW.0));
    let (pid, signer) = (TrustedList::new(Kind::Pid, NOW.0), list_signer(NOW.0));
    let stranger = list_signer_below(&list_ca(NOW.0), "Example Operator", NOW.0);
    let mut lists = files();
    lists.push(master);
    lists.extend([&signer, &stranger].map(|signer| pid.sign(signer).into_bytes()));
    let refused = |with: fn(Issuer, ListFile) -> Issuer, file: ListFile| {
        let made = Trust::new(PROVIDER, [with(Issuer::new("issuer"), file)]);
        made.err()
            .inspect(|refused| assert_neutral(refused))
            .map(|refused| refused.why().to_string())
    };
    let mut whys = Vec::new();
    for (kind, list) in kinds.iter().flat_map(|kind| lists.iter().map(move |list| (kind, list))) {
        for now in [NOW, NOW.plus(100 * DAY_MS)] {
            let file = || ListFile::new(list.clone(), now);
            let given = file().signed_below(signer.der.clone());
            for file in [file(), given.crls("what?"), file().signed_below("what?")] {
                whys.extend(refused(*kind, file));
            }
            whys.extend(refused(*kind, file().signed_below(signer.der.clone())));
        }
    }
    let needs = "needs the CA of its signer: without it anyone could have made the list";
    let unknown = "has a signer that does not lead to the CA or signer that was given";
    for why in [needs, unknown] {
        assert!(whys.iter().any(|one| one == why), "{why}");
    }
    assert!(whys.iter().any(|one| one.contains("was due to be replaced on")));
    assert_neutral("what?".parse::<ListState>().unwrap_err());
}

#[test]
fn texts_about_the_certificate_of_a_verifier_are_neutral() {
    let (key, other) = (key(), SigningKey::from_seed(Curve::P256, "other"));
    let ca = Identity::iaca(Curve::P256, NOW.0);
    let name = Name::new("UT", "verifier");
    let leaf = |key: &SigningKey| {
        let leaf = CertificateBuilder::new(name.clone(), name.clone(), key, NOW.0, 30).under(&ca);
        leaf.issue(&ca, key).der
    };
    let own = PublicKey::from_spki_der(&key.public_spki()).unwrap();
    let keys = [own];
    let chain = |chain: &[Vec<u8>]| {
        let parts = chain.iter().map(|der| pem("CERTIFICATE", der));
        parts.collect::<String>().into_bytes()
    };
    let mut files = files();
    files.extend([
        chain(&[leaf(&key)]),
        chain(&[leaf(&other)]),
        chain(&[leaf(&key), leaf(&other)]),
        chain(&vec![leaf(&key); 11]),
        chain(&[leaf(&SigningKey::from_seed(Curve::P384, "another"))]),
        ca.der,
    ]);
    for file in files {
        for now in [NOW.minus(YEAR_MS), NOW, NOW.plus(31 * DAY_MS)] {
            let rules = ImportRules { keys: &keys, host: Some("verifier.example"), now };
            assert_neutral(VerifierCertificate::import(&PROVIDER, &file, &rules).unwrap_err());
        }
    }
    for text in ["", "a.b.c", "e30.e30.", "é"] {
        assert_neutral(RegistrationCertificate::import(text, None, NOW).unwrap_err());
    }
}

#[test]
fn texts_about_the_settings_of_a_verifier_are_neutral() {
    let urls = [
        "",
        "verifier.example",
        "http://verifier.example",
        "https://verifier.example/",
        "https://a@verifier.example",
        "https://verifier .example",
        "https://a_b.example",
        "ftp://verifier.example",
    ];
    for url in urls {
        assert_neutral(Verifier::origin(url).unwrap_err());
    }
    for page in
        ["", "a.example", "http://a.example", "https://a.example/path", "https://a b.example"]
    {
        assert_neutral(DcApiPages::origin(page).unwrap_err());
    }
    let signer =
        |key_id: &str| SoftwareSigner::new(Es256Key::from_scalar(&[3; 32]).unwrap(), key_id);
    let built = |signer: SoftwareSigner, form| {
        let mut options = ProfileOptions::new([Profile::V1_0]);
        options.client_id_form = form;
        let trust = Trust::new(PROVIDER, []).unwrap();
        let builder = Verifier::builder(trust).profiles([Profile::V1_0]);
        let builder = builder.signed("https://verifier.example", signer);
        builder.profile_options(options).build().map(drop)
    };
    let certified = |key_id: &str, chain: &[u8]| {
        signer(key_id).with_certificate_chain(Vec::from([chain.to_vec()]))
    };
    let ca = Identity::iaca(Curve::P256, NOW.0).der;
    let by_did = ClientIdForm::DecentralizedIdentifier;
    for (signer, form) in [
        (signer("key"), by_did),
        (signer("did:web:verifier.example#key"), ClientIdForm::Did),
        (certified("", &ca), by_did),
        (certified("cert", b"what?"), by_did),
        (certified("cert", &ca), by_did),
    ] {
        assert_neutral(built(signer, form).unwrap_err());
    }
}

#[test]
fn texts_about_other_values_are_neutral() {
    for text in ["", "{", "[]", "[{}]", r#"{"kty":"EC"}"#, r#"{"kty":"EC","crv":"P-256","x":1}"#] {
        assert_neutral(Jwk::parse(text.as_bytes()).map(drop).unwrap_err().0);
        assert_neutral(ClaimPath::from_json(text).unwrap_err());
        assert_neutral(ClaimFilter::from_values(text).unwrap_err());
        let transcript = Transcript::openid4vp("https://verifier.example/response");
        assert_neutral(transcript.encrypted_to(text.as_bytes()).map(drop).unwrap_err());
    }
    let apu = Transcript::openid4vp("https://verifier.example/response").apu("é");
    assert_neutral(apu.map(drop).unwrap_err());
    for file in files() {
        let file = String::from_utf8_lossy(&file).replace("PRIVATE", "OTHER");
        if let Err(refused) = PublicKey::from_pem(&file) {
            assert_neutral(refused.0);
        }
    }
    assert_neutral(SigningSecret::new("short").map(drop).unwrap_err());
    let webhooks = [InvalidWebhook::Timestamp, InvalidWebhook::Stale, InvalidWebhook::Signature];
    webhooks.into_iter().for_each(assert_neutral);
}
