//! Rules 11 and 12: the device's signature or MAC, and what it may sign.

use idgate_core::Reason;
use idgate_core::crypto::{Curve as CoreCurve, EcdhPrivateKey};
use idgate_core::verify::MdocRequest;
use idgate_testkit::codec::from_base64url;
use idgate_testkit::keys::{Curve, SigningKey};
use idgate_testkit::mdoc::{Cbor, DeviceProof, MDL_NAME_SPACE, cose_key};

use super::{Case, REQUEST, accepted, iso_18013_7, openid4vp, refused};

use Reason::{ClaimMissing, DeviceAuthInvalid, MalformedPresentation};

#[test]
fn rule_11_the_devices_key_signed_this_request() {
    let transcript = |client_id, nonce, response_uri| {
        move |case: &mut Case| case.transcript = openid4vp(client_id, nonce, None, response_uri)
    };
    let good = REQUEST;
    accepted(transcript(good.client_id, good.nonce, good.response_uri));
    refused(DeviceAuthInvalid, transcript("another", good.nonce, good.response_uri));
    refused(DeviceAuthInvalid, transcript(good.client_id, "another", good.response_uri));
    refused(DeviceAuthInvalid, transcript(good.client_id, good.nonce, "https://another.example"));
    refused(DeviceAuthInvalid, |case| {
        let MdocRequest { client_id, nonce, response_uri } = REQUEST;
        case.transcript = openid4vp(client_id, nonce, Some(&[0; 32]), response_uri);
    });
}

#[test]
fn rule_11_another_key_proves_nothing() {
    refused(DeviceAuthInvalid, |case| {
        case.document.device_key = SigningKey::from_seed(Curve::P256, "thief");
    });
    refused(DeviceAuthInvalid, |case| case.document.device_key = case.signer.key.clone());
}

#[test]
fn rule_11_there_is_exactly_one_proof() {
    refused(DeviceAuthInvalid, |case| case.proof = DeviceProof::Given(Cbor::Map(vec![])));
    refused(DeviceAuthInvalid, |case| {
        let signature = case.document.device_signature(&case.transcript);
        let mac = case.document.device_mac(&case.transcript, &case.signer.key.public_sec1());
        case.proof =
            DeviceProof::Given(Cbor::map([("deviceSignature", signature), ("deviceMac", mac)]));
    });
    refused(DeviceAuthInvalid, |case| {
        case.proof = DeviceProof::Given(Cbor::map([("deviceSignature", Cbor::Null)]));
    });
}

#[test]
fn rule_11_the_payload_is_detached() {
    refused(DeviceAuthInvalid, |case| {
        let Cbor::Array(mut parts) = case.document.device_signature(&case.transcript) else {
            panic!("no array")
        };
        parts[2] = Cbor::Bytes(case.document.payload(&case.transcript));
        case.proof = DeviceProof::Given(Cbor::map([("deviceSignature", Cbor::Array(parts))]));
    });
}

#[test]
fn rule_11_alg_fits_the_devices_key() {
    for label in [-35, -36, -8, 5, 0] {
        refused(DeviceAuthInvalid, |case| {
            case.document.protected = Some(Cbor::Map(vec![(1.into(), label.into())]));
        });
    }
    refused(DeviceAuthInvalid, |case| case.document.protected = Some(Cbor::Map(vec![])));
    refused(DeviceAuthInvalid, |case| case.document.unprotected.set(1, -7));
}

#[test]
fn rule_11_the_device_key_is_a_public_key_on_a_known_curve() {
    let key = |change: fn(&mut Cbor)| {
        move |case: &mut Case| change(case.issued().mso.at("deviceKeyInfo").at("deviceKey"))
    };
    refused(DeviceAuthInvalid, key(|key| key.set(1, 1)));
    refused(DeviceAuthInvalid, key(|key| key.set(-1, 8)));
    refused(DeviceAuthInvalid, key(|key| key.set(-3, true)));
    refused(DeviceAuthInvalid, key(|key| key.set(-2, Cbor::Bytes(vec![1; 31]))));
    refused(DeviceAuthInvalid, key(|key| key.set(-2, Cbor::Bytes(vec![1; 32]))));
    refused(DeviceAuthInvalid, key(|key| key.set(-4, Cbor::Bytes(vec![1; 32]))));
}

#[test]
fn rule_11_issuer_and_device_keys_may_be_on_different_curves() {
    accepted(|case| {
        let key = SigningKey::from_seed(Curve::P521, "device");
        case.issued().mso.at("deviceKeyInfo").set("deviceKey", cose_key(&key));
        case.document.device_key = key;
    });
}

#[test]
fn rule_11_the_annex_b_transcript_counts_where_the_session_allows_it() {
    let annex_b = |case: &mut Case| {
        let MdocRequest { client_id, nonce, response_uri } = REQUEST;
        case.transcript = iso_18013_7(client_id, nonce, "wallet nonce", response_uri);
    };
    refused(DeviceAuthInvalid, annex_b);
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
fn rule_11_a_mac_counts_only_where_there_is_a_reader_key() {
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
fn rule_12_the_device_signs_only_what_it_may() {
    refused(DeviceAuthInvalid, |case| case.document.device_name_spaces = device_signed("nickname"));
    let elements = |element: &str| {
        let allowed = Cbor::Array(vec![element.into()]);
        Cbor::map([("dataElements", Cbor::map([(MDL_NAME_SPACE, allowed)]))])
    };
    let name_spaces = |name: &str| Cbor::map([("nameSpaces", Cbor::Array(vec![name.into()]))]);
    for (authorizations, good) in [
        (elements("nickname"), true),
        (name_spaces(MDL_NAME_SPACE), true),
        (elements("another"), false),
        (name_spaces("another"), false),
    ] {
        let mut case = Case::new();
        case.document.device_name_spaces = device_signed("nickname");
        authorize(&mut case, authorizations);
        assert_eq!(case.verify().err(), (!good).then_some(DeviceAuthInvalid));
    }
}

#[test]
fn rule_12_device_signed_values_are_never_reported() {
    refused(ClaimMissing, |case| {
        case.document.device_name_spaces = device_signed("given_name");
        authorize(case, Cbor::map([("nameSpaces", Cbor::Array(vec![MDL_NAME_SPACE.into()]))]));
        case.claims.push("given_name".into());
    });
    let verified = accepted(|case| {
        case.document.device_name_spaces = device_signed("family_name");
        authorize(case, Cbor::map([("nameSpaces", Cbor::Array(vec![MDL_NAME_SPACE.into()]))]));
    });
    assert_eq!(verified.claims().get("family_name"), Some("\"Mustermann\""));
}

#[test]
fn rule_12_what_the_device_signs_is_a_map_of_maps() {
    refused(MalformedPresentation, |case| case.document.device_name_spaces = Cbor::Int(1));
    refused(MalformedPresentation, |case| {
        case.document.device_name_spaces = Cbor::map([(MDL_NAME_SPACE, 1.into())]);
    });
    refused(MalformedPresentation, |case| {
        case.document.device_name_spaces = Cbor::Raw(b"\xa2\x61a\xa0\x61a\xa0".to_vec());
    });
}
