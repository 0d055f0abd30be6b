//! The request of ISO/IEC TS 18013-7 Annex C, `org-iso-mdoc`, which a page passes to its browser: a
//! DeviceRequest of ISO/IEC 18013-5 8.3.2.1.2.1, and EncryptionInfo with the key for the answer.

use alloc::string::String;
use alloc::vec::Vec;

use serde::Serialize;

use crate::codec::base64url;
use crate::codec::cbor::Writer;
use crate::codec::json::json_text;
use crate::cose;
use crate::crypto::{PublicKey, RequestSigner, SignerUnavailable};
use crate::ids::{CredentialFormat, DocType, NameSpace};
use crate::request::dcql::mdoc_elements;
use crate::request::presentation_request::{CredentialRequest, PresentationRequest};

/// The version of ISO/IEC 18013-5:2021.
const FIRST_EDITION: &str = "1.0";
/// The version of the second edition, which has `readerAuthAll`.
const SECOND_EDITION: &str = "1.1";

/// The signer of each part of a DeviceRequest (ISO/IEC 18013-5 9.1.4).
#[derive(Clone, Copy)]
pub(crate) struct Reader<'r> {
    /// A signer with a certificate.
    pub(crate) signer: &'r dyn RequestSigner,
    /// The encoded transcript, which binds the request to one origin and one EncryptionInfo.
    pub(crate) session_transcript: &'r [u8],
    /// The reader's registration certificate, a compact JWT. If present, the request uses the
    /// second edition.
    pub(crate) registration: Option<&'r str>,
}

/// EncryptionInfo in base64url: the answer is encrypted to its key. Transcripts cover this text.
pub(crate) fn encryption_info(nonce: &[u8; 32], key: &PublicKey) -> String {
    let (x, y) = key.coordinates();
    let info = Writer::with_capacity(160).array(2).text("dcapi").map(2).text("nonce").bytes(nonce);
    // COSE_Key: kty EC2, crv P-256, x, y (RFC 9053 7.1.1).
    let key = info.text("recipientPublicKey").map(4).integer(1).integer(2).integer(-1).integer(1);
    base64url::encode(&key.integer(-2).bytes(x).integer(-3).bytes(y).finish())
}

/// Returns the data that a page passes on, as JSON text.
///
/// # Errors
/// The key of `reader` cannot be used now.
pub(crate) fn iso_mdoc_data(
    request: &PresentationRequest,
    encryption_info: &str,
    reader: Option<Reader<'_>>,
) -> Result<String, SignerUnavailable> {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Data<'d> {
        device_request: String,
        encryption_info: &'d str,
    }
    let device_request = base64url::encode(&request.device_request(reader)?);
    Ok(json_text(&Data { device_request, encryption_info }))
}

impl PresentationRequest {
    /// Whether a DeviceRequest can express the request: it has only mdocs, each of a different
    /// type.
    pub(crate) fn fits_device_request(&self) -> bool {
        let credentials = &self.credentials;
        let is_distinct = |(at, asked): (usize, &CredentialRequest)| {
            let mut others = credentials.iter().take(at);
            asked.format == CredentialFormat::Mdoc
                && others.all(|other| other.doc_type != asked.doc_type)
        };
        credentials.iter().enumerate().all(is_distinct)
    }

    /// `{"version", "docRequests": [+ {"itemsRequest", ? "readerAuth"}], ? "readerAuthAll": [+
    /// COSE_Sign1]}`
    fn device_request(&self, reader: Option<Reader<'_>>) -> Result<Vec<u8>, SignerUnavailable> {
        let registration = reader.and_then(|reader| reader.registration);
        let items = |asked| encoded_cbor(&items_request(asked, registration));
        let items: Vec<Vec<u8>> = self.credentials.iter().map(items).collect();
        let (version, members) = match registration {
            None => (FIRST_EDITION, 2),
            Some(_) => (SECOND_EDITION, 3),
        };
        let mut device_request = Writer::default().map(members).text("version").text(version);
        device_request = device_request.text("docRequests").array(items.len());
        for items in &items {
            let members = if reader.is_some() { 2 } else { 1 };
            device_request = device_request.map(members).text("itemsRequest").raw(items);
            if let Some(reader) = reader {
                let authentication = reader_authentication(reader.session_transcript, items);
                let signed = cose::sign_detached(reader.signer, &authentication)?;
                device_request = device_request.text("readerAuth").raw(&signed);
            }
        }
        // Wallets of the first edition read only readerAuth, those of the second edition either.
        if let Some(reader) = reader.filter(|reader| reader.registration.is_some()) {
            let authentication = reader_authentication_all(reader.session_transcript, &items);
            let signed = cose::sign_detached(reader.signer, &authentication)?;
            device_request = device_request.text("readerAuthAll").array(1).raw(&signed);
        }
        Ok(device_request.finish())
    }
}

