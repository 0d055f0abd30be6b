//! The encoding, the response and the document type.

use idgate_testkit::mdoc::{Cbor, MDL, MDL_NAME_SPACE};

use super::Row;

pub(super) const ROWS: &[Row] = &[
    Row::verified("nothing", |_| {}),
    Row::refused("a byte after the response", MALFORMED, |s| s.bytes = |bytes| bytes.push(0)),
    Row::refused("half of the response", MALFORMED, |s| {
        s.bytes = |bytes| bytes.truncate(bytes.len() / 2)
    }),
    Row::refused("a response without its last byte", MALFORMED, |s| {
        s.bytes = |bytes| bytes.truncate(bytes.len() - 1);
    }),
    Row::refused("one byte of the response", MALFORMED, |s| s.bytes = |bytes| bytes.truncate(1)),
    Row::refused("status twice", MALFORMED, |s| {
        s.bytes = |bytes| {
            bytes.splice(..1, *b"\xa4\x66status\x00");
        };
    }),
    Row::verified("a map of indefinite length", |s| {
        s.bytes = |bytes| {
            bytes[0] = 0xbf;
            bytes.push(0xff);
        };
    }),
    Row::refused("an item in chunks after signing", "digest_mismatch", |s| {
        s.issued().change("family_name", |item| item.chunked = true);
    }),
    Row::verified("an item in chunks", |s| {
        s.issued().change("family_name", |item| item.chunked = true);
        s.digest();
    }),
    Row::refused("a length beyond the bytes", MALFORMED, |s| {
        s.bytes = |bytes| *bytes = b"\x9b\xff\xff\xff\xff\xff\xff\xff\xff".to_vec();
    }),
    Row::refused("33 arrays in one another", "limit_exceeded", |s| {
        s.bytes = |bytes| *bytes = [&[0x81; 33][..], &[0]].concat();
    }),
    Row::refused("40 arrays in an item", "limit_exceeded", |s| {
        let nested = [&[0x81; 40][..], &[0]].concat();
        s.issued().change("portrait", |item| item.map.set("elementValue", Cbor::Raw(nested)));
        s.digest();
    }),
    Row::refused("more than 512 KiB", "limit_exceeded", |s| {
        s.bytes = |bytes| bytes.resize(400_000, 0)
    }),
    Row::refused("padded base64url", MALFORMED, |s| s.encoding = |text| text.push('=')),
    Row::refused("a line break in base64url", MALFORMED, |s| {
        s.encoding = |text| text.insert(8, '\n')
    }),
    Row::refused("an SD-JWT in place of the response", MALFORMED, |s| {
        s.encoding = |text| *text = "eyJhbGciOiJFUzI1NiJ9.e30.AAAA~".into();
    }),
    Row::verified("version 1.1", |s| s.response = |r| r.set("version", "1.1")),
    Row::verified("version 1.10", |s| s.response = |r| r.set("version", "1.10")),
    Row::refused("version 1", MALFORMED, |s| s.response = |r| r.set("version", "1")),
    Row::refused("version 1.", MALFORMED, |s| s.response = |r| r.set("version", "1.")),
    Row::refused("version 2.0", MALFORMED, |s| s.response = |r| r.set("version", "2.0")),
    Row::refused("version as a number", MALFORMED, |s| s.response = |r| r.set("version", 1)),
    Row::refused("no version", MALFORMED, |s| s.response = |r| r.remove("version")),
    Row::refused("status 10", MALFORMED, |s| s.response = |r| r.set("status", 10)),
    Row::refused("status 11", MALFORMED, |s| s.response = |r| r.set("status", 11)),
    Row::refused("status as text", MALFORMED, |s| s.response = |r| r.set("status", "0")),
    Row::refused("no status", MALFORMED, |s| s.response = |r| r.remove("status")),
    Row::refused("no documents", MALFORMED, |s| s.response = |r| r.remove("documents")),
    Row::refused("documents empty", MALFORMED, |s| {
        s.response = |r| r.set("documents", Cbor::Array(Vec::new()));
    }),
    Row::refused("documents as a number", MALFORMED, |s| s.response = |r| r.set("documents", 1)),
    Row::refused("the document twice", MALFORMED, |s| {
        s.response = |r| {
            if let Cbor::Array(documents) = r.at("documents") {
                documents.push(documents[0].clone());
            }
        };
    }),
    Row::verified("a document of another type before it", |s| {
        s.response = |r| {
            if let Cbor::Array(documents) = r.at("documents") {
                let mut other = documents[0].clone();
                other.set("docType", "another");
                documents.insert(0, other);
            }
        };
    }),
    Row::verified("an error for another document", |s| {
        s.response = |r| {
            let error = Cbor::map([("another", 0.into())]);
            r.set("documentErrors", Cbor::Array(vec![error]));
        };
    }),
    Row::refused("an error for the document", "claim_missing", |s| {
        s.response = |r| r.set("documentErrors", Cbor::Array(vec![Cbor::map([(MDL, 0.into())])]));
    }),
    Row::refused("an error for a requested element", "claim_missing", |s| {
        s.document.errors = Some(error_for("family_name"));
    }),
    Row::verified("an error for another element", |s| {
        s.document.errors = Some(error_for("given_name"));
    }),
    Row::refused("errors as a number", MALFORMED, |s| s.document.errors = Some(Cbor::Int(0))),
    Row::refused("docType outside", "doc_type_mismatch", |s| {
        s.document.doc_type = "another".into()
    }),
    Row::refused("docType inside", "doc_type_mismatch", |s| {
        s.issued().mso.set("docType", "another")
    }),
    Row::refused("an entry of the MSO twice", MALFORMED, |s| {
        if let Cbor::Map(entries) = &mut s.issued().mso {
            entries.push(entries[0].clone());
        }
    }),
];

const MALFORMED: &str = "malformed_presentation";

fn error_for(element: &str) -> Cbor {
    Cbor::map([(MDL_NAME_SPACE, Cbor::map([(element, 0.into())]))])
}
