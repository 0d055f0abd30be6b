//! The requests of `1.0` and `haip`, member by member (OpenID4VP 5, HAIP 1.0 5).

mod building;
pub(super) mod support;

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use idgate_testkit::x509::{CertificateBuilder, Name};
use serde_json::{Value, json};

use self::support::*;
use super::super::*;
use crate::codec::base64url;
use crate::crypto::{Es256Key, RequestSigner as _, SoftwareSigner, rustcrypto::PROVIDER};
use crate::error::CreateError;
use crate::request::fixtures::{self, NOW};
use crate::request::{Profile, RegistrationCertificate, Scheme, VerifierInfo};
use crate::session::{ClientIdForm, Offer, Phase};
use crate::time::UnixMillis;

#[test]
fn an_object_of_1_0_has_exactly_these_claims() {
    let verifier = jar(options(&[Profile::V1_0]));
    let session = create(&verifier, asking(&[]));
    let own = session.offers.own();
    let (header, claims) = fetch(&verifier, &session, own, None, 3);
    let kid = format!("{DID}#key");
    assert_eq!(header, json!({"alg": "ES256", "typ": "oauth-authz-req+jwt", "kid": kid}));
    let (x, y) = own.encryption_key.as_ref().unwrap().public().coordinates();
    let query: Value = serde_json::from_str(&session.request().dcql_query(Profile::V1_0)).unwrap();
    let expected = json!({
        "client_id": format!("decentralized_identifier:{DID}"),
        "response_type": "vp_token",
        "response_mode": "direct_post.jwt",
        "response_uri": format!("{ORIGIN}/v1/oid4vp/response/{}", session.id()),
        "nonce": own.nonce.expose(),
        "state": own.state.expose(),
        "aud": "https://self-issued.me/v2",
        "iat": NOW.0 / 1000,
        "exp": session.expires_at().0 / 1000,
        "dcql_query": query,
        "client_metadata": {
            "jwks": {"keys": [{
                "kty": "EC", "crv": "P-256", "x": base64url::encode(x), "y": base64url::encode(y),
                "use": "enc", "alg": "ECDH-ES", "kid": base64url::encode(x),
            }]},
            "encrypted_response_enc_values_supported": ["A256GCM", "A128GCM"],
            "vp_formats_supported": formats(),
        },
    });
    assert_eq!(claims, expected);
    assert_eq!(session.phase(), &Phase::Created);
}

#[test]
fn haip_goes_by_reference_under_the_hash_of_the_leaf_in_every_mode() {
    let options = || {
        let mut options = options(&[Profile::Haip]);
        options.response_mode = ResponseMode::Plain;
        options
    };
    for verifier in [inline(options()), jar(options())] {
        let session = create(&verifier, asking(&[]));
        assert_eq!(session.client_identifier().as_str(), x509_hash());
        let link = parts(&session.deep_link(Scheme::Haip));
        assert_eq!(link["client_id"], x509_hash());
        assert_eq!(Some(&*link["request_uri"]), session.request_uri());
        assert_eq!(link.len(), 2);
        let (header, claims) = fetch(&verifier, &session, session.offers.own(), None, 4);
        let signer = certified(4, "cert");
        let x5c: Vec<_> =
            signer.certificate_chain().iter().map(|der| STANDARD.encode(der)).collect();
        assert!(x5c[0].contains(['+', '/', '=']), "standard and padded: {x5c:?}");
        let expected = json!({"alg": "ES256", "typ": "oauth-authz-req+jwt", "x5c": x5c});
        assert_eq!(header, expected);
        assert_eq!(claims["client_id"], x509_hash());
        assert_eq!(claims["response_mode"], "direct_post.jwt");
    }
}