/// `{"docType", "nameSpaces": {name: {element: intent to retain}}, ? "requestInfo": {"euWrprc":
/// bstr}}`. By ETSI TS 119 472-2 5.3.2 each has the registration certificate, byte for byte the
/// same.
fn items_request(asked: &CredentialRequest, registration: Option<&str>) -> Vec<u8> {
    let elements = mdoc_elements(asked);
    let items = Writer::default().map(if registration.is_some() { 3 } else { 2 });
    let items = items.text("docType").text(asked.doc_type.as_ref().map_or("", DocType::as_str));
    let items = items.text("nameSpaces").map(1);
    let items = items.text(asked.namespace.as_ref().map_or("", NameSpace::as_str));
    let items = items.map(elements.len());
    let items = elements.iter().fold(items, |items, element| items.text(element).no());
    let Some(registration) = registration else { return items.finish() };
    let items = items.text("requestInfo").map(1).text("euWrprc");
    items.bytes(registration.as_bytes()).finish()
}

/// ReaderAuthenticationBytes; `items` are the ItemsRequestBytes as sent.
fn reader_authentication(session_transcript: &[u8], items: &[u8]) -> Vec<u8> {
    let authentication = Writer::default().array(3).text("ReaderAuthentication");
    encoded_cbor(&authentication.raw(session_transcript).raw(items).finish())
}

/// ReaderAuthenticationAllBytes (ISO/IEC 18013-5 second edition 12.5), without a DeviceRequestInfo;
/// `items` are all ItemsRequestBytes as sent.
fn reader_authentication_all(session_transcript: &[u8], items: &[Vec<u8>]) -> Vec<u8> {
    let authentication = Writer::default().array(4).text("ReaderAuthenticationAll");
    let authentication = authentication.raw(session_transcript).array(items.len());
    let authentication = items.iter().fold(authentication, |all, items| all.raw(items));
    encoded_cbor(&authentication.null().finish())
}

fn encoded_cbor(item: &[u8]) -> Vec<u8> {
    Writer::with_capacity(8 + item.len()).tag(24).bytes(item).finish()
}

