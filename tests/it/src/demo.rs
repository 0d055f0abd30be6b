//! `idgate demo`: one walk that explains itself, without anything installed.

use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

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
        "device_signature",          // and how the device did
        "openid4vp-1.0",             // session_transcript
        "decided_by",                // an age that the licence does not state
        "digest_mismatch",           // the forgeries
        "POST /v1/sessions",         // the steps
        "POST /v1/oid4vp/response/", //
        "GET /v1/sessions/",         //
        "GET /v1/oid4vp/request/",   // the jar profile
        "request_uri=",              //
        "did.json",                  //
        "encrypts",                  //
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

#[cfg(unix)]
#[test]
fn the_demo_keeps_its_folder_to_itself_and_removes_it_on_sigterm() {
    use std::os::unix::fs::PermissionsExt;
    let installation = Installation::new();
    let temporary = tempfile::TempDir::new().unwrap();
    let mut command = installation.command(&["demo", "--json"]);
    command.env("TMPDIR", temporary.path()).stdout(Stdio::piped());
    let mut demo = command.spawn().unwrap();
    let mut stdout = BufReader::new(demo.stdout.take().unwrap());
    let mut line = String::new();
    stdout.read_line(&mut line).unwrap();
    let walks = serde_json::from_str::<Value>(&line).unwrap()["walks"].take();
    let walks: Vec<[String; 3]> = walks
        .as_array()
        .unwrap()
        .iter()
        .map(|walk| {
            let text = |value: &Value| value.as_str().unwrap().to_owned();
            [&walk["profile"], &walk["format"], &walk["verified"]["status"]].map(text)
        })
        .collect();
    let expected = [
        ["inline", "vc+sd-jwt", "VERIFIED"],
        ["inline", "mso_mdoc", "VERIFIED"],
        ["jar", "vc+sd-jwt", "VERIFIED"],
        ["jar", "mso_mdoc", "VERIFIED"],
    ];
    assert_eq!(walks, expected);
    let folders: Vec<_> =
        std::fs::read_dir(temporary.path()).unwrap().map(Result::unwrap).collect();
    assert_eq!(folders.len(), 1);
    let mode = folders[0].metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
    Command::new("kill").args(["-TERM", &demo.id().to_string()]).status().unwrap();
    assert!(demo.wait().unwrap().success());
    let mut rest = String::new();
    stdout.read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "", "one object and nothing else");
    assert_eq!(std::fs::read_dir(temporary.path()).unwrap().count(), 0);
}

#[test]
fn a_demo_that_cannot_begin_says_so_in_json() {
    let installation = Installation::new().with("TMPDIR", "/nonexistent");
    let output = installation.run(&["demo", "--once", "--json"]);
    assert_eq!(output.code, 1);
    assert!(output.json()["error"].is_string(), "{output:?}");
}
