//! Answers of ISO/IEC TS 18013-7 Annex C, as the relay route receives them.

use idgate_testkit::iso_mdoc::IsoMdocAnswer;
use idgate_testkit::mdoc::Cbor;

use crate::hostile::answer::large_wallet;
use crate::hostile::browser::{ORIGINS, Page};
use crate::hostile::cost::encoded::{CBOR, wrapped};
use crate::hostile::cost::{Generator, Row};
use crate::hostile::iso_mdoc::{enveloped, passed_on, sealed};

/// A DeviceResponse has 512 KiB at most, and base64url makes it a third longer.
const FULL: usize = 640 * 1024;

const ELSEWHERE: &str = "https://shop.example.evil.example";

/// An answer for a page on that origin, of about this many bytes when encrypted.
fn answer(page: &Page, origin: &str, size: usize) -> IsoMdocAnswer {
    // Half of this wallet's presentations is its mdoc, as text.
    large_wallet(size * 2).answer_iso_mdoc(&passed_on(page, origin)).unwrap()
}

fn relayed(answer: &IsoMdocAnswer) -> Vec<u8> {
    answer.credential().to_string().into_bytes()
}

/// The encrypted content and its recipient: an answer does not say for which of five pages it is.
pub(super) fn answers() -> Row {
    let page = || Page::asking(&[], &["portrait"]);
    let from = |origin: &'static str| -> Generator {
        let page = page();
        Box::new(move |size| relayed(&answer(&page, origin, size)))
    };
    let mut worst =
        vec![("from the last of five", from(ORIGINS[4])), ("from elsewhere", from(ELSEWHERE))];
    worst.extend(wrapped(CBOR, |size, fill| enveloped(&fill(size / 4 * 3))));
    worst.extend(wrapped(CBOR, |size, fill| {
        let members = Cbor::map([("x", Cbor::Raw(fill(size / 4 * 3)))]);
        enveloped(&Cbor::Array(vec!["dcapi".into(), members]).encode())
    }));
    let small = answer(&page(), ORIGINS[0], 20_000);
    let whole = small.clone();
    worst.extend(wrapped(CBOR, move |size, fill| sealed(&whole, &fill(size / 4 * 3))));
    worst.extend(wrapped(CBOR, move |size, fill| {
        let mut response = small.device_response();
        response.set("documents", Cbor::Raw(fill(size / 4 * 3)));
        sealed(&small, &response.encode())
    }));
    let (read, good) = (page(), page());
    assert!(read.claims(&relayed(&answer(&good, ORIGINS[0], 20_000))).is_some());
    Row {
        name: "answer of Annex C",
        full: FULL,
        read: Box::new(move |body| drop(read.claims(body))),
        valid: Box::new(move |size| relayed(&answer(&good, ORIGINS[0], size))),
        worst,
    }
}
