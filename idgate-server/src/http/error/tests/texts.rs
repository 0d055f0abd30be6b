//! The exact texts that tenants receive where the operator has to act.

use std::sync::Arc;

use idgate_core::crypto::aws_lc_rs::PROVIDER;
use idgate_core::crypto::{Es256Key, SoftwareSigner};
use idgate_core::shell::{ClientIdForm, ProfileOptions, SpokenProfiles};
use idgate_core::trust::ListFile;
use idgate_core::{
    DcApi, Issuer, Mode, NewSession, OsEntropy, Profile, RegistrationCertificate, Trust,
    UnixMillis, Verifier,
};
use idgate_testkit::jws::sign_jws;
use idgate_testkit::keys::{Curve, SigningKey};
use idgate_testkit::time::{DAY_MS, SAMPLE_NOW_MS};
use idgate_testkit::trusted_list::{Kind, TrustedList, list_signer, provider};
use idgate_testkit::x509::{CertificateBuilder, Identity, Name, SUBJECT_ALT_NAME, dns_names};
use serde_json::{Value, json};

use super::super::HttpError;
use crate::app::AppError;

const NOW: UnixMillis = UnixMillis(SAMPLE_NOW_MS);
const MDL: &str = "org.iso.18013.5.1.mDL";
/// Validity of the gateway's certificate, in days.
const DAYS: u64 = 30;

/// One issuer trusted by its key, without types; one by a root for mdocs; and two from trusted
/// lists, of which the first names no types.
fn trust() -> Trust {
    let root = Identity::issuer_root(Curve::P256, NOW.0);
    let listed = |kind: Kind| {
        let services = [kind.issuance(&[&root.der])];
        let list = TrustedList::new(kind, NOW.0).with(provider("P", "NTRLU-1", "LU", &services));
        let signer = list_signer(NOW.0);
        ListFile::new(list.sign(&signer), NOW).signed_below(signer.der)
    };
    let key = SigningKey::from_seed(Curve::P256, "issuer").public_jwk().to_string();
    let issuers = [
        Issuer::new("bare").jwk(key),
        Issuer::new("dmv").doc_type(MDL).iaca_roots(Identity::iaca(Curve::P256, NOW.0).der),
        Issuer::new("untyped").trusted_list(listed(Kind::PubEaa)),
        Issuer::new("listed").trusted_list(listed(Kind::Pid)),
    ];
    Trust::new(PROVIDER, issuers).unwrap()
}

fn signer(key_id: &str) -> SoftwareSigner {
    SoftwareSigner::new(Es256Key::from_scalar(&[3; 32]).unwrap(), key_id)
}

/// The key of [`signer`], for its certificate.
fn own_key() -> SigningKey {
    let d = idgate_testkit::codec::base64url(&[3; 32]);
    SigningKey::from_jwk(&json!({ "kty": "EC", "crv": "P-256", "d": d })).unwrap()
}

/// A signer whose certificate is for another host than the gateway's.
fn certified() -> Arc<SoftwareSigner> {
    let (key, name) = (own_key(), Name::new("UT", "gateway"));
    let ca = Identity::iaca(Curve::P256, NOW.0);
    let leaf = CertificateBuilder::new(name.clone(), name, &key, NOW.0, DAYS)
        .set(SUBJECT_ALT_NAME, false, dns_names(&["other.example"]))
        .under(&ca)
        .issue(&ca, &key);
    Arc::new(signer("cert").with_certificate_chain(vec![leaf.der]))
}

fn options(enabled: &[Profile]) -> ProfileOptions {
    ProfileOptions::new(enabled.iter().copied())
}

/// Signs under its DID alone.
fn jar(options: ProfileOptions) -> Verifier {
    verifier(options, None)
}

fn verifier(options: ProfileOptions, more: Option<Arc<SoftwareSigner>>) -> Verifier {
    let did = Arc::new(signer("did:web:gateway.example#key"));
    let builder = Verifier::builder(trust()).profiles([Profile::Draft]);
    let mut builder = builder.signed("https://gateway.example", did).profile_options(options);
    if let Some(signer) = more {
        builder = builder.signer(signer);
    }
    builder.build().unwrap()
}

