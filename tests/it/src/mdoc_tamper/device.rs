//! The device: its proof, what the proof covers, and what the device may sign itself.

use idgate_testkit::keys::{Curve, SigningKey};
use idgate_testkit::mdoc::{Cbor, DeviceProof, MDL_NAME_SPACE, cose_key, iso_18013_7, openid4vp};

use super::{Row, Scenario};

pub(super) const ROWS: &[Row] = &[
    Row::refused("client_id in the transcript", DEVICE, |s| {
        let r = &s.request;
        s.transcript = openid4vp(&r.response_uri, &r.nonce, None, &r.response_uri);
    }),
    Row::refused("nonce in the transcript", DEVICE, |s| {
        let r = &s.request;
        s.transcript = openid4vp(&r.client_id, "another", None, &r.response_uri);
    }),
    Row::refused("response_uri in the transcript", DEVICE, |s| {
        let r = &s.request;
        s.transcript = openid4vp(&r.client_id, &r.nonce, None, "https://another.example/");
    }),
    Row::refused("a thumbprint in the transcript", DEVICE, |s| {
        let r = &s.request;
        s.transcript = openid4vp(&r.client_id, &r.nonce, Some(&[0; 32]), &r.response_uri);
    }),
    Row::refused("the transcript of ISO/IEC TS 18013-7", DEVICE, |s| {
        let r = &s.request;
        s.transcript = iso_18013_7(&r.client_id, &r.nonce, "", &r.response_uri);
    }),
    Row::refused("an empty transcript", DEVICE, |s| s.transcript = vec![0xf6]),
    Row::refused("the device's key", DEVICE, |s| {
        s.document.device_key = SigningKey::from_seed(Curve::P256, "thief");
    }),
    Row::refused("the signer's key for the device's", DEVICE, |s| {
        s.document.device_key = s.authority.signer.key.clone();
    }),
    Row::refused("a bit of the device's signature", DEVICE, |s| {
        signature(s, |parts| {
            if let Cbor::Bytes(signature) = &mut parts[3] {
                signature[0] ^= 1;
            }
        });
    }),
    Row::refused("a device signature of zeros", DEVICE, |s| {
        signature(s, |parts| parts[3] = Cbor::Bytes(vec![0; 64]));
    }),
    Row::refused("a payload in the device's signature", DEVICE, |s| {
        let payload = s.document.payload(&s.transcript);
        let Cbor::Array(mut parts) = s.document.device_signature(&s.transcript) else { return };
        parts[2] = Cbor::Bytes(payload);
        s.proof = DeviceProof::Given(Cbor::map([("deviceSignature", Cbor::Array(parts))]));
    }),
    Row::refused("neither signature nor MAC", DEVICE, |s| {
        s.proof = DeviceProof::Given(Cbor::Map(Vec::new()));
    }),
    Row::refused("a device signature null", DEVICE, |s| {
        s.proof = DeviceProof::Given(Cbor::map([("deviceSignature", Cbor::Null)]));
    }),
    Row::refused("both signature and MAC", DEVICE, |s| {
        let reader = s.authority.signer.key.public_sec1();
        let signature = s.document.device_signature(&s.transcript);
        let mac = s.document.device_mac(&s.transcript, &reader);
        let both = Cbor::map([("deviceSignature", signature), ("deviceMac", mac)]);
        s.proof = DeviceProof::Given(both);
    }),
    Row::refused("a MAC in an unencrypted answer", DEVICE, |s| {
        s.proof = DeviceProof::Mac(s.authority.signer.key.public_sec1());
    }),
    Row::refused("alg ES384 for a P-256 device key", DEVICE, |s| {
        s.document.protected = Some(Cbor::Map(vec![(1.into(), (-35).into())]));
    }),
    Row::refused("alg ES512 for a P-256 device key", DEVICE, |s| alg(s, -36)),
    Row::refused("alg EdDSA of the device", DEVICE, |s| alg(s, -8)),
    Row::refused("alg of a MAC for the device's signature", DEVICE, |s| alg(s, 5)),
    Row::refused("alg 0 of the device", DEVICE, |s| alg(s, 0)),
    Row::refused("no alg of the device", DEVICE, |s| {
        s.document.protected = Some(Cbor::Map(Vec::new()))
    }),
    Row::refused("alg of the device unprotected, too", DEVICE, |s| {
        s.document.unprotected.set(1, -7)
    }),
    Row::refused("the kind of the device's key", DEVICE, |s| device_key(s, |key| key.set(1, 1))),
    Row::refused("the curve of the device's key", DEVICE, |s| device_key(s, |key| key.set(-1, 8))),
    Row::refused("a device key as a compressed point", DEVICE, |s| {
        device_key(s, |key| key.set(-3, true));
    }),
    Row::refused("a device key cut short", DEVICE, |s| {
        device_key(s, |key| key.set(-2, Cbor::Bytes(vec![1; 31])));
    }),
    Row::refused("a device key off its curve", DEVICE, |s| {
        device_key(s, |key| key.set(-2, Cbor::Bytes(vec![1; 32])));
    }),
    Row::refused("a private device key", DEVICE, |s| {
        device_key(s, |key| key.set(-4, Cbor::Bytes(vec![1; 32])));
    }),
    Row::verified("a device key on P-521", |s| {
        let key = SigningKey::from_seed(Curve::P521, "device");
        s.issued().mso.at("deviceKeyInfo").set("deviceKey", cose_key(&key));
        s.document.device_key = key;
    }),
    Row::refused("an element of the device without authorisation", DEVICE, |s| {
        s.document.device_name_spaces = nickname();
    }),
    Row::verified("an element of the device, authorised", |s| {
        s.document.device_name_spaces = nickname();
        authorize(s, "nickname");
    }),
    Row::refused("an element of the device, another authorised", DEVICE, |s| {
        s.document.device_name_spaces = nickname();
        authorize(s, "another");
    }),
    Row::verified("an element of the device, its namespace authorised", |s| {
        s.document.device_name_spaces = nickname();
        authorize_name_space(s, MDL_NAME_SPACE);
    }),
    Row::refused("an element of the device, another namespace authorised", DEVICE, |s| {
        s.document.device_name_spaces = nickname();
        authorize_name_space(s, "another");
    }),
    Row::verified("keyAuthorizations of nothing", |s| grant(s, Cbor::Map(Vec::new()))),
    Row::verified("keyAuthorizations of empty lists", |s| {
        let (none, nothing) = (Cbor::Array(Vec::new()), Cbor::Map(Vec::new()));
        grant(s, Cbor::map([("nameSpaces", none), ("dataElements", nothing)]));
    }),
    Row::refused("keyAuthorizations as a list", MALFORMED, |s| grant(s, Cbor::Array(Vec::new()))),
    Row::refused("authorised namespaces as text", MALFORMED, |s| {
        grant(s, Cbor::map([("nameSpaces", MDL_NAME_SPACE.into())]));
    }),
    Row::refused("an authorised namespace as a number", MALFORMED, |s| {
        grant(s, Cbor::map([("nameSpaces", Cbor::Array(vec![1.into()]))]));
    }),
    Row::refused("authorised elements without their namespace", MALFORMED, |s| {
        grant(s, Cbor::map([("dataElements", Cbor::Array(vec!["nickname".into()]))]));
    }),
    Row::refused("authorised elements as text", MALFORMED, |s| {
        grant(s, Cbor::map([("dataElements", Cbor::map([(MDL_NAME_SPACE, "nickname".into())]))]));
    }),
    Row::refused("an authorised element as a number", MALFORMED, |s| {
        let elements = Cbor::Array(vec!["nickname".into(), 1.into()]);
        grant(s, Cbor::map([("dataElements", Cbor::map([(MDL_NAME_SPACE, elements)]))]));
    }),
    Row::refused("a requested element from the device", "claim_missing", |s| {
        s.issued().items.remove(0);
        let element = Cbor::map([("family_name", "Musterfrau".into())]);
        s.document.device_name_spaces = Cbor::map([(MDL_NAME_SPACE, element)]);
        authorize(s, "family_name");
    }),
    Row::refused("a namespace of the device as a number", MALFORMED, |s| {
        s.document.device_name_spaces = Cbor::map([(MDL_NAME_SPACE, 1.into())]);
    }),
    Row::refused("a namespace of the device twice", MALFORMED, |s| {
        s.document.device_name_spaces = Cbor::Raw(b"\xa2\x61a\xa0\x61a\xa0".to_vec());
    }),
    Row::refused("what the device signs as a number", MALFORMED, |s| {
        s.document.device_name_spaces = Cbor::Int(1);
    }),
];

