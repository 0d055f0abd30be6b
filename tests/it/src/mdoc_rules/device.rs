//! Rules 11 and 12: the device's signature or MAC, and what it may sign.

use idgate_core::Reason;
use idgate_core::crypto::{Curve as CoreCurve, EcdhPrivateKey};
use idgate_core::shell::MdocRequest;
use idgate_testkit::codec::from_base64url;
use idgate_testkit::keys::{Curve, SigningKey};
use idgate_testkit::mdoc::{Cbor, DeviceProof, MDL_NAME_SPACE};

use super::{Case, REQUEST, accepted, iso_18013_7, openid4vp, refused};

use Reason::DeviceAuthInvalid;
#[test]
fn rule_11_the_annex_b_transcript_is_accepted_if_the_session_allows_it() {
    let annex_b = |case: &mut Case| {
        let MdocRequest { client_id, nonce, response_uri } = REQUEST;
        case.transcript = iso_18013_7(client_id, nonce, "wallet nonce", response_uri);
    };
    refused(DeviceAuthInvalid, |case| {
        annex_b(case);
        case.mdoc_generated_nonce = Some("another");
    });
    let verified = accepted(|case| {
        annex_b(case);
        case.mdoc_generated_nonce = Some("wallet nonce");
    });
    assert_eq!(verified.facts().session_transcript, Some("iso18013-7"));
}

fn reader() -> (EcdhPrivateKey, Vec<u8>) {
    let key = SigningKey::from_seed(Curve::P256, "reader");
    let scalar = from_base64url(key.private_jwk()["d"].as_str().unwrap()).unwrap();
    (EcdhPrivateKey::from_scalar(CoreCurve::P256, &scalar).unwrap(), key.public_sec1())
}

#[test]
fn rule_11_a_device_mac_needs_a_reader_key() {
    let mac = |case: &mut Case| case.proof = DeviceProof::Mac(reader().1);
    refused(DeviceAuthInvalid, mac);
    let verified = accepted(|case| {
        mac(case);
        case.reader_key = Some(reader().0);
    });
    assert_eq!(verified.facts().holder_binding.name(), "device_mac");
    refused(DeviceAuthInvalid, |case| {
        mac(case);
        case.reader_key = Some(EcdhPrivateKey::from_scalar(CoreCurve::P256, &[1; 32]).unwrap());
    });
    refused(DeviceAuthInvalid, |case| {
        mac(case);
        case.reader_key = Some(EcdhPrivateKey::from_scalar(CoreCurve::P384, &[1; 48]).unwrap());
    });
    refused(DeviceAuthInvalid, |case| {
        mac(case);
        case.reader_key = Some(reader().0);
        case.transcript = openid4vp("another", REQUEST.nonce, None, REQUEST.response_uri);
    });
}

#[test]
fn rule_11_a_mac_is_whole_and_of_its_algorithm() {
    for label in [4, 6, 7, -7] {
        refused(DeviceAuthInvalid, |case| {
            case.proof = DeviceProof::Mac(reader().1);
            case.reader_key = Some(reader().0);
            case.document.protected = Some(Cbor::Map(vec![(1.into(), label.into())]));
        });
    }
    for change in [|tag: &mut Vec<u8>| tag[0] ^= 1, |tag: &mut Vec<u8>| tag.truncate(8), Vec::clear]
    {
        refused(DeviceAuthInvalid, |case| {
            let Cbor::Array(mut parts) = case.document.device_mac(&case.transcript, &reader().1)
            else {
                panic!("no array")
            };
            let Cbor::Bytes(tag) = &mut parts[3] else { panic!("no bytes") };
            change(tag);
            case.proof = DeviceProof::Given(Cbor::map([("deviceMac", Cbor::Array(parts))]));
            case.reader_key = Some(reader().0);
        });
    }
}

fn device_signed(element: &str) -> Cbor {
    Cbor::map([(MDL_NAME_SPACE, Cbor::map([(element, "of the device".into())]))])
}

fn authorize(case: &mut Case, authorizations: Cbor) {
    case.issued().mso.at("deviceKeyInfo").set("keyAuthorizations", authorizations);
}

#[test]
fn rule_12_device_signed_values_are_never_reported() {
    let verified = accepted(|case| {
        case.document.device_name_spaces = device_signed("family_name");
        authorize(case, Cbor::map([("nameSpaces", Cbor::Array(vec![MDL_NAME_SPACE.into()]))]));
    });
    assert_eq!(verified.claims().get("family_name"), Some("\"Mustermann\""));
}
