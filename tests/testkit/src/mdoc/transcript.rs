//! SessionTranscripts of OpenID4VP and of ISO/IEC TS 18013-7.

use super::cbor::Cbor;
use crate::codec::HashAlg;

fn sha256(item: &Cbor) -> Cbor {
    Cbor::Bytes(HashAlg::Sha256.hash(&item.encode()))
}

fn transcript(handover: Vec<Cbor>) -> Vec<u8> {
    Cbor::Array(vec![Cbor::Null, Cbor::Null, Cbor::Array(handover)]).encode()
}

/// OpenID4VP 1.0 B.2.6.1; no thumbprint when the answer is not encrypted.
pub fn openid4vp(
    client_id: &str,
    nonce: &str,
    jwk_thumbprint: Option<&[u8]>,
    response_uri: &str,
) -> Vec<u8> {
    let thumbprint = jwk_thumbprint.map_or(Cbor::Null, |bytes| Cbor::Bytes(bytes.to_vec()));
    let info = Cbor::Array(vec![client_id.into(), nonce.into(), thumbprint, response_uri.into()]);
    transcript(vec!["OpenID4VPHandover".into(), sha256(&info)])
}

/// OpenID4VP 1.0 B.2.6.2: through the browser of a page from `origin`.
pub fn openid4vp_dc_api(origin: &str, nonce: &str, jwk_thumbprint: Option<&[u8]>) -> Vec<u8> {
    let thumbprint = jwk_thumbprint.map_or(Cbor::Null, |bytes| Cbor::Bytes(bytes.to_vec()));
    let info = Cbor::Array(vec![origin.into(), nonce.into(), thumbprint]);
    transcript(vec!["OpenID4VPDCAPIHandover".into(), sha256(&info)])
}

/// ISO/IEC TS 18013-7 C.5: through the browser of a page from `origin`.
pub fn iso_18013_7_annex_c(encryption_info: &str, origin: &str) -> Vec<u8> {
    let info = Cbor::Array(vec![encryption_info.into(), origin.into()]);
    transcript(vec!["dcapi".into(), sha256(&info)])
}

/// ISO/IEC TS 18013-7 B.4.4.
pub fn iso_18013_7(
    client_id: &str,
    nonce: &str,
    mdoc_generated_nonce: &str,
    response_uri: &str,
) -> Vec<u8> {
    let hash = |text: &str| sha256(&Cbor::Array(vec![text.into(), mdoc_generated_nonce.into()]));
    transcript(vec![hash(client_id), hash(response_uri), nonce.into()])
}
