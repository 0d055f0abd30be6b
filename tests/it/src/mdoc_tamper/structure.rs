//! The encoding, the response and the document type.

use idgate_testkit::mdoc::{Cbor, MDL, MDL_NAME_SPACE};

use super::{Row, VERIFIED};

pub(super) const ROWS: &[Row] = &[
    ("nothing", VERIFIED, |_| {}),
    ("a byte after the response", MALFORMED, |s| s.bytes = |bytes| bytes.push(0)),
    ("half of the response", MALFORMED, |s| s.bytes = |bytes| bytes.truncate(bytes.len() / 2)),
    ("a response without its last byte", MALFORMED, |s| {
        s.bytes = |bytes| bytes.truncate(bytes.len() - 1);
    }),
    ("status twice", MALFORMED, |s| {
        s.bytes = |bytes| {
            bytes.splice(..1, *b"\xa4\x66status\x00");
        };
    }),
    ("a map of indefinite length", VERIFIED, |s| {
        s.bytes = |bytes| {
            bytes[0] = 0xbf;
            bytes.push(0xff);
        };
    }),
    ("a length beyond the bytes", MALFORMED, |s| {
        s.bytes = |bytes| *bytes = b"\x9b\xff\xff\xff\xff\xff\xff\xff\xff".to_vec();
    }),
    ("33 arrays in one another", "limit_exceeded", |s| {
        s.bytes = |bytes| *bytes = [&[0x81; 33][..], &[0]].concat();
    }),
    ("40 arrays in an item", "limit_exceeded", |s| {
        let nested = [&[0x81; 40][..], &[0]].concat();
        s.issued().change("portrait", |item| item.map.set("elementValue", Cbor::Raw(nested)));
        s.digest();
    }),
    ("more than 512 KiB", "limit_exceeded", |s| s.bytes = |bytes| bytes.resize(400_000, 0)),
    ("padded base64url", MALFORMED, |s| s.encoding = |text| text.push('=')),
    ("a line break in base64url", MALFORMED, |s| s.encoding = |text| text.insert(8, '\n')),
    ("an SD-JWT in place of the response", MALFORMED, |s| {
        s.encoding = |text| *text = "eyJhbGciOiJFUzI1NiJ9.e30.AAAA~".into();
    }),
    ("version 1.1", VERIFIED, |s| s.response = |r| r.set("version", "1.1")),
    ("version 2.0", MALFORMED, |s| s.response = |r| r.set("version", "2.0")),
    ("version as a number", MALFORMED, |s| s.response = |r| r.set("version", 1)),
    ("no version", MALFORMED, |s| s.response = |r| r.remove("version")),
    ("status 10", MALFORMED, |s| s.response = |r| r.set("status", 10)),
    ("no status", MALFORMED, |s| s.response = |r| r.remove("status")),
    ("no documents", "doc_type_mismatch", |s| s.response = |r| r.remove("documents")),
    ("documents as a number", MALFORMED, |s| s.response = |r| r.set("documents", 1)),
    ("the document twice", MALFORMED, |s| {
        s.response = |r| {
            if let Cbor::Array(documents) = r.at("documents") {
                documents.push(documents[0].clone());
            }
        };
    }),
    ("an error for the document", "claim_missing", |s| {
        s.response = |r| r.set("documentErrors", Cbor::Array(vec![Cbor::map([(MDL, 0.into())])]));
    }),
    ("an error for a requested element", "claim_missing", |s| {
        s.document.errors = Some(error_for("family_name"));
    }),
    ("an error for another element", VERIFIED, |s| {
        s.document.errors = Some(error_for("given_name"));
    }),
    ("errors as a number", MALFORMED, |s| s.document.errors = Some(Cbor::Int(0))),
    ("docType outside", "doc_type_mismatch", |s| s.document.doc_type = "another".into()),
    ("docType inside", "doc_type_mismatch", |s| s.issued().mso.set("docType", "another")),
    ("an entry of the MSO twice", MALFORMED, |s| {
        if let Cbor::Map(entries) = &mut s.issued().mso {
            entries.push(entries[0].clone());
        }
    }),
];

const MALFORMED: &str = "malformed_presentation";

fn error_for(element: &str) -> Cbor {
    Cbor::map([(MDL_NAME_SPACE, Cbor::map([(element, 0.into())]))])
}
