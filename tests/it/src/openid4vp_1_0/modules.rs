//! The successful modules: the happy flow, a holder key with only the required members, a request
//! fetched by POST, and one fetched twice.

use super::*;

#[test]
fn every_conformance_variant_is_verified_in_both_formats() {
    for variant in VARIANTS {
        let mut desk = Desk::start(variant);
        for formats in [SD_JWT_VC, MDOC, BOTH] {
            let session = desk.verified(formats);
            let details = &session["verification_details"];
            assert_eq!(details["profile"], variant.profile, "{details}");
            let signed = variant.prefix != Prefix::RedirectUri;
            assert_eq!(details["request_mode"], if signed { "jar" } else { "inline" });
        }
    }
}

#[test]
fn a_holder_key_may_have_members_other_than_its_coordinates() {
    let mut desk = Desk::start(HAIP);
    let holder = samples::holder_key(idgate_testkit::keys::Curve::P256);
    let mut full = holder.public_jwk();
    for (name, value) in [("kid", "holder"), ("use", "sig"), ("alg", "ES256")] {
        full[name] = value.into();
    }
    for jwk in [holder.public_jwk(), full] {
        let credential = samples::identity(&holder, now_ms()).plain("cnf", json!({ "jwk": jwk }));
        let issuer = samples::issuer_key(idgate_testkit::keys::Curve::P256);
        desk.wallet = Wallet::new(holder.clone()).with(credential.issue(&issuer));
        desk.verified(SD_JWT_VC);
    }
}

#[test]
fn a_request_fetched_by_post_has_the_wallet_nonce() {
    for variant in VARIANTS.into_iter().filter(|one| one.prefix != Prefix::RedirectUri) {
        let installation = variant.installation().with("IDGATE_REQUEST_URI_METHOD", "post");
        let mut desk = Desk::start_on(installation, variant);
        let created = desk.create(SD_JWT_VC);
        let announced = matches!(Link::read(&created.uri).0, Link::ByReference { post: true, .. });
        assert!(announced, "{}", created.uri);
        let (asked, findings) = desk.read(&created.uri, SD_JWT_VC, Some(WALLET_NONCE));
        assert!(findings.is_empty(), "{variant:?}:\n{findings}");
        assert_eq!(asked.parameters["wallet_nonce"], WALLET_NONCE);
        // A wallet that cannot POST falls back to GET, and gets a request without its nonce.
        let (asked, findings) = desk.read(&created.uri, SD_JWT_VC, None);
        assert!(findings.is_empty(), "{variant:?}:\n{findings}");
        desk.settle(&desk.answer(&asked));
        assert_eq!(desk.result(&created, None)["status"], "VERIFIED");
    }
}

#[test]
fn fetching_a_request_twice_gives_the_same_parameters() {
    let mut desk = Desk::start(HAIP);
    let created = desk.create(BOTH);
    let (first, second) = (desk.request(&created, BOTH), desk.request(&created, BOTH));
    let parameters = |asked: &Asked| {
        let mut parameters = asked.parameters.clone();
        // These depend on the time of the fetch.
        parameters.retain(|name, _| !["iat", "exp"].contains(&name.as_str()));
        parameters
    };
    assert_eq!(parameters(&first), parameters(&second));
    let other = desk.create(BOTH);
    // A key that was seen before would be a finding.
    desk.request(&other, BOTH);
    desk.settle(&desk.answer(&first));
    assert_eq!(desk.result(&created, None)["status"], "VERIFIED");
}

#[test]
fn an_encrypted_answer_with_a_random_apv_is_accepted() {
    let mut desk = Desk::start(HAIP);
    let created = desk.create(SD_JWT_VC);
    let asked = desk.request(&created, SD_JWT_VC);
    let answer = desk.answer(&asked);
    let header = jws::header(&answer.jwe().unwrap()).unwrap();
    assert_ne!(header["apv"], base64url(asked.nonce.as_bytes()), "random, as the suite sends it");
    desk.settle(&answer);
    assert_eq!(desk.result(&created, None)["status"], "VERIFIED");
}
