//! An mdoc in an answer (OpenID4VP B.2.5).

use crate::codec::base64url;
use crate::mdoc::{Cbor, DeviceProof, Document, device_response, openid4vp};
use crate::request::AuthorizationRequest;

/// The document with only these elements of a namespace. `None`: it lacks one. For an age that it does
/// not state, the nearest ages are disclosed (ISO/IEC 18013-5 7.2.5).
pub fn disclosing(document: &Document, name_space: &str, elements: &[String]) -> Option<Document> {
    showing(document, elements.iter().map(|element| (name_space, element.as_str())))
}

/// The same for elements that each name their namespace.
pub(crate) fn showing<'a>(
    document: &Document,
    elements: impl IntoIterator<Item = (&'a str, &'a str)>,
) -> Option<Document> {
    let mut shown = Vec::new();
    for (name_space, element) in elements {
        let mut names = vec![element.to_owned()];
        if find(document, name_space, element).is_none() {
            names = nearest_ages(document, name_space, element);
        }
        if names.is_empty() {
            return None;
        }
        shown.extend(names.into_iter().map(|name| (name_space, Cbor::from(&*name))));
    }
    let mut document = document.clone();
    document.issuer_signed.items.retain(|item| {
        let name = item.map.clone().at("elementIdentifier").clone();
        shown.iter().any(|(name_space, shown)| item.name_space == *name_space && name == *shown)
    });
    Some(document)
}

/// The DeviceResponse for vp_token, signed by the device for this unencrypted request.
pub fn present_mdoc(document: &Document, request: &AuthorizationRequest) -> String {
    let transcript = openid4vp(&request.client_id, &request.nonce, None, &request.response_uri);
    prove_mdoc(document, &transcript, &DeviceProof::Signature)
}

/// The DeviceResponse for vp_token, proved for this encoded SessionTranscript.
pub fn prove_mdoc(document: &Document, transcript: &[u8], proof: &DeviceProof) -> String {
    let document = document.prove(transcript, proof);
    base64url(&device_response(vec![document]).encode())
}

fn find(document: &Document, name_space: &str, element: &str) -> Option<Cbor> {
    let mut items = document.issuer_signed.items.iter();
    let item = items.find(|item| {
        item.name_space == name_space && *item.map.clone().at("elementIdentifier") == element.into()
    });
    item.map(|item| item.map.clone().at("elementValue").clone())
}

/// The lowest true statement above the requested age, and the highest false one below it.
fn nearest_ages(document: &Document, name_space: &str, element: &str) -> Vec<String> {
    let Some(age) = element.strip_prefix("age_over_").and_then(|age| age.parse::<u8>().ok()) else {
        return Vec::new();
    };
    let name = |age: u8| format!("age_over_{age:02}");
    let states =
        |age: &u8, over: bool| find(document, name_space, &name(*age)) == Some(Cbor::Bool(over));
    let above = (age..100).find(|age| states(age, true));
    let below = (0..=age).rev().find(|age| states(age, false));
    above.into_iter().chain(below).map(name).collect()
}