/// Asks this issuer for one claim.
fn body(format: &str, issuer_id: &str, more: &Value) -> Value {
    let credential = json!({"format": format, "issuer_id": issuer_id, "claims": ["a"]});
    let mut body = json!({"credentials": [credential], "redirect_uri": "https://shop.example/"});
    for (name, value) in more.as_object().into_iter().flatten() {
        body[name.as_str()] = value.clone();
    }
    body
}

/// The message of the refusal when `verifier` does not create the session.
#[track_caller]
fn refused(
    verifier: &Verifier,
    spoken: &SpokenProfiles,
    body: &Value,
    new: NewSession,
    now: UnixMillis,
) -> String {
    let resolved = verifier.resolve(body.to_string().as_bytes(), Mode::Live, spoken);
    let made = resolved.map_err(AppError::from).and_then(|request| {
        let made = verifier.create_resolved_session(request, new, &mut OsEntropy, now);
        made.map_err(AppError::from)
    });
    let Err(error) = made else { panic!("made") };
    HttpError::from(error).message.into_owned()
}

fn every() -> SpokenProfiles {
    SpokenProfiles::new([Profile::V1_0, Profile::Haip, Profile::Draft]).with_dc_api()
}

#[test]
fn an_issuer_without_a_type_is_refused_naming_the_option_that_adds_one() {
    let verifier = jar(options(&Profile::ALL));
    for (asked, rule) in [
        (
            body("dc+sd-jwt", "untyped", &json!({"profile": "draft"})),
            "follows a trusted list and names no type of SD-JWT VC; ask the operator to add one with --vct",
        ),
        (
            body("mso_mdoc", "untyped", &json!({})),
            "follows a trusted list and names no type of mdoc; ask the operator to add one with --doc-type",
        ),
        (
            body("dc+sd-jwt", "bare", &json!({})),
            "names no type to ask for in this profile; ask the operator to add one with --vct",
        ),
    ] {
        let message = refused(&verifier, &every(), &asked, NewSession::live(), NOW);
        assert_eq!(message, format!("credentials[0].issuer_id: {rule}"));
    }
}

#[test]
fn a_trusted_list_that_is_overdue_is_refused() {
    let asked = body("dc+sd-jwt", "listed", &json!({}));
    let later = NOW.plus(400 * DAY_MS);
    let verifier = jar(options(&[Profile::V1_0]));
    assert_eq!(
        refused(&verifier, &every(), &asked, NewSession::live(), later),
        "credentials[0].issuer_id: is trusted only through the trusted list Example Operator, \
         which was in force until 2027-02-18T12:00:00.000Z; ask the operator to import a newer one"
    );
}

#[test]
fn a_profile_that_is_not_enabled_is_refused_with_the_enabled_ones() {
    let verifier = jar(options(&[Profile::V1_0, Profile::Draft]));
    let spoken = SpokenProfiles::new([Profile::V1_0, Profile::Draft]);
    let asked = body("dc+sd-jwt", "listed", &json!({"profiles": ["1.0", "2.0"]}));
    assert_eq!(
        refused(&verifier, &spoken, &asked, NewSession::live(), NOW),
        "profiles[1]: is not a profile of this gateway, which speaks 1.0, draft"
    );
    let asked = body("dc+sd-jwt", "listed", &json!({"profile": "haip"}));
    assert_eq!(
        refused(&verifier, &every(), &asked, NewSession::live(), NOW),
        "profiles: haip is not enabled at this gateway; leave it out, or ask the operator for it"
    );
}

#[test]
fn a_profile_whose_certificate_is_missing_or_expired_is_refused() {
    let verifier = jar(options(&[Profile::V1_0, Profile::Draft]));
    let asked = body("dc+sd-jwt", "listed", &json!({}));
    let message = |spoken| refused(&verifier, &spoken, &asked, NewSession::live(), NOW);
    assert_eq!(
        message(every().without(Profile::V1_0)),
        "profile: 1.0 cannot be used now: the gateway has no certificate for it"
    );
    assert_eq!(
        message(every().with_expired(Profile::V1_0)),
        "profile: 1.0 cannot be used now: the certificate for it has expired; ask the operator to \
         renew it"
    );
}