#[test]
fn every_form_of_client_id_is_the_same_in_link_and_object() {
    for (form, client_id, scalar) in [
        (ClientIdForm::DecentralizedIdentifier, format!("decentralized_identifier:{DID}"), 3),
        (ClientIdForm::X509SanDns, "x509_san_dns:gateway.example".into(), 4),
        (ClientIdForm::X509Hash, x509_hash(), 4),
    ] {
        let mut options = options(&[Profile::V1_0]);
        options.client_id_form = form;
        let verifier = jar(options);
        let session = create(&verifier, asking(&[]));
        assert_eq!(parts(&session.deep_link(Scheme::OpenId4Vp))["client_id"], client_id);
        let (_, claims) = fetch(&verifier, &session, session.offers.own(), None, scalar);
        assert_eq!(claims["client_id"], client_id);
        assert_eq!(session.client_identifier().as_str(), client_id);
    }
}

#[test]
fn by_value_an_answer_is_plain_or_encrypted_as_configured() {
    for (mode, response_mode) in [
        (ResponseMode::Auto, "direct_post"),
        (ResponseMode::Plain, "direct_post"),
        (ResponseMode::Encrypted, "direct_post.jwt"),
    ] {
        let mut options = options(&[Profile::V1_0]);
        options.response_mode = mode;
        let session = create(&inline(options), asking(&[]));
        let own = session.offers.own();
        assert_eq!(session.phase(), &Phase::Pending);
        let mut link = parts(&session.deep_link(Scheme::OpenId4Vp));
        let metadata: Value =
            serde_json::from_str(&link.remove("client_metadata").unwrap()).unwrap();
        let query: Value = serde_json::from_str(&link.remove("dcql_query").unwrap()).unwrap();
        assert_eq!(
            query,
            serde_json::from_str::<Value>(&session.request().dcql_query(Profile::V1_0)).unwrap()
        );
        let response_uri = format!("{ORIGIN}/v1/oid4vp/response/{}", session.id());
        let expected = [
            ("client_id", format!("redirect_uri:{response_uri}")),
            ("nonce", own.nonce.expose().into()),
            ("response_mode", response_mode.into()),
            ("response_type", "vp_token".into()),
            ("response_uri", response_uri),
            ("state", own.state.expose().into()),
        ];
        let expected = expected.map(|(name, value)| (name.to_owned(), value));
        assert_eq!(link, BTreeMap::from(expected));
        match own.encryption_key.as_ref() {
            None => assert_eq!(metadata, json!({"vp_formats_supported": formats()})),
            Some(key) => {
                let members: Vec<_> = metadata.as_object().unwrap().keys().collect();
                assert_eq!(
                    members,
                    ["encrypted_response_enc_values_supported", "jwks", "vp_formats_supported"]
                );
                let x = base64url::encode(key.public().coordinates().0);
                assert_eq!(metadata["jwks"]["keys"][0]["kid"], x);
            }
        }
        assert_eq!(own.encryption_key.is_some(), response_mode == "direct_post.jwt");
    }
}

#[test]
fn by_reference_an_answer_may_be_plain() {
    let mut options = options(&[Profile::V1_0]);
    options.response_mode = ResponseMode::Plain;
    let verifier = jar(options);
    let session = create(&verifier, asking(&[]));
    let (_, claims) = fetch(&verifier, &session, session.offers.own(), None, 3);
    assert_eq!(claims["response_mode"], "direct_post");
    assert_eq!(claims["client_metadata"], json!({"vp_formats_supported": formats()}));
}

#[test]
fn wallet_nonce_is_there_only_when_the_wallet_sent_one() {
    let verifier = jar(options(&[Profile::V1_0]));
    let session = create(&verifier, asking(&[]));
    let own = session.offers.own();
    assert!(fetch(&verifier, &session, own, None, 3).1.get("wallet_nonce").is_none());
    assert_eq!(fetch(&verifier, &session, own, Some("w"), 3).1["wallet_nonce"], "w");
}

