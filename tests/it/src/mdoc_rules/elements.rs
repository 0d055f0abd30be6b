//! Rules 10, 13 and 14: the issuing country, revocation, and the returned elements.

use idgate_core::Reason;
use idgate_core::revocation::Revocation;
use idgate_core::shell::{RootOrigin, TrustAnchor};
use idgate_core::trust::RevocationPolicy;
use idgate_testkit::der;
use idgate_testkit::keys::{Curve, SigningKey};
use idgate_testkit::mdoc::{Cbor, IssuerSigned, Item, MDL_NAME_SPACE};
use idgate_testkit::x509::{CertificateBuilder, ISSUER_ALT_NAME, Identity, Name};

use super::{Case, NOW, PROVIDERS, accepted, refused};

use Reason::{ChainInvalid, ClaimMissing};
/// A way to try foreign samples, never in live sessions. The result says so.
#[test]
fn rule_10_an_unbound_issuing_country_is_taken_in_test_mode_only_and_shown() {
    let foreign = |unbound: bool, livemode: bool| {
        move |case: &mut Case| {
            case.issued().change("issuing_country", |item| item.map.set("elementValue", "GR"));
            case.digest();
            case.trust.issuing_country_unbound = unbound;
            case.livemode = livemode;
        }
    };
    assert!(accepted(foreign(true, false)).facts().issuing_country_unbound);
    refused(ChainInvalid, foreign(true, true));
    refused(ChainInvalid, foreign(false, false));
    // If the rule holds, nothing was waived.
    let domestic = accepted(|case| {
        (case.trust.issuing_country_unbound, case.livemode) = (true, false);
    });
    assert!(!domestic.facts().issuing_country_unbound);
}

/// Signers of the European age app have it. Test material may have it, and the result names it.
#[test]
fn an_unreadable_issuer_alt_name_of_test_material_is_tolerated_and_named() {
    let signed = |test_only: bool, livemode: bool| {
        move |case: &mut Case| {
            let key = SigningKey::from_seed(Curve::P256, "age root");
            let root = CertificateBuilder::iaca_root(Name::new("UT", "Age root"), &key, NOW);
            let root = root.self_sign(&key);
            let key = SigningKey::from_seed(Curve::P256, "age signer");
            let nested = der::sequence(&[&der::sequence(&[&[0x06, 3, 0x55, 0x1d, 0x12]])]);
            let signer = CertificateBuilder::document_signer(
                &root,
                Name::new("UT", "Age signer"),
                &key,
                NOW,
            )
            .set(ISSUER_ALT_NAME, false, nested)
            .issue(&root, &key);
            let anchor = TrustAnchor::from_der(&PROVIDERS[0], &root.der, RootOrigin::RootFile);
            let mut anchor = anchor.unwrap();
            anchor.test_only = test_only;
            (case.trust.roots, case.livemode) = (vec![anchor], livemode);
            let issued: &mut IssuerSigned = case.issued();
            issued.key = key;
            issued.unprotected.set(33, Cbor::Bytes(signer.der));
        }
    };
    assert_eq!(accepted(signed(true, false)).facts().tolerated, ["2.5.29.18"]);
    refused(ChainInvalid, signed(false, false));
    refused(ChainInvalid, signed(false, true));
    assert!(accepted(|_| {}).facts().tolerated.is_empty());
}

#[test]
fn rule_10_the_issuing_jurisdiction_is_the_signers_when_it_names_one() {
    let jurisdiction = |name: &'static str, state: Option<&str>| {
        let mut case = Case::new();
        if let Some(state) = state {
            sign_in_state(&mut case, state);
        }
        let item = Item::new(MDL_NAME_SPACE, 50, "issuing_jurisdiction", name);
        case.issued().items.push(item);
        case.digest();
        case.verify().err()
    };
    assert_eq!(jurisdiction("UT-A", Some("UT-A")), None);
    assert_eq!(jurisdiction("UT-B", Some("UT-A")), Some(ChainInvalid));
}

