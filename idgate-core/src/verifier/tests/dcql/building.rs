//! Decisions that fit together, and those that no verifier can be built with.

use super::*;
use crate::verifier::builder::Ready;

#[test]
fn a_certificate_that_cannot_be_read_does_not_build() {
    let key = Es256Key::from_scalar(&[4; 32]).unwrap();
    let signer = SoftwareSigner::new(key, "cert").with_certificate_chain(vec![b"leaf".to_vec()]);
    let builder = fixtures::builder(PROVIDER).unsigned(ORIGIN);
    let refused = builder.signer(Arc::new(signer)).build();
    assert!(matches!(refused, Err(ConfigError::Signer(text)) if text.contains("certificate")));
}

fn refused(builder: VerifierBuilder<Ready>) -> &'static str {
    match builder.build() {
        Err(ConfigError::Signer(text)) => text,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_form_that_cannot_be_signed_does_not_build() {
    for form in [ClientIdForm::RedirectUri, ClientIdForm::Did] {
        let mut options = options(&[Profile::V1_0]);
        options.client_id_form = form;
        let trust = || Arc::new(fixtures::trust());
        let jar = Verifier::builder(Trust::of_snapshot(PROVIDER, trust()))
            .profiles([Profile::Draft])
            .signed(ORIGIN, did_signer(3, "key"));
        let inline = Verifier::builder(Trust::of_snapshot(PROVIDER, trust()))
            .profiles([Profile::Draft])
            .unsigned(ORIGIN);
        for builder in [jar, inline] {
            let text = refused(builder.profile_options(options.clone()));
            assert!(text.contains("client_id_form"), "{text}");
        }
    }
}

#[test]
fn a_certificate_of_another_key_is_refused() {
    let key = Es256Key::from_scalar(&[5; 32]).unwrap();
    let chain = vec![leaf(4, "cert", &["gateway.example"])];
    let signer = SoftwareSigner::new(key, "cert").with_certificate_chain(chain);
    let text = refused(fixtures::builder(PROVIDER).unsigned(ORIGIN).signer(signer));
    assert_eq!(text, "has a certificate of another key");
}

#[test]
fn a_verifier_needs_a_profile() {
    let builder = fixtures::builder(PROVIDER).unsigned(ORIGIN).profile_options(options(&[]));
    assert!(
        matches!(builder.build(), Err(ConfigError::Profiles(text)) if text.contains("missing"))
    );
}

#[test]
fn a_certificates_hash_is_the_default_client_id() {
    let trust = || Trust::of_snapshot(PROVIDER, Arc::new(fixtures::trust()));
    let signed =
        |signer| Verifier::builder(trust()).profiles([Profile::V1_0]).signed(ORIGIN, signer);
    let client = |verifier: &Verifier| {
        let session = create(verifier, asking(&[]));
        session.offers.own().client_identifier().as_str().to_owned()
    };
    assert!(client(&signed(certified(4, "cert")).build().unwrap()).starts_with("x509_hash:"));
    let named = signed(certified(4, "cert")).client_id_form(ClientIdForm::X509SanDns);
    assert!(client(&named.build().unwrap()).starts_with("x509_san_dns:"));
    let did = signed(did_signer(3, "key")).signer(certified(4, "cert"));
    assert!(client(&did.build().unwrap()).starts_with("decentralized_identifier:"));
}

#[test]
fn the_documents_of_a_verifier_have_exactly_the_keys_under_its_did() {
    let builder = fixtures::builder(PROVIDER).signed(ORIGIN, did_signer(3, "key"));
    let builder = builder.signer(certified(4, "cert")).named_signer(did_signer(5, "older"));
    let verifier = builder.build().unwrap();
    let document: Value = serde_json::from_str(&verifier.did_document_json().unwrap()).unwrap();
    let methods = document["verificationMethod"].as_array().unwrap();
    let ids: Vec<_> = methods.iter().map(|method| method["id"].as_str().unwrap()).collect();
    assert_eq!(ids, [format!("{DID}#key"), format!("{DID}#older")]);
    let keys: Value = serde_json::from_str(&verifier.jwks_json()).unwrap();
    assert_eq!(keys["keys"].as_array().unwrap().len(), 2);
}

#[test]
fn a_profile_under_the_did_needs_a_signer_without_a_certificate() {
    let under = |enabled: &[Profile], form| {
        let mut options = options(enabled);
        options.client_id_form = form;
        let builder = fixtures::builder(PROVIDER).signed(ORIGIN, certified(4, "cert"));
        builder.profile_options(options)
    };
    let (did, hash) = (ClientIdForm::DecentralizedIdentifier, ClientIdForm::X509Hash);
    for (enabled, form) in [
        (&[Profile::Draft][..], did),
        (&[Profile::V1_0], did),
        (&[Profile::Haip, Profile::Draft], hash),
    ] {
        let builder = under(enabled, form);
        assert!(refused(builder.clone()).contains("of the DID is missing"), "{enabled:?}");
        assert!(refused(builder.clone().named_signer(did_signer(3, "key"))).contains("missing"));
        assert!(builder.signer(did_signer(3, "key")).build().is_ok(), "{enabled:?}");
    }
    for (enabled, form) in [
        (&[Profile::Haip][..], did),
        (&[Profile::V1_0], hash),
        (&[Profile::V1_0, Profile::Haip], hash),
    ] {
        assert!(under(enabled, form).build().is_ok(), "{enabled:?}");
    }
}