#[cfg(all(test, feature = "rustcrypto"))]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::codec::cbor::Tape;
    use crate::cose::Sign1;
    use crate::crypto::hpke::tests::{RECIPIENT, TRANSCRIPT, bytes};
    use crate::crypto::rustcrypto::PROVIDER;
    use crate::crypto::{Alg, Curve, EcdhPrivateKey, Es256Key, SoftwareSigner};
    use crate::request::fixtures;

    /// From other software: mDL, `age_over_18`, unsigned.
    const DEVICE_REQUEST: &str = "a26776657273696f6e63312e306b646f63526571756573747381a16c6974656d7\
        352657175657374d818584ba267646f6354797065756f72672e69736f2e31383031332e352e312e6d444c6a6e61\
        6d65537061636573a1716f72672e69736f2e31383031332e352e31a16b6167655f6f7665725f3138f4";

    fn mdoc(doc_type: &str, name_space: &str, claims: &[&str]) -> CredentialRequest {
        CredentialRequest {
            id: doc_type.into(),
            format: CredentialFormat::Mdoc,
            doc_type: Some(DocType::new(doc_type)),
            namespace: Some(NameSpace::new(name_space)),
            claims: claims.iter().map(|claim| String::from(*claim)).collect(),
            ..fixtures::one_credential().credentials.remove(0)
        }
    }

    fn licence() -> CredentialRequest {
        mdoc("org.iso.18013.5.1.mDL", "org.iso.18013.5.1", &["age_over_18"])
    }

    fn asking(credentials: &[CredentialRequest]) -> PresentationRequest {
        PresentationRequest { credentials: credentials.to_vec(), ..fixtures::one_credential() }
    }

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    fn sha256(bytes: &[u8]) -> String {
        hex(&PROVIDER.sha256(bytes))
    }

    fn signer(certificates: &[&[u8]]) -> SoftwareSigner {
        let key = Es256Key::from_scalar(&[7; 32]).unwrap();
        let chain = certificates.iter().map(|certificate| certificate.to_vec()).collect();
        SoftwareSigner::new(key, "reader").with_certificate_chain(chain)
    }

    #[test]
    fn encryption_info_matches_other_software_except_for_its_longer_nonce() {
        let private = EcdhPrivateKey::from_scalar(Curve::P256, &bytes(RECIPIENT)).unwrap();
        let key = PROVIDER.agreement.public_key(&private).unwrap();
        let nonce = core::array::from_fn(|at| u8::try_from(at).unwrap());
        let made = base64url::decode(&encryption_info(&nonce, &key)).unwrap();
        assert_eq!(
            hex(&made),
            "82656463617069a2656e6f6e63655820000102030405060708090a0b0c0d0e0f101112131415161718191a1b\
             1c1d1e1f72726563697069656e745075626c69634b6579a4010220012158202d81ee148c6fa49975eefa714a\
             d13123242204c6eee1fdbad0276d0c9c9fce772258204f38a4e7323659a5510167e93c29cd1def5ce46f1100\
             7090007a3f27233337b3"
        );
    }

    #[test]
    fn a_request_without_reader_matches_other_software() {
        assert_eq!(hex(&asking(&[licence()]).device_request(None).unwrap()), DEVICE_REQUEST);
        let data = iso_mdoc_data(&asking(&[licence()]), "gm", None).unwrap();
        let device_request = base64url::encode(&bytes(DEVICE_REQUEST));
        let expected = json!({"deviceRequest": device_request, "encryptionInfo": "gm"});
        assert_eq!(serde_json::from_str::<Value>(&data).unwrap(), expected);
    }

    #[test]
    fn the_readers_signed_bytes_match_other_software() {
        let items = encoded_cbor(&items_request(&licence(), None));
        let payload = reader_authentication(&bytes(TRANSCRIPT), &items);
        assert_eq!(
            sha256(&payload),
            "6acc9ae08160feb66cd7f0077239239a1be73120ebde4ae1dab7a651a0eb19d2"
        );
        let session_transcript = &bytes(TRANSCRIPT);
        let signer = signer(&[b"leaf"]);
        let reader = Reader { signer: &signer, session_transcript, registration: None };
        let made = asking(&[licence()]).device_request(Some(reader)).unwrap();
        // The part before the signature is known: the payload is detached, the certificate is one
        // byte string.
        let head = DEVICE_REQUEST.replacen("81a16c6974", "81a26c6974", 1);
        let head = [&*bytes(&head), b"\x6areaderAuth\x84\x43\xa1\x01\x26\xa1\x18\x21\x44leaf\xf6"];
        assert!(made.starts_with(&head.concat()));
        let at = head.concat().len() - 14;
        let mut tape = Tape::default();
        let signed = tape.parse(&made[at..]).unwrap();
        let signed = Sign1::read(tape.value(signed)).unwrap();
        let signed_bytes = signed.sig_structure(&payload);
        assert_eq!(
            sha256(&signed_bytes),
            "582f89cd86c23a7c138668de308a78d60224b2f13d33840ffabe671b9ea997d8"
        );
        PROVIDER.verify(signer.public_key(), &signed_bytes, &signed.signature).unwrap();
    }

    fn reader(signer: &dyn RequestSigner) -> Reader<'_> {
        Reader { signer, session_transcript: &[0xf6], registration: None }
    }

    /// A signer that returns DER, as an HSM may.
    #[derive(Debug)]
    struct Odd(SoftwareSigner, usize);

    impl RequestSigner for Odd {
        fn alg(&self) -> Alg {
            self.0.alg()
        }

        fn key_id(&self) -> &str {
            self.0.key_id()
        }

        fn certificate_chain(&self) -> &[Vec<u8>] {
            self.0.certificate_chain()
        }

        fn sign(&self, signing_input: &[u8]) -> Result<Vec<u8>, SignerUnavailable> {
            let mut signature = self.0.sign(signing_input)?;
            signature.resize(self.1, 0);
            Ok(signature)
        }
    }

    #[test]
    fn a_signature_of_other_than_64_bytes_is_not_sent() {
        let made = |len| {
            let signer = Odd(signer(&[b"leaf"]), len);
            let reader = reader(&signer);
            asking(&[licence()]).device_request(Some(reader))
        };
        assert!(made(64).is_ok());
        for len in [0, 63, 65, 70, 71, 72, 96] {
            assert!(made(len).unwrap_err().0.contains("64 bytes"), "{len}");
        }
    }

    #[test]
    fn several_certificates_are_an_array() {
        let signer = signer(&[b"leaf", b"above"]);
        let made = asking(&[licence()]).device_request(Some(reader(&signer))).unwrap();
        let chain = b"\xa1\x18\x21\x82\x44leaf\x45above\xf6";
        assert!(made.windows(chain.len()).any(|bytes| bytes == chain));
    }

    #[test]
    fn documents_are_requested_separately_and_elements_once() {
        let other = mdoc("org.example.other", "org.example.ns", &["b", "a", "b"]);
        let made = asking(&[licence(), other]).device_request(None).unwrap();
        let mut tape = Tape::default();
        let made = tape.parse(&made).unwrap();
        let requests: Vec<_> =
            tape.value(made).get("docRequests").unwrap().elements().unwrap().collect();
        assert_eq!(requests.len(), 2);
        let items = requests[1].get("itemsRequest").unwrap().encoded_cbor().unwrap();
        let parts = [
            &b"\xa2\x67docType\x71org.example.other"[..],
            b"\x6anameSpaces\xa1\x6eorg.example.ns\xa2\x61b\xf4\x61a\xf4",
        ];
        assert_eq!(*items, *parts.concat());
    }

    #[test]
    fn a_registration_certificate_makes_it_second_edition_and_signed_as_a_whole() {
        const JWT: &str = "eyJ0eXAiOiJyYy13cnArand0In0.e30.c2ln";
        let other = mdoc("org.example.other", "org.example.ns", &["a"]);
        let (signer, session_transcript) = (signer(&[b"leaf"]), &*bytes(TRANSCRIPT));
        let reader = Reader { signer: &signer, session_transcript, registration: Some(JWT) };
        let made = asking(&[licence(), other]).device_request(Some(reader)).unwrap();
        assert!(made.starts_with(b"\xa3\x67version\x631.1\x6bdocRequests\x82\xa2"));
        let mut tape = Tape::default();
        let made = tape.parse(&made).unwrap();
        let made = tape.value(made);
        // ETSI TS 119 472-2 5.3.2: in each, as the last member, the text as bytes.
        let info = [&b"\x6brequestInfo\xa1\x67euWrprc\x58\x24"[..], JWT.as_bytes()].concat();
        let requests: Vec<_> = made.get("docRequests").unwrap().elements().unwrap().collect();
        let mut all = Vec::new();
        for request in &requests {
            let items = request.get("itemsRequest").unwrap();
            let content = items.encoded_cbor().unwrap();
            assert!(content.starts_with(b"\xa3\x67docType") && content.ends_with(&info));
            let signed = Sign1::read(request.get("readerAuth").unwrap()).unwrap();
            let payload = reader_authentication(session_transcript, items.raw());
            let payload = signed.sig_structure(&payload);
            PROVIDER.verify(signer.public_key(), &payload, &signed.signature).unwrap();
            all.push(items.raw().to_vec());
        }
        assert_eq!(all.len(), 2);
        // ISO/IEC 18013-5 second edition 12.5, written out.
        let content = [&b"\x84\x77ReaderAuthenticationAll"[..], session_transcript, b"\x82"];
        let content = [&content.concat(), &*all.concat(), b"\xf6"].concat();
        let length = u16::try_from(content.len()).unwrap().to_be_bytes();
        let payload = [&b"\xd8\x18\x59"[..], &length, &content].concat();
        let signatures: Vec<_> = made.get("readerAuthAll").unwrap().elements().unwrap().collect();
        assert_eq!(signatures.len(), 1);
        let signed = Sign1::read(signatures[0]).unwrap();
        assert_eq!(*signed.headers.x5chain().unwrap()[0], *b"leaf");
        let payload = signed.sig_structure(&payload);
        PROVIDER.verify(signer.public_key(), &payload, &signed.signature).unwrap();
    }

    #[test]
    fn only_mdocs_of_different_types_fit() {
        let other = || mdoc("org.example.other", "org.example.ns", &["a"]);
        let pid = || fixtures::one_credential().credentials.remove(0);
        let fits = |credentials: &[CredentialRequest]| asking(credentials).fits_device_request();
        assert!(fits(&[licence()]) && fits(&[licence(), other()]));
        for bad in [vec![pid()], vec![licence(), pid()], vec![licence(), other(), licence()]] {
            assert!(!fits(&bad), "{bad:?}");
        }
    }
}
