//! Rules 1 to 3: the encoding, the response, the document type.

use idgate_core::Reason;
use idgate_core::ids::DocType;
use idgate_core::trust::DeviceResponseDocuments;
use idgate_testkit::mdoc::Cbor;

use super::{Case, accepted, refused};

use Reason::{
    ClaimMissing, DigestMismatch, DocTypeMismatch, LimitExceeded, MalformedPresentation,
    TypeMismatch,
};

#[test]
fn rule_1_the_encoding_is_strict() {
    let case = Case::new();
    let good = case.bytes();
    let with = |bytes: Vec<u8>| case.verify_bytes(&bytes).err();
    assert_eq!(with(good.clone()), None);
    assert_eq!(with([&good[..], &[0]].concat()), Some(MalformedPresentation));
    for len in [0, 1, good.len() / 2, good.len() - 1] {
        assert_eq!(with(good[..len].to_vec()), Some(MalformedPresentation), "{len}");
    }
    let twice = [&b"\xa4\x66status\x00"[..], &good[1..]].concat();
    assert_eq!(with(twice), Some(MalformedPresentation));
    assert_eq!(with(b"\x9b\xff\xff\xff\xff\xff\xff\xff\xff".to_vec()), Some(MalformedPresentation));
    assert_eq!(with([&[0x81; 33][..], &[0]].concat()), Some(LimitExceeded));
    assert_eq!(with(vec![0x41; 512 * 1024 + 1]), Some(LimitExceeded));
}

#[test]
fn rule_1_indefinite_lengths_are_legal() {
    let case = Case::new();
    let good = case.bytes();
    let open = [&[0xbf][..], &good[1..], &[0xff]].concat();
    assert_eq!(case.verify_bytes(&open).err(), None);
    // The digest is made over the chunks, heads and all.
    let chunked = |case: &mut Case| {
        case.issued().change("family_name", |item| item.chunked = true);
    };
    refused(DigestMismatch, chunked);
    let verified = accepted(|case| {
        chunked(case);
        case.digest();
    });
    assert_eq!(verified.claims().get("family_name"), Some("\"Mustermann\""));
}

#[test]
fn rule_1_depth_and_duplicates_count_inside_encoded_cbor_too() {
    let nested = [&[0x81; 40][..], &[0]].concat();
    refused(LimitExceeded, |case| {
        case.issued().change("portrait", |item| item.map.set("elementValue", Cbor::Raw(nested)));
        case.digest();
    });
    refused(MalformedPresentation, |case| {
        case.issued().change("portrait", |item| {
            let mut bytes = item.map.encode();
            bytes[0] += 1;
            bytes.extend(b"\x68digestID\x04");
            item.encoded = Some(bytes);
        });
        case.digest();
    });
    refused(MalformedPresentation, |case| {
        if let Cbor::Map(entries) = &mut case.issued().mso {
            entries.push(entries[0].clone());
        }
    });
}

#[test]
fn rule_2_version_is_1_x() {
    accepted(|case| case.response = |r| r.set("version", "1.1"));
    accepted(|case| case.response = |r| r.set("version", "1.10"));
    refused(MalformedPresentation, |case| case.response = |r| r.set("version", "2.0"));
    refused(MalformedPresentation, |case| case.response = |r| r.set("version", "1"));
    refused(MalformedPresentation, |case| case.response = |r| r.set("version", "1."));
    refused(MalformedPresentation, |case| case.response = |r| r.set("version", 1));
    refused(MalformedPresentation, |case| case.response = |r| r.remove("version"));
}

#[test]
fn rule_2_status_is_0() {
    refused(MalformedPresentation, |case| case.response = |r| r.set("status", 10));
    refused(MalformedPresentation, |case| case.response = |r| r.set("status", 11));
    refused(MalformedPresentation, |case| case.response = |r| r.set("status", "0"));
    refused(MalformedPresentation, |case| case.response = |r| r.remove("status"));
}

#[test]
fn rule_2_the_document_is_there_and_no_error_is_reported_for_it() {
    refused(DocTypeMismatch, |case| case.response = |r| r.remove("documents"));
    refused(DocTypeMismatch, |case| case.response = |r| r.set("documents", Cbor::Array(vec![])));
    refused(MalformedPresentation, |case| case.response = |r| r.set("documents", 1));
    refused(ClaimMissing, |case| {
        case.response = |r| {
            let error = Cbor::map([("org.iso.18013.5.1.mDL", 0.into())]);
            r.set("documentErrors", Cbor::Array(vec![error]));
        };
    });
    accepted(|case| {
        case.response = |r| {
            let error = Cbor::map([("another", 0.into())]);
            r.set("documentErrors", Cbor::Array(vec![error]));
        };
    });
}

#[test]
fn rule_2_an_element_listed_in_errors_is_missing() {
    let errors = |element| Cbor::map([("org.iso.18013.5.1", Cbor::map([(element, 0.into())]))]);
    refused(ClaimMissing, |case| case.document.errors = Some(errors("family_name")));
    refused(MalformedPresentation, |case| case.document.errors = Some(Cbor::Int(0)));
    accepted(|case| case.document.errors = Some(errors("given_name")));
}

#[test]
fn rule_3_the_document_is_of_the_requested_type() {
    refused(DocTypeMismatch, |case| case.doc_type = "org.iso.23220.photoid.1");
    refused(TypeMismatch, |case| case.trust.doc_types.push(DocType::new("another")));
    accepted(|case| case.trust.doc_types.push(DocType::new("org.iso.18013.5.1.mDL")));
}

/// Device authentication covers only the outer docType.
#[test]
fn rule_3_the_mso_is_of_the_documents_type() {
    refused(DocTypeMismatch, |case| case.issued().mso.set("docType", "another"));
    refused(DocTypeMismatch, |case| {
        case.issued().mso.set("docType", "org.iso.18013.5.1.mDL");
        case.document.doc_type = "another".into();
        case.doc_type = "another";
    });
}

#[test]
fn rule_3_several_documents_are_told_apart_by_their_type() {
    let case = Case::new();
    let proved = case.document.prove(&case.transcript, &case.proof);
    let mut other = proved.clone();
    other.set("docType", "another");
    let respond = |documents| idgate_testkit::mdoc::device_response(documents).encode();
    let two = respond(vec![other, proved.clone()]);
    assert_eq!(case.verify_bytes(&two).err(), None);
    let twice = respond(vec![proved.clone(), proved]);
    assert_eq!(case.verify_bytes(&twice).err(), Some(MalformedPresentation));
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
