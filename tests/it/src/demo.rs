//! `idgate demo`: one walk that explains itself, without anything installed.

use std::time::{Duration, Instant};

use crate::server::{Installation, Output};

#[test]
fn the_demo_walks_through_a_verification_in_a_second() {
    let installation = Installation::new();
    let mut runs = [(); 3].map(|()| {
        let begun = Instant::now();
        (installation.run(&["demo", "--once"]), begun.elapsed())
    });
    // The quickest counts: the others waited for a disk or for other tests.
    runs.sort_by_key(|(_, took)| *took);
    let [(Output { code, stdout, stderr }, took), ..] = runs;
    assert_eq!(code, 0, "{stderr}");
    assert!(took < Duration::from_secs(1), "{took:?}");
    for part in [
        "openid4vp://?",             // the request
        "\u{2588}",                  // the QR code
        "VERIFIED",                  // the outcome
        "given_name",                // claims
        "Erika",                     // and their values
        "trust_anchor_sha256",       // verification_details
        "kb_jwt",                    // how the holder proved the key
        "POST /v1/sessions",         // the steps
        "POST /v1/oid4vp/response/", //
        "GET /v1/sessions/",         //
    ] {
        assert!(stdout.contains(part), "no {part:?} in\n{stdout}");
    }
}

#[test]
fn the_demo_leaves_nothing_behind() {
    let installation = Installation::new();
    assert_eq!(installation.run(&["demo", "--once"]).code, 0);
    assert!(!installation.data_dir().exists(), "the demo used the data directory");
}
