use alloc::string::ToString;

use serde_json::{Value as Json, json};

use super::*;
use crate::request::fixtures::{self, NOW};

fn jwt(typ: &str, payload: &Json) -> String {
    let part = |json: &Json| base64url::encode(json.to_string().as_bytes());
    [part(&json!({ "alg": "ES256", "typ": typ })), part(payload), "c2ln".to_string()].join(".")
}

/// The payload as a registrar issues it to a shop.
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
fn a_registration_certificate_is_read_and_sent_unchanged() {
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
        ("srv_id", json!(7)),
        ("intended_use_id", json!(["a"])),
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
fn it_is_within_its_validity() {
    let late = changed("iat", json!(NOW.as_secs() + 1));
    assert_eq!(import(&late), Err(RegistrationError::NotYetValid));
    let gone = changed("exp", json!(NOW.as_secs()));
    assert_eq!(import(&gone), Err(RegistrationError::Expired));
}

#[test]
fn it_has_the_party_of_the_access_certificate() {
    let text = jwt(TYP, &payload());
    let import = |identifier| RegistrationCertificate::import(&text, identifier, NOW);
    assert_eq!(import(Some("VATUT-124")), Err(RegistrationError::OtherParty));
    assert!(import(None).is_ok());
}

#[test]
fn registered_claims_may_be_requested() {
    assert_eq!(beyond(sd_jwt(&["given_name", "address"])), [""; 0]);
}

#[test]
fn claims_that_are_not_registered_are_beyond_it() {
    assert_eq!(beyond(sd_jwt(&["given_name", "birthdate"])), ["birthdate of urn:one"]);
}

#[test]
fn a_registered_claim_covers_only_what_is_inside_it() {
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
fn a_credential_registered_without_claims_allows_none() {
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

#[test]
fn claims_are_read_from_both_spellings() {
    let both = json!([{ "format": "dc+sd-jwt", "meta": { "vct_values": ["urn:one"] },
        "claim": [{ "path": ["given_name"] }], "claims": [{ "path": ["address"] }] }]);
    let certificate = import(&changed("credentials", both)).unwrap();
    let asked = fixtures::request(sd_jwt(&["given_name", "address", "birthdate"]));
    assert_eq!(certificate.exceeded_by(&asked), ["birthdate of urn:one"]);
    for bad in [json!({}), json!([{}]), json!([{ "path": [] }])] {
        let entry = json!([{ "format": "dc+sd-jwt", "meta": { "vct_values": ["urn:one"] },
            "claim": [{ "path": ["given_name"] }], "claims": bad }]);
        let refused = import(&changed("credentials", entry));
        assert_eq!(refused, Err(RegistrationError::Member("credentials")));
    }
}

#[test]
fn it_is_for_a_service_of_the_access_certificate_if_both_name_one() {
    let certificate = import(&changed("srv_id", json!("shop"))).unwrap();
    let check = |services: &[&str]| {
        let services: Vec<String> = services.iter().map(|one| (*one).into()).collect();
        certificate.check_service(&services)
    };
    assert_eq!(check(&["bank", "shop"]), Ok(()));
    assert_eq!(check(&["bank"]), Err(RegistrationError::OtherService));
    assert_eq!(check(&[]), Ok(()));
    assert_eq!(import(&payload()).unwrap().check_service(&["bank".into()]), Ok(()));
}

fn with_contacts() -> Json {
    let mut payload = changed("support_uri", json!("https://shop.example/delete"));
    payload["supervisory_authority"] = json!({
        "uri": "https://authority.example", "email": "post@authority.example", "phone": "+43 1 1" });
    payload
}

#[test]
fn contacts_are_read_for_people() {
    let certificate = import(&with_contacts()).unwrap();
    let contacts = certificate.contacts();
    assert_eq!(contacts.deletion.as_deref(), Some("https://shop.example/delete"));
    assert_eq!(contacts.authority_uri.as_deref(), Some("https://authority.example"));
    assert_eq!(contacts.authority_email.as_deref(), Some("post@authority.example"));
    assert_eq!(contacts.authority_phone.as_deref(), Some("+43 1 1"));
    assert_eq!(import(&payload()).unwrap().contacts, Contacts::default());
    let empty = changed("supervisory_authority", json!({ "email": "" }));
    assert_eq!(import(&empty).unwrap().contacts, Contacts::default());
}

#[test]
fn contacts_are_checked_at_import_and_never_invalidate_a_stored_certificate() {
    let long = "x".repeat(513);
    for (member, value, named) in [
        ("support_uri", json!(["https://shop.example"]), "support_uri"),
        ("support_uri", json!("a\nb"), "support_uri"),
        ("support_uri", json!(long), "support_uri"),
        ("supervisory_authority", json!("https://authority.example"), "supervisory_authority"),
        ("supervisory_authority", json!({ "uri": 1 }), "supervisory_authority.uri"),
        ("supervisory_authority", json!({ "email": null }), "supervisory_authority.email"),
        ("supervisory_authority", json!({ "phone": 43 }), "supervisory_authority.phone"),
    ] {
        let payload = changed(member, value);
        assert_eq!(import(&payload), Err(RegistrationError::Member(named)));
        let stored = RegistrationCertificate::parse(&jwt(TYP, &payload)).unwrap();
        assert_eq!(stored.contacts, Contacts::default());
    }
    let said = RegistrationError::Member("support_uri").to_string();
    assert!(said.contains("support_uri") && said.contains("ETSI TS 119 475 5.2.4"), "{said}");
}