#[test]
fn post_is_announced_only_if_configured_and_never_in_draft() {
    let every = [Profile::Haip, Profile::V1_0, Profile::Draft];
    for announces in [false, true] {
        let mut options = options(&every);
        options.announces_post = announces;
        let verifier = jar(options);
        let session = create(&verifier, asking(&every));
        for offer in session.offers() {
            let link = parts(&session.link(Scheme::OpenId4Vp, offer));
            let wanted = announces && offer.profile() != Profile::Draft;
            let method = link.get("request_uri_method").map(|method| &**method);
            assert_eq!(method, wanted.then_some("post"), "{}", offer.profile());
            let scalar = if offer.profile() == Profile::Haip { 4 } else { 3 };
            let (_, claims) = fetch(&verifier, &session, offer, None, scalar);
            assert!(claims.get("request_uri_method").is_none());
        }
    }
}

#[test]
fn attestations_go_with_x509_hash_only() {
    let every = [Profile::Haip, Profile::V1_0, Profile::Draft];
    let mut new = NewSession::live().tenant(tenant());
    new.verifier_info.push(VerifierInfo::new("registration_cert", "a.b.c"));
    let attested = json!([{"format": "registration_cert", "data": "a.b.c"}]);
    for (form, signed_by) in [
        (ClientIdForm::DecentralizedIdentifier, 3),
        (ClientIdForm::X509SanDns, 4),
        (ClientIdForm::X509Hash, 4),
    ] {
        let mut options = options(&every);
        options.client_id_form = form;
        let verifier = jar(options);
        let session = create_as(&verifier, asking(&every), new.clone()).unwrap();
        let session = Session::from_bytes(&session.to_bytes()).unwrap();
        for (offer, scalar) in session.offers().zip([4, signed_by, 3]) {
            let (_, claims) = fetch(&verifier, &session, offer, None, scalar);
            let by_hash = offer.client_identifier().as_str() == x509_hash();
            assert_eq!(claims.get("verifier_info"), by_hash.then_some(&attested), "{form:?}");
            assert!(by_hash || offer.profile() != Profile::Haip);
        }
    }
    let by_value = create_as(&inline(options(&[Profile::V1_0])), asking(&[]), new).unwrap();
    let link = parts(&by_value.deep_link(Scheme::OpenId4Vp));
    assert!(!link.contains_key("verifier_info"), "{link:?}");
}

#[test]
fn a_registration_that_is_not_strict_goes_with_a_request_for_more() {
    let part = |json: Value| base64url::encode(json.to_string().as_bytes());
    let header = json!({"alg": "ES256", "typ": "rc-wrp+jwt"});
    let nothing = json!({"sub": "VATUT-123", "credentials": []});
    let text = [part(header), part(nothing), "c2ln".into()].join(".");
    let registered = RegistrationCertificate::import(&text, None, NOW).unwrap();
    let verifier = jar(options(&[Profile::Haip]));
    let made = |new| create_as(&verifier, asking(&[Profile::Haip]), new);
    let sent = made(NewSession::live().registration(&registered)).unwrap();
    assert_eq!(sent.verifier_info, [registered.verifier_info()]);
    let refused = made(NewSession::live().strict_registration(&registered));
    assert!(matches!(refused, Err(CreateError::Request(_))), "{refused:?}");
}

