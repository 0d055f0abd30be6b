//! Status lists as JWT and CWT.

use idgate_core::crypto::counting::PROVIDER;
use idgate_core::shell::{
    Jwk, RootOrigin, TrustAnchor, TrustEntry, TrustedKey, is_good_by_identifier_list,
    is_good_by_status_list,
};
use idgate_core::{CredentialFormat, IssuerId, UnixMillis};
use idgate_testkit::jws::sign_jws;
use idgate_testkit::keys::{Curve, SigningKey};
use idgate_testkit::status::{StatusCwt, StatusJwt, StatusList};
use idgate_testkit::x509::Identity;
use serde_json::Value;

use super::{NOW_MS, Parts};

const URI: &str = "https://status.example/1";
/// The only revoked index in the sample lists.
const REVOKED: u64 = 5;

/// The mdoc of this identifier is revoked.
const REVOKED_IDENTIFIER: &[u8] = b"revoked mdoc";

/// A revoked mdoc stays revoked. A payload that is signed after a change may have any content, but
/// nothing panics.
pub(super) fn identifier_list_target() -> Parts {
    let root = Identity::iaca(Curve::P256, NOW_MS);
    let signer = root.document_signer(Curve::P256, NOW_MS);
    let mut trust = TrustEntry::new(IssuerId::new("utopia"));
    trust.roots.push(TrustAnchor::from_der(&PROVIDER, &root.der, RootOrigin::RootFile).unwrap());
    let list = |identifiers: &[&[u8]]| {
        StatusCwt::identifiers(identifiers, URI, NOW_MS / 1000, &[&signer.der])
    };
    let cwt = list(&[b"a", REVOKED_IDENTIFIER, &[7; 32]]);
    let (claims, nothing) = (cwt.claims.clone(), list(&[]));
    let claim = claims.iter().find(|(label, _)| *label == 65530).map(|(_, value)| value.clone());
    let seeds = vec![cwt.sign(&signer.key), claim.unwrap_or_default()];
    let good = move |identifier: &[u8], token: &[u8]| {
        let now = UnixMillis(NOW_MS);
        is_good_by_identifier_list(&PROVIDER, token, (URI, identifier), &trust, now)
    };
    assert!(seeds.first().is_some_and(|list| good(b"b", list) && !good(REVOKED_IDENTIFIER, list)));
    let check = move |bytes: &[u8]| {
        assert!(!good(REVOKED_IDENTIFIER, bytes));
        // The claim by itself, in a signed token.
        if bytes.first().is_some_and(|first| *first >> 5 == 5) {
            good(b"b", &nothing.clone().with(65530, bytes.to_vec()).sign(&signer.key));
        }
    };
    (seeds, Box::new(check))
}

/// A revoked credential stays revoked. A list that is signed after a change may have any content,
/// but nothing panics.
pub(super) fn status_list_target() -> Parts {
    let key = SigningKey::from_seed(Curve::P256, "issuer");
    let root = Identity::iaca(Curve::P256, NOW_MS);
    let signer = root.document_signer(Curve::P256, NOW_MS);
    let mut trust = TrustEntry::new(IssuerId::new("utopia"));
    let jwk = Jwk::parse(key.public_jwk().to_string().as_bytes()).unwrap();
    trust.keys.push(TrustedKey::new(jwk.key));
    trust.roots.push(TrustAnchor::from_der(&PROVIDER, &root.der, RootOrigin::RootFile).unwrap());
    let list = StatusList::new(2, 16).with(5, 1);
    let jwt = StatusJwt::new(&list, URI, NOW_MS / 1000);
    let cwt = StatusCwt::new(&list, URI, NOW_MS / 1000, &[&signer.der]).sign(&signer.key);
    let payload = Value::Object(jwt.payload.clone()).to_string().into_bytes();
    let seeds = vec![jwt.sign(&key).into_bytes(), cwt, payload];
    let good = move |format, idx, token: &[u8]| {
        is_good_by_status_list(&PROVIDER, token, (URI, idx), &trust, format, UnixMillis(NOW_MS))
    };
    let formats = [CredentialFormat::SdJwtVc, CredentialFormat::Mdoc];
    for (format, token) in formats.into_iter().zip(&seeds) {
        assert!(good(format, REVOKED + 1, token) && !good(format, REVOKED, token));
    }
    let check = move |bytes: &[u8]| {
        for format in formats {
            assert!(!good(format, REVOKED, bytes));
        }
        if let Some(payload) = std::str::from_utf8(bytes).ok().filter(|it| it.starts_with('{')) {
            let header = r#"{"typ":"statuslist+jwt","alg":"ES256"}"#;
            good(formats[0], REVOKED, sign_jws(&key, header, payload).as_bytes());
        }
    };
    (seeds, Box::new(check))
}
