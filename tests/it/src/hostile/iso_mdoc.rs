//! A browser's answer by ISO/IEC TS 18013-7 Annex C: an envelope in JSON, one in CBOR, and a
//! DeviceResponse encrypted with HPKE.

use idgate_testkit::codec::base64url;
use idgate_testkit::iso_mdoc::{IsoMdocAnswer, IsoMdocRequest, PROTOCOL};
use idgate_testkit::keys::Curve;
use idgate_testkit::samples::{self, issue_mdl};
use idgate_testkit::wallet::Wallet;
use serde_json::json;

use super::browser::{ORIGINS, Page};
use super::{NOW_MS, Parts};

/// Any answer that is still verified gives the tenant the same claims. Changed are the body, the
/// encrypted response in it, and its content.
pub(super) fn iso_mdoc_answer_target() -> Parts {
    let page = Page::asking(&[], &["family_name", "age_over_18"]);
    let request = passed_on(&page, ORIGINS[4]);
    let wallet =
        Wallet::new(samples::holder_key(Curve::P256)).with_mdoc(issue_mdl(NOW_MS).document);
    let answer = wallet.answer_iso_mdoc(&request).unwrap();
    let plaintext = answer.device_response().encode();
    let encrypted = answer.encrypted(&plaintext).encode();
    let body = sealed(&answer, &plaintext);
    let expected = page.claims(&body);
    assert!(expected.is_some());
    let check = move |bytes: &[u8]| {
        for body in [bytes, &enveloped(bytes), &sealed(&answer, bytes)] {
            let claims = page.claims(body);
            assert!(claims.is_none() || claims == expected);
        }
    };
    (vec![body, encrypted, plaintext], Box::new(check))
}

/// The request that a page on that origin passes on.
pub(super) fn passed_on(page: &Page, origin: &str) -> IsoMdocRequest {
    let requests = page.requests();
    let (_, data) = requests.iter().find(|(protocol, _)| *protocol == PROTOCOL).unwrap();
    IsoMdocRequest::read(&serde_json::from_str(data).unwrap(), origin).unwrap()
}

/// A page's answer with this EncryptedResponse.
pub(super) fn enveloped(response: &[u8]) -> Vec<u8> {
    let data = json!({ "response": base64url(response) });
    json!({ "protocol": PROTOCOL, "data": data }).to_string().into_bytes()
}

/// The same with this plaintext, encrypted like `answer`.
pub(super) fn sealed(answer: &IsoMdocAnswer, plaintext: &[u8]) -> Vec<u8> {
    enveloped(&answer.encrypted(plaintext).encode())
}