#[test]
fn every_offer_has_an_id_a_nonce_a_state_and_a_key_of_its_own() {
    let every = [Profile::Haip, Profile::V1_0, Profile::Draft];
    let verifier = jar(options(&every));
    let session =
        create(&verifier, asking(&[Profile::Haip, Profile::V1_0, Profile::Haip, Profile::Draft]));
    let spoken: Vec<_> = session.offers().map(Offer::profile).collect();
    assert_eq!(spoken, every, "each once, in the order of the tenant");
    let mut seen = BTreeSet::new();
    for offer in session.offers() {
        let handle = offer.id().map_or(session.id().as_str(), |id| id.as_str());
        assert_eq!(handle.len(), 26);
        assert!(offer.id().is_none() || handle.starts_with("off_"));
        assert_eq!(offer.response_uri(), format!("{ORIGIN}/v1/oid4vp/response/{handle}"));
        let request_uri = format!("{ORIGIN}/v1/oid4vp/request/{handle}");
        assert_eq!(offer.request_uri(), Some(&*request_uri));
        let key = offer.encryption_key.as_ref().unwrap().private().expose_scalar();
        for secret in [handle, offer.nonce.expose(), offer.state.expose()] {
            assert!(seen.insert(secret.as_bytes().to_vec()));
        }
        assert!(seen.insert(key.to_vec()));
    }
    let mut apart = session.clone();
    let keys = apart.take_encryption_key().unwrap();
    assert!(apart.restore_encryption_key(&keys[1..keys.len() - 1]).is_err());
    apart.restore_encryption_key(&keys).unwrap();
    assert_eq!(apart.to_bytes(), session.to_bytes());
}

#[test]
fn a_session_by_value_and_by_reference_is_pending_and_keeps_one_key() {
    use Profile::{Draft, Haip};
    let session = |order: &[Profile]| create(&inline(options(&[Haip, Draft])), asking(order));
    let is_encrypted = |offer: &Offer| offer.encryption_key.is_some();
    let mut stored = Vec::new();
    for (order, encrypted) in [([Haip, Draft], [true, false]), ([Draft, Haip], [false, true])] {
        let whole = session(&order);
        assert_eq!(whole.phase(), &Phase::Pending);
        assert_eq!(whole.offers().map(is_encrypted).collect::<Vec<_>>(), encrypted);
        let mut apart = whole.clone();
        let keys = apart.take_encryption_key().unwrap();
        assert!(!apart.offers().any(is_encrypted));
        let places: Vec<Value> = serde_json::from_slice(&keys).unwrap();
        assert_eq!(places.iter().map(Value::is_object).collect::<Vec<_>>(), encrypted);
        assert_eq!(places.iter().filter(|place| place.is_null()).count(), 1);
        apart.restore_encryption_key(&keys).unwrap();
        assert_eq!(apart.to_bytes(), whole.to_bytes());
        stored.push((apart, keys));
    }
    let [(mut haip_first, haip_keys), (mut draft_first, draft_keys)] =
        <[_; 2]>::try_from(stored).unwrap();
    assert!(haip_first.restore_encryption_key(&draft_keys).is_err(), "for the other offer");
    assert!(draft_first.restore_encryption_key(&haip_keys).is_err(), "for the other offer");
}

#[test]
fn the_scheme_selects_the_profile() {
    use Profile::{Draft, Haip, V1_0};
    for (profiles, first, newer, older) in [
        (&[Haip, Draft][..], Haip, Haip, Draft),
        (&[Draft, V1_0, Haip], Draft, V1_0, Draft),
        (&[V1_0, Haip], V1_0, V1_0, V1_0),
        (&[Draft], Draft, Draft, Draft),
    ] {
        let session = create(&jar(options(&[Haip, V1_0, Draft])), asking(profiles));
        let invitation = session.invitation();
        let link = |scheme: Scheme, profile| {
            let offer = session.offers().find(|offer| offer.profile() == profile).unwrap();
            session.link(scheme, offer)
        };
        assert_eq!(invitation.profile(), first);
        assert_eq!(invitation.qr_code_url, link(Scheme::OpenId4Vp, first));
        for (scheme, profile) in
            [(Scheme::OpenId4Vp, older), (Scheme::EudiWallet, newer), (Scheme::Haip, newer)]
        {
            assert_eq!(invitation.deep_link(scheme), link(scheme, profile));
            assert_eq!(session.deep_link(scheme), link(scheme, profile));
        }
    }
}