#[test]
fn an_expired_registration_certificate_is_refused() {
    let header = json!({"alg": "ES256", "typ": "rc-wrp+jwt"});
    let claims = json!({"sub": "VATUT-123", "exp": NOW.as_secs() + 60, "credentials": []});
    let registrar = SigningKey::from_seed(Curve::P256, "registrar");
    let text = sign_jws(&registrar, &header.to_string(), &claims.to_string());
    let registration = RegistrationCertificate::import(&text, None, NOW).unwrap();
    let new = NewSession::live().strict_registration(&registration);
    let asked = body("dc+sd-jwt", "listed", &json!({"profile": "haip"}));
    let verifier = verifier(options(&[Profile::Haip]), Some(certified()));
    assert_eq!(
        refused(&verifier, &every(), &asked, new, NOW.plus(DAY_MS)),
        "profiles: needs a registration certificate, which has expired; ask the operator to renew it"
    );
}

#[test]
fn requests_to_browsers_that_are_not_enabled_are_refused() {
    let asked = body("dc+sd-jwt", "listed", &json!({"dc_api": {"origins": ["https://a.example"]}}));
    let verifier = jar(options(&[Profile::V1_0]));
    assert_eq!(
        refused(&verifier, &every(), &asked, NewSession::live(), NOW),
        "dc_api: is not enabled at this gateway; ask the operator for it"
    );
}

#[test]
fn a_profile_without_a_signer_is_refused_naming_what_is_missing() {
    let later = NOW.plus((DAYS + 1) * DAY_MS);
    let by = |form| {
        let mut options = options(&[Profile::V1_0]);
        options.client_id_form = form;
        options
    };
    let to_browsers = {
        let mut options = by(ClientIdForm::DecentralizedIdentifier);
        options.dc_api = DcApi::Signed;
        let builder = Verifier::builder(trust()).profiles([Profile::Draft]);
        builder.unsigned("https://gateway.example").profile_options(options).build().unwrap()
    };
    let dc_api = json!({"dc_api": {"origins": ["https://a.example"]}});
    for (verifier, more, now, lacks) in [
        (to_browsers, &dc_api, NOW, "has no signing key"),
        (jar(by(ClientIdForm::X509Hash)), &json!({}), NOW, "has no certificate"),
        (
            verifier(by(ClientIdForm::X509Hash), Some(certified())),
            &json!({}),
            later,
            "has no certificate in force",
        ),
        (
            verifier(by(ClientIdForm::X509SanDns), Some(certified())),
            &json!({}),
            NOW,
            "has no certificate with its host name",
        ),
    ] {
        let asked = body("dc+sd-jwt", "listed", more);
        assert_eq!(
            refused(&verifier, &every(), &asked, NewSession::live(), now),
            format!(
                "profiles: 1.0 {lacks} at this gateway; leave it out, or ask the operator for it"
            )
        );
    }
}

#[test]
fn a_reader_without_a_certificate_is_refused() {
    let mut options = options(&[Profile::V1_0]);
    options.dc_api = DcApi::Signed;
    let verifier = verifier(options, Some(certified()));
    let asked = body("mso_mdoc", "dmv", &json!({"dc_api": {"origins": ["https://a.example"]}}));
    let later = NOW.plus((DAYS + 1) * DAY_MS);
    for (new, now, lacks) in [
        (NewSession::live(), later, "has no certificate in force"),
        (NewSession::live().signer("gone"), NOW, "has no certificate"),
    ] {
        assert_eq!(
            refused(&verifier, &every(), &asked, new, now),
            format!(
                "dc_api.iso_mdoc: must be signed, and this gateway {lacks}; set it to false, or ask the \
                 operator for one"
            )
        );
    }
}
