//! mdocs made by a stranger, and by the holder of a good one.

use idgate_testkit::mdoc::Cbor;

use crate::hostile::cost::encoded::{CBOR, wrapped};
use crate::hostile::cost::{Generator, Row};
use crate::hostile::mdoc::Sample;

/// A presentation has 512 KiB at most. A good one of about that size must stay below.
const FULL: usize = 480 * 1024;

fn row(name: &'static str, worst: Vec<(&'static str, Generator)>) -> Row {
    let sample = Sample::new();
    Row {
        name,
        full: FULL,
        read: Box::new(move |response| drop(sample.said(response))),
        valid: Box::new(|size| Sample::of_size(size).good()),
        worst,
    }
}

/// Everything is made by a stranger.
pub(super) fn device_response() -> Row {
    let mut worst = wrapped(CBOR, |size, fill| fill(size));
    let inside: [fn(&mut Cbor, Cbor); 4] = [
        |response, filling| response.set("documents", filling),
        |response, filling| response.set("documentErrors", filling),
        |response, filling| {
            let document = Cbor::map([("docType", "x".into()), ("issuerSigned", filling)]);
            response.set("documents", Cbor::Array(vec![document]));
        },
        |response, filling| {
            let protected = Cbor::Bytes(filling.encode());
            let auth = Cbor::Array(vec![protected, Cbor::Map(vec![]), Cbor::Null, Cbor::Null]);
            let Cbor::Array(documents) = response.at("documents") else { return };
            documents[0].at("issuerSigned").set("issuerAuth", auth);
        },
    ];
    for put in inside {
        worst.extend(wrapped(CBOR, move |size, fill| {
            let sample = Sample::new();
            let mut response = sample.response_value(&sample.issued);
            put(&mut response, Cbor::Raw(fill(size)));
            response.encode()
        }));
    }
    row("DeviceResponse", worst)
}

/// Signed by a document signer that is trusted.
pub(super) fn mobile_security_object() -> Row {
    let mut worst = wrapped(CBOR, |size, fill| {
        let mut sample = Sample::new();
        sample.issued.mso = Cbor::Raw(fill(size));
        sample.response(&sample.issued)
    });
    worst.extend(wrapped(CBOR, |size, fill| {
        let mut sample = Sample::new();
        sample.issued.mso.set("valueDigests", Cbor::Raw(fill(size)));
        sample.response(&sample.issued)
    }));
    worst.push((
        "digests in descending order",
        Box::new(|size| {
            let mut sample = Sample::new();
            let count = i64::try_from(size / 38).unwrap_or(i64::MAX);
            let digests = (0..count).rev().map(|id| (id.into(), Cbor::Bytes(vec![7; 32])));
            let digests = Cbor::Map(digests.collect());
            sample.issued.mso.at("valueDigests").set("org.iso.18013.5.1.more", digests);
            sample.response(&sample.issued)
        }),
    ));
    row("MSO", worst)
}

/// A good credential, presented by a hostile holder.
pub(super) fn document() -> Row {
    let named = |count: usize, value: &Cbor| {
        Cbor::Map(
            (0..count).map(|at| (format!("{at:06}").as_str().into(), value.clone())).collect(),
        )
    };
    let worst: Vec<(&'static str, Generator)> = vec![
        (
            "empty namespaces",
            Box::new(move |size| {
                Sample::new().shown(|document| {
                    let own = document.at("issuerSigned").at("nameSpaces").clone();
                    let mut all = named(size / 8, &Cbor::Array(Vec::new()));
                    if let (Cbor::Map(all), Cbor::Map(own)) = (&mut all, own) {
                        all.extend(own);
                    }
                    document.at("issuerSigned").set("nameSpaces", all);
                })
            }),
        ),
        (
            "items that are not items",
            Box::new(move |size| {
                Sample::new().shown(|document| {
                    let items = Cbor::Array(vec![Cbor::Bytes(Vec::new()); size]);
                    document.at("issuerSigned").at("nameSpaces").set("x", items);
                })
            }),
        ),
        (
            "errors",
            Box::new(move |size| {
                Sample::new().shown(|document| {
                    document.set("errors", Cbor::map([("x", named(size / 8, &0.into()))]));
                })
            }),
        ),
        (
            "documents without end",
            Box::new(move |size| {
                let sample = Sample::new();
                let mut response = sample.response_value(&sample.issued);
                if let Cbor::Array(documents) = response.at("documents") {
                    let mut other = documents[0].clone();
                    other.set("docType", "other");
                    let each = other.encode().len();
                    documents.extend(vec![other; size / each]);
                }
                response.encode()
            }),
        ),
    ];
    row("mdoc of a holder", worst)
}