#[test]
fn an_unsupported_profile_or_one_without_its_certificate_is_refused() {
    let builder = fixtures::builder(PROVIDER).signed(ORIGIN, did_signer(3, "key"));
    let uncertified = builder;
    let uncertified =
        uncertified.profile_options(options(&[Profile::Draft, Profile::Haip])).build().unwrap();
    for (verifier, profile) in [
        (&jar(options(&[Profile::Draft])), Profile::V1_0),
        (&jar(options(&[Profile::Haip])), Profile::Draft),
        (&uncertified, Profile::Haip),
    ] {
        let new = NewSession::live().tenant(tenant());
        unsupported(create_as(verifier, asking(&[profile]), new));
    }
}

#[test]
fn a_session_is_signed_to_its_end_by_its_first_signer() {
    let renewed = |signer: Arc<SoftwareSigner>, older: Arc<SoftwareSigner>| {
        let builder = fixtures::builder(PROVIDER).signed(ORIGIN, did_signer(5, "newer"));
        let builder = builder.signer(signer);
        let builder = builder.named_signer(older).named_signer(did_signer(3, "key"));
        builder.profile_options(options(&[Profile::Haip, Profile::Draft])).build().unwrap()
    };
    let before = jar(options(&[Profile::Haip, Profile::Draft]));
    let session = create(&before, asking(&[Profile::Haip, Profile::Draft]));
    let session = Session::from_bytes(&session.to_bytes()).unwrap();
    let after = renewed(certified(6, "renewed"), certified(4, "cert"));
    for (offer, scalar) in session.offers().zip([4, 3]) {
        let (_, claims) = fetch(&after, &session, offer, None, scalar);
        assert_eq!(claims["client_id"], offer.client_identifier().as_str());
    }
    let newer = create(&after, asking(&[Profile::Haip, Profile::Draft]));
    for (offer, scalar) in newer.offers().zip([6, 5]) {
        fetch(&after, &newer, offer, None, scalar);
    }
    assert_ne!(newer.client_identifier(), session.client_identifier());
    // A missing certificate has no replacement: the client_id would differ.
    let without = renewed(certified(6, "renewed"), certified(7, "other"));
    let error =
        without.request_object(&session, &Asked::get(session.id().as_str()), NOW).unwrap_err();
    assert!(matches!(error, crate::error::NotFetched::Signer(_)));
}

#[test]
fn an_expired_certificate_signs_only_for_old_sessions() {
    const DAY: u64 = 86_400_000;
    // They are valid from one day before NOW.
    let last = NOW.plus((DAYS - 1) * DAY);
    let verifier = jar(options(&[Profile::Haip, Profile::Draft]));
    let create = |at| create_at(&verifier, asking(&[]), NewSession::live().tenant(tenant()), at);
    let session = create(last).unwrap();
    let after = last.plus(60_000);
    let _ = verifier.request_object(&session, &Asked::get(session.id().as_str()), after).unwrap();
    for outside in [after, UnixMillis(NOW.0 - DAY - 1000)] {
        assert!(unsupported(create(outside)).contains("haip has no certificate in force"));
    }
    // The same for a tenant's own certificate, which no other one replaces.
    let builder = fixtures::builder(PROVIDER).signed(ORIGIN, did_signer(3, "key"));
    let builder = builder.named_signer(certified(8, "theirs"));
    let theirs = builder.profile_options(options(&[Profile::Haip])).build().unwrap();
    let new = NewSession { signer: Some("theirs".into()), ..NewSession::live().tenant(tenant()) };
    assert!(create_at(&theirs, asking(&[]), new.clone(), last).is_ok());
    let refused = unsupported(create_at(&theirs, asking(&[]), new, after));
    assert!(refused.contains("has no certificate in force"), "{refused}");
}