const DEVICE: &str = "device_auth_invalid";
const MALFORMED: &str = "malformed_presentation";

fn signature(scenario: &mut Scenario, change: fn(&mut Vec<Cbor>)) {
    let signature = scenario.document.device_signature(&scenario.transcript);
    let Cbor::Array(mut parts) = signature else { return };
    change(&mut parts);
    let auth = Cbor::map([("deviceSignature", Cbor::Array(parts))]);
    scenario.proof = DeviceProof::Given(auth);
}

fn alg(scenario: &mut Scenario, label: i64) {
    scenario.document.protected = Some(Cbor::Map(vec![(1.into(), label.into())]));
}

fn device_key(scenario: &mut Scenario, change: fn(&mut Cbor)) {
    change(scenario.issued().mso.at("deviceKeyInfo").at("deviceKey"));
}

fn nickname() -> Cbor {
    Cbor::map([(MDL_NAME_SPACE, Cbor::map([("nickname", "Rike".into())]))])
}

fn authorize(scenario: &mut Scenario, element: &str) {
    let elements = Cbor::map([(MDL_NAME_SPACE, Cbor::Array(vec![element.into()]))]);
    grant(scenario, Cbor::map([("dataElements", elements)]));
}

fn authorize_name_space(scenario: &mut Scenario, name: &str) {
    grant(scenario, Cbor::map([("nameSpaces", Cbor::Array(vec![name.into()]))]));
}

fn grant(scenario: &mut Scenario, authorizations: Cbor) {
    scenario.issued().mso.at("deviceKeyInfo").set("keyAuthorizations", authorizations);
}
