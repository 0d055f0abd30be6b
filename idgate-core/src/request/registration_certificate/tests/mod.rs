use alloc::string::ToString;

use serde_json::{Value as Json, json};

use super::*;
use crate::request::fixtures::{self, NOW};

fn jwt(typ: &str, payload: &Json) -> String {
    let part = |json: &Json| base64url::encode(json.to_string().as_bytes());
    [part(&json!({ "alg": "ES256", "typ": typ })), part(payload), "c2ln".to_string()].join(".")
}

/// As a registrar issues it to a shop.
fn payload() -> Json {
    json!({
        "name": "Shop", "sub": "VATUT-123", "iat": NOW.as_secs() - 60, "exp": NOW.as_secs() + 60,
        "credentials": [
            { "format": "dc+sd-jwt", "meta": { "vct_values": ["urn:one"] },
              "claim": [{ "path": ["given_name"] }, { "path": ["address"] }] },
            { "format": "mso_mdoc", "meta": { "doctype_value": "org.iso.18013.5.1.mDL" },
              "claim": [{ "path": ["org.iso.18013.5.1", "family_name"] }] },
        ],
    })
}

fn changed(member: &str, value: Json) -> Json {
    let mut payload = payload();
    payload[member] = value;
    payload
}

fn import(payload: &Json) -> Result<RegistrationCertificate, RegistrationError> {
    RegistrationCertificate::import(&jwt(TYP, payload), Some("VATUT-123"), NOW)
}

fn beyond(body: Json) -> Vec<String> {
    import(&payload()).unwrap().exceeded_by(&fixtures::request(body))
}

fn sd_jwt(claims: &[&str]) -> Json {
    json!({ "credentials": [{ "format": "vc+sd-jwt", "issuer_id": "https://one.example", "claims": claims }] })
}

#[test]
fn a_registration_certificate_is_read_and_travels_as_it_is() {
    let certificate = import(&payload()).unwrap();
    assert_eq!(certificate.subject, "VATUT-123");
    assert_eq!(certificate.expires_at, Some(UnixMillis::from_secs(NOW.as_secs() + 60)));
    let info = certificate.verifier_info();
    assert_eq!((&*info.format, &info.data), ("registration_cert", &jwt(TYP, &payload())));
    let padded = format!(" {}\n", jwt("application/RC-WRP+jwt", &payload()));
    assert!(RegistrationCertificate::import(&padded, None, NOW).is_ok());
}

#[test]
fn other_texts_are_refused() {
    let whole = jwt(TYP, &payload());
    for bad in ["", "a.b", "a.b.c", &whole[1..], &whole.replace('.', ":")] {
        let refused = RegistrationCertificate::parse(bad);
        assert!(matches!(refused, Err(RegistrationError::NotAJwt)), "{bad}: {refused:?}");
    }
    assert_eq!(
        RegistrationCertificate::parse(&jwt("JWT", &payload())),
        Err(RegistrationError::Typ)
    );
}

#[test]
fn its_members_have_their_forms() {
    for (member, value) in [
        ("sub", json!(7)),
        ("exp", json!("tomorrow")),
        ("iat", json!(-1)),
        ("credentials", json!({})),
        ("credentials", json!([{ "format": "dc+sd-jwt" }])),
        ("credentials", json!([{ "format": 1, "meta": { "doctype_value": "a" } }])),
        ("credentials", json!([{ "format": "a", "meta": { "vct_values": [1] } }])),
        (
            "credentials",
            json!([{ "format": "a", "meta": { "doctype_value": "a" }, "claim": [{}] }]),
        ),
    ] {
        let refused = import(&changed(member, value.clone()));
        assert_eq!(refused, Err(RegistrationError::Member(member)), "{value}");
    }
}

#[test]
fn it_is_inside_its_dates() {
    let late = changed("iat", json!(NOW.as_secs() + 1));
    assert_eq!(import(&late), Err(RegistrationError::NotYetValid));
    let gone = changed("exp", json!(NOW.as_secs()));
    assert_eq!(import(&gone), Err(RegistrationError::Expired));
}

#[test]
fn it_is_of_the_party_of_the_access_certificate() {
    let text = jwt(TYP, &payload());
    let import = |identifier| RegistrationCertificate::import(&text, identifier, NOW);
    assert_eq!(import(Some("VATUT-124")), Err(RegistrationError::OtherParty));
    assert!(import(None).is_ok());
}

#[test]
fn what_is_registered_may_be_asked_for() {
    assert_eq!(beyond(sd_jwt(&["given_name", "address"])), [""; 0]);
}

#[test]
fn claims_that_are_not_registered_are_beyond_it() {
    assert_eq!(beyond(sd_jwt(&["given_name", "birthdate"])), ["birthdate of urn:one"]);
}

#[test]
fn a_registered_claim_covers_what_is_inside_of_it_and_no_more() {
    let path = |names: &[&str]| ClaimPath::of_claims(names.iter().copied());
    let (address, street) = (path(&["address"]), path(&["address", "street"]));
    assert!(is_prefix(&address, &street) && is_prefix(&street, &street));
    assert!(!is_prefix(&street, &address) && !is_prefix(&address, &path(&["name", "address"])));
}

#[test]
fn types_that_are_not_registered_are_beyond_it() {
    let two = json!({ "credentials": [
        { "format": "vc+sd-jwt", "issuer_id": "https://one.example", "claims": ["given_name"] },
        { "format": "vc+sd-jwt", "issuer_id": "two", "claims": ["given_name"] },
    ] });
    assert_eq!(beyond(two), ["the type urn:a", "the type urn:b"]);
}

#[test]
fn a_credential_that_is_registered_without_claims_allows_none() {
    let bare = json!([{ "format": "dc+sd-jwt", "meta": { "vct_values": ["urn:one"] } }]);
    let certificate = import(&changed("credentials", bare)).unwrap();
    let beyond = certificate.exceeded_by(&fixtures::request(sd_jwt(&["given_name"])));
    assert_eq!(beyond, ["given_name of urn:one"]);
}

#[test]
fn the_same_type_in_another_format_is_not_registered() {
    let other = json!([{ "format": "mso_mdoc", "meta": { "doctype_value": "urn:one" },
        "claim": [{ "path": ["given_name"] }] }]);
    let certificate = import(&changed("credentials", other)).unwrap();
    let beyond = certificate.exceeded_by(&fixtures::request(sd_jwt(&["given_name"])));
    assert_eq!(beyond, ["the type urn:one"]);
}
