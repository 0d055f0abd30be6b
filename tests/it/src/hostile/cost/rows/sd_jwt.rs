//! SD-JWTs made by a stranger, and by the holder of a good one.

use idgate_core::crypto::counting::PROVIDER;
use idgate_core::shell::{ExpectedSdJwtVc, Jwk, TrustEntry, TrustedKey, verify_sd_jwt_vc};
use idgate_core::verify::CredentialReport;
use idgate_core::{IssuerId, UnixMillis};
use idgate_testkit::codec::base64url;
use idgate_testkit::issuer::Issued;
use idgate_testkit::keys::Curve;
use idgate_testkit::request::AuthorizationRequest;
use idgate_testkit::samples;
use idgate_testkit::wallet::{KbJwt, Presentation, present};

use crate::hostile::NOW_MS;
use crate::hostile::cost::encoded::{JSON, wrapped};
use crate::hostile::cost::{Generator, Row};

/// A presentation has 512 KiB at most. A good one of about that size must stay below.
const FULL: usize = 480 * 1024;
pub(super) const CLIENT_ID: &str = "redirect_uri:https://gateway.example/r";
pub(super) const NONCE: &str = "n-0S6_WzA2Mj";

fn row(name: &'static str, worst: Vec<(&'static str, Generator)>) -> Row {
    let jwk = samples::issuer_key(Curve::P256).public_jwk().to_string();
    let mut issuer = TrustEntry::new(IssuerId::new(samples::ISSUER));
    issuer.keys.push(TrustedKey::new(Jwk::parse(jwk.as_bytes()).unwrap().key));
    let now = UnixMillis(NOW_MS);
    let verify = move |text: &[u8]| {
        let expected = ExpectedSdJwtVc::new(&issuer, CLIENT_ID, NONCE, now, now);
        let text = std::str::from_utf8(text).unwrap();
        verify_sd_jwt_vc(&PROVIDER, text, &expected, &mut CredentialReport::default())
    };
    let good = shown(&credential(1000), |_| {});
    assert!(verify(good.as_bytes()).is_ok(), "{:?}", verify(good.as_bytes()));
    Row {
        name,
        full: FULL,
        read: Box::new(move |text| drop(verify(text))),
        valid: Box::new(|size| shown(&credential(size), |_| {}).into_bytes()),
        worst,
    }
}

/// A credential with a portrait that gives its presentation about this many bytes.
fn credential(size: usize) -> Issued {
    let portrait = base64url(&vec![7; size.saturating_sub(3000) / 16 * 9]);
    let identity = samples::identity(&samples::holder_key(Curve::P256), NOW_MS);
    identity.sd("picture", portrait).issue(&samples::issuer_key(Curve::P256))
}

/// All disclosures, with a key binding JWT that may be changed before it is signed.
pub(super) fn shown(credential: &Issued, change: impl FnOnce(&mut KbJwt)) -> String {
    let request = AuthorizationRequest {
        client_id: CLIENT_ID.into(),
        response_uri: String::new(),
        nonce: NONCE.into(),
        state: String::new(),
        definition_id: String::new(),
        descriptors: Vec::new(),
    };
    let presentation = Presentation::whole(credential);
    let holder = samples::holder_key(Curve::P256);
    let mut proof = KbJwt::new(&holder, &presentation, &request, NOW_MS);
    change(&mut proof);
    present(&presentation, Some(&proof.sign()))
}

/// `size` bytes of base64url encode three quarters as many bytes.
fn encoded(size: usize, fill: fn(usize) -> Vec<u8>) -> String {
    base64url(&fill(size / 4 * 3))
}

/// Everything is made by a stranger.
pub(super) fn presentation() -> Row {
    let header = || base64url(br#"{"alg":"ES256","typ":"dc+sd-jwt"}"#);
    let signature = || "A".repeat(86);
    let proof = "e30.e30.AA";
    let mut worst = wrapped(JSON, move |size, fill| {
        format!("{}.e30.{}~{proof}", encoded(size, fill), signature()).into_bytes()
    });
    worst.extend(wrapped(JSON, move |size, fill| {
        format!("{}.{}.{}~{proof}", header(), encoded(size, fill), signature()).into_bytes()
    }));
    worst.extend(wrapped(JSON, move |size, fill| {
        let disclosure = encoded(size, fill);
        format!("{}.e30.{}~{disclosure}~{proof}", header(), signature()).into_bytes()
    }));
    let whole = |text: &'static str| -> Generator {
        Box::new(move |size| text.repeat(size / text.len()).into_bytes())
    };
    worst.extend([
        ("dots", whole(".")),
        ("tildes", whole("~")),
        ("letters", whole("A")),
        ("signatures and tildes", whole("e30.e30.AA~")),
    ]);
    worst.push((
        "4000 disclosures",
        Box::new(move |size| {
            let salt = "s".repeat((size / 4000 * 3 / 4).saturating_sub(12));
            let disclosure = base64url(format!("[\"{salt}\",\"n\",1]").as_bytes());
            let disclosures = vec![disclosure; 4000].join("~");
            format!("{}.e30.{}~{disclosures}~{proof}", header(), signature()).into_bytes()
        }),
    ));
    row("SD-JWT", worst)
}

/// A good credential, presented by a hostile holder.
pub(super) fn key_binding() -> Row {
    let mut worst = wrapped(JSON, |size, fill| {
        let text = String::from_utf8(fill(size / 4 * 3)).unwrap();
        shown(&credential(0), |proof| proof.claims_text = Some(text)).into_bytes()
    });
    worst.extend(wrapped(JSON, |size, fill| {
        let text = String::from_utf8(fill(size / 4 * 3)).unwrap();
        shown(&credential(0), |proof| proof.header_text = Some(text)).into_bytes()
    }));
    worst.push((
        "3900 disclosures that the issuer did not sign",
        Box::new(|size| {
            let good = shown(&credential(0), |_| {});
            let salt = "s".repeat((size / 3900 * 3 / 4).saturating_sub(16));
            let disclosure =
                |at: usize| base64url(format!("[\"{salt}{at:04}\",\"n\",1]").as_bytes());
            let disclosures: Vec<String> = (0..3900).map(disclosure).collect();
            let (before, proof) = good.rsplit_once('~').unwrap();
            format!("{before}~{}~{proof}", disclosures.join("~")).into_bytes()
        }),
    ));
    row("KB-JWT", worst)
}
