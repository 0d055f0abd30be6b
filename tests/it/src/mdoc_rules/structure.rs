//! Rules 1 to 3: limits, chunks, and the document among others.

use idgate_core::Reason;
use idgate_core::shell::DocType;
use idgate_core::trust::DeviceResponseDocuments;
use idgate_testkit::mdoc::Cbor;

use super::{Case, accepted, refused};

use Reason::{DocTypeMismatch, LimitExceeded, MalformedPresentation, TypeMismatch};

/// The same limit applies to a session's `vp_token`, before it is decoded.
#[test]
fn rule_1_malformed_or_over_512_kib_is_rejected() {
    let case = Case::new();
    let with = |bytes: Vec<u8>| case.verify_bytes(&bytes).err();
    assert_eq!(with(case.bytes()), None);
    assert_eq!(with(Vec::new()), Some(MalformedPresentation));
    assert_eq!(with(vec![0x41; 512 * 1024 + 1]), Some(LimitExceeded));
}

/// The digest covers the chunks with their heads.
#[test]
fn rule_1_an_item_in_chunks_is_read_whole() {
    let verified = accepted(|case| {
        case.issued().change("family_name", |item| item.chunked = true);
        case.digest();
    });
    assert_eq!(verified.claims().get("family_name"), Some("\"Mustermann\""));
}

#[test]
fn rule_3_the_document_is_of_the_requested_type() {
    refused(DocTypeMismatch, |case| case.doc_type = "org.iso.23220.photoid.1");
    refused(TypeMismatch, |case| case.trust.doc_types.push(DocType::new("another")));
    accepted(|case| case.trust.doc_types.push(DocType::new("org.iso.18013.5.1.mDL")));
}

/// ISO/IEC 18013-5 8.3.2.1.2.2: `documents` has one at least.
#[test]
fn rule_2_a_response_of_status_0_has_documents() {
    let case = Case::new();
    let of = |change: fn(&mut Cbor)| {
        let proved = case.document.prove(&case.transcript, &case.proof);
        let mut response = idgate_testkit::mdoc::device_response(vec![proved]);
        change(&mut response);
        case.verify_bytes(&response.encode()).err()
    };
    assert_eq!(of(|_| ()), None);
    let empty = |response: &mut Cbor| response.set("documents", Cbor::Array(Vec::new()));
    assert_eq!(of(empty), Some(MalformedPresentation));
    assert_eq!(of(|response| response.remove("documents")), Some(MalformedPresentation));
}

/// Device authentication covers only the outer docType.
#[test]
fn rule_3_the_mso_is_of_the_documents_type() {
    refused(DocTypeMismatch, |case| {
        case.issued().mso.set("docType", "org.iso.18013.5.1.mDL");
        case.document.doc_type = "another".into();
        case.doc_type = "another";
    });
}

/// HAIP 5.3.1.
#[test]
fn the_device_response_has_one_document_where_one_is_asked_for() {
    let mut case = Case::new();
    case.documents = DeviceResponseDocuments::One;
    assert_eq!(case.verify().err(), None);
    let proved = case.document.prove(&case.transcript, &case.proof);
    let mut other = proved.clone();
    other.set("docType", "another");
    for two in [[other.clone(), proved.clone()], [proved, other]] {
        let two = idgate_testkit::mdoc::device_response(two.to_vec()).encode();
        assert_eq!(case.verify_bytes(&two).err(), Some(MalformedPresentation));
    }
}