#[test]
fn a_certificate_in_force_replaces_an_expired_one() {
    let key = Es256Key::from_scalar(&[9; 32]).unwrap();
    let signing = key_of(9);
    let name = Name::new("UT", "older");
    let older = CertificateBuilder::new(name.clone(), name, &signing, NOW.0, 1).sign(&signing);
    let older = SoftwareSigner::new(key, "older").with_certificate_chain(vec![older]);
    let builder = fixtures::builder(PROVIDER).unsigned(ORIGIN);
    let builder = builder.signer(Arc::new(older)).signer(certified(4, "cert"));
    let verifier = builder.profile_options(options(&[Profile::Haip])).build().unwrap();
    let session =
        create_at(&verifier, asking(&[]), NewSession::live().tenant(tenant()), NOW.plus(60_000));
    assert_eq!(session.unwrap().offers.own().signer(), Some("cert"));
}

#[test]
fn x509_san_dns_needs_its_host_in_the_certificate() {
    let verifier = |origin: &str, form, hosts: &[&str]| {
        let mut options = options(&[Profile::V1_0]);
        options.client_id_form = form;
        let did = crate::discovery::did_web(origin).unwrap();
        let key = Es256Key::from_scalar(&[3; 32]).unwrap();
        let own = SoftwareSigner::new(key, format!("{did}#key"));
        let builder = fixtures::builder(PROVIDER).signed(origin, Arc::new(own));
        let builder = builder.profile_options(options);
        builder.signer(certified_for(4, "cert", hosts)).build().unwrap()
    };
    let create =
        |verifier: &Verifier| create_as(verifier, asking(&[]), NewSession::live().tenant(tenant()));
    let san = ClientIdForm::X509SanDns;
    assert!(create(&verifier(ORIGIN, san, &["other.example", "Gateway.example"])).is_ok());
    for (origin, hosts) in [
        (ORIGIN, &["other.example"][..]),
        (ORIGIN, &["*.example"]),
        (ORIGIN, &["a.gateway.example"]),
        ("https://192.0.2.7", &["192.0.2.7"]),
        ("https://[2001:db8::1]:8443", &["[2001:db8::1]", "[2001"]),
    ] {
        let refused = unsupported(create(&verifier(origin, san, hosts)));
        assert!(refused.contains("1.0 has no certificate with its host name"), "{refused}");
        assert!(create(&verifier(origin, ClientIdForm::X509Hash, hosts)).is_ok());
    }
}

#[test]
fn a_tenants_own_certificate_signs_for_the_tenant() {
    let builder = fixtures::builder(PROVIDER).signed(ORIGIN, did_signer(3, "key"));
    let verifier = builder
        .named_signer(certified(8, "theirs"))
        .profile_options(options(&[Profile::Haip, Profile::Draft]))
        .build()
        .unwrap();
    let mut new = NewSession::live().tenant(tenant());
    assert!(
        create_as(&verifier, asking(&[]), new.clone()).is_err(),
        "the certificate is only for its tenant"
    );
    new.signer = Some("theirs".into());
    let session =
        create_as(&verifier, asking(&[Profile::Haip, Profile::Draft]), new.clone()).unwrap();
    for (offer, scalar) in session.offers().zip([8, 3]) {
        fetch(&verifier, &session, offer, None, scalar);
    }
    new.signer = Some("gone".into());
    assert!(create_as(&verifier, asking(&[]), new).is_err());
}

#[test]
fn an_object_is_fetched_only_by_the_id_of_its_offer() {
    let verifier = inline(options(&[Profile::V1_0, Profile::Haip]));
    let session = create(&verifier, asking(&[Profile::V1_0, Profile::Haip]));
    assert_eq!(session.phase(), &Phase::Pending, "the tenant already has one of them");
    let haip = session.offers().nth(1).unwrap();
    fetch(&verifier, &session, haip, None, 4);
    for to in [session.id().as_str(), "off_0", "", "dc_api"] {
        let error =
            verifier.request_object(&session, &Asked::get(to), UnixMillis(NOW.0)).unwrap_err();
        assert_eq!(error, crate::error::NotFetched::NotFetchable);
    }
}