/// Another root and signer, both of this stateOrProvinceName.
fn sign_in_state(case: &mut Case, state: &str) {
    let key = SigningKey::from_seed(Curve::P256, "state root");
    let name = Name::new("UT", "State IACA").with_state(state);
    let root = CertificateBuilder::iaca_root(name, &key, NOW).self_sign(&key);
    let key = SigningKey::from_seed(Curve::P256, "state signer");
    let name = Name::new("UT", "State signer").with_state(state);
    let signer: Identity =
        CertificateBuilder::document_signer(&root, name, &key, NOW).issue(&root, &key);
    case.trust.roots =
        vec![TrustAnchor::from_der(&PROVIDERS[0], &root.der, RootOrigin::RootFile).unwrap()];
    let issued: &mut IssuerSigned = case.issued();
    issued.key = key;
    issued.unprotected.set(33, Cbor::Bytes(signer.der));
}

/// Outside a session nothing is fetched: a published status that is not at hand is unknown.
#[test]
fn rule_13_published_revocation_is_checked() {
    let unknown = Reason::RevocationUnknown;
    refused(unknown, |case| case.trust.revocation = RevocationPolicy::IfPublished);
    refused(unknown, |case| case.trust.revocation = RevocationPolicy::Required);
    let off = accepted(|case| {
        let list = Cbor::map([("idx", 0.into()), ("uri", "https://status.example/1".into())]);
        case.issued().mso.set("status", Cbor::map([("status_list", list)]));
    });
    assert_eq!(off.revocation(), Revocation::Off);
    // The last of all checks: any other fault comes first.
    refused(ClaimMissing, |case| {
        case.trust.revocation = RevocationPolicy::Required;
        case.claims.push("given_name".into());
    });
}

#[test]
fn rule_14_exactly_the_requested_elements_are_returned() {
    refused(ClaimMissing, |case| case.claims.push("given_name".into()));
    let verified = accepted(|case| {
        case.claims = ["portrait", "birth_date", "age_over_18"].map(String::from).into();
    });
    let portrait = idgate_testkit::codec::base64url(&[7; 64]);
    let expected =
        format!(r#"{{"portrait":"{portrait}","birth_date":"1984-01-26","age_over_18":true}}"#);
    assert_eq!(verified.claims().as_json(), expected);
    let none = accepted(|case| case.claims.clear());
    assert_eq!(none.claims().as_json(), "{}");
}

#[test]
fn the_nearest_age_statement_decides() {
    let ask = |name: &str, attested: &[(&str, bool)]| {
        let mut case = Case::new();
        case.claims = vec![name.into()];
        case.issued().change("age_over_18", |item| item.map.set("elementIdentifier", "x"));
        for ((element, over), id) in attested.iter().zip(20..) {
            case.issued().items.push(Item::new(MDL_NAME_SPACE, id, element, *over));
        }
        case.digest();
        let verified = case.verify()?;
        Ok((verified.claims().as_json().to_owned(), verified.facts().decided_by.clone()))
    };
    let decided = |by: &str| vec![("age_over_18".to_owned(), by.to_owned())];
    assert_eq!(
        ask("age_over_18", &[("age_over_65", false), ("age_over_21", true)]),
        Ok((r#"{"age_over_18":true}"#.to_owned(), decided("age_over_21")))
    );
    assert_eq!(
        ask("age_over_18", &[("age_over_16", false)]),
        Ok((r#"{"age_over_18":false}"#.to_owned(), decided("age_over_16")))
    );
    // The exact element decides, whatever the others say.
    assert_eq!(
        ask("age_over_18", &[("age_over_18", false), ("age_over_21", true)]),
        Ok((r#"{"age_over_18":false}"#.to_owned(), vec![]))
    );
    assert_eq!(ask("age_over_18", &[("age_over_16", true)]), Err(ClaimMissing));
    assert_eq!(ask("age_over_18", &[("age_over_21", false)]), Err(ClaimMissing));
}
