//! `idgate demo`: one run that explains itself, without any installation, in every profile and with
//! the settings of `serve`.

mod settings;

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};

use idgate_testkit::patience::eventually_some;
use serde_json::Value;

use crate::at_rest::is_at_rest;
use crate::http::{Http, Request};
use crate::server::{Installation, eventually, outlives_terminals};

/// `profile`, `request_mode` and `format` of each successful walk.
fn walks(told: &Value) -> Vec<[String; 3]> {
    let walks = told["walks"].as_array().unwrap();
    let of = |walk: &Value| {
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        assert_eq!(walk["verified"]["status"], "VERIFIED", "{walk}");
        assert_eq!(walk["refused"]["status"], "FAILED", "{walk}");
        assert_eq!(walk["refused"]["reason"], "digest_mismatch", "{walk}");
        [&walk["profile"], &walk["request_mode"], &walk["format"]].map(text)
    };
    walks.iter().map(of).collect()
}

/// Walks of these profiles and modes, each in both formats.
fn in_both_formats(profiles: &[[&str; 2]]) -> Vec<[String; 3]> {
    let of = |[profile, mode]: &[&str; 2]| {
        ["vc+sd-jwt", "mso_mdoc"].map(|format| [*profile, *mode, format].map(String::from))
    };
    profiles.iter().flat_map(of).collect()
}

#[test]
fn the_demo_runs_a_verification_without_waiting() {
    let installation = Installation::new().with_machine();
    // It only waits for work: the clock stands still until it has printed everything.
    installation.machine().freeze();
    let told = installation.file("told", "");
    let mut demo = installation.command(&["demo", "--once"]);
    let mut demo = demo.stdout(File::create(&told).unwrap()).spawn().unwrap();
    let forgeries = || fs::read_to_string(&told).unwrap().matches("digest_mismatch").count();
    eventually("the last forgery is refused", || forgeries() == 6);
    // Stopping takes time.
    installation.machine().thaw();
    let status = eventually_some("the demo ends", || demo.try_wait().unwrap());
    assert!(status.success(), "{status}");
    let stdout = fs::read_to_string(&told).unwrap();
    for part in [
        "openid4vp://?",             // the request
        "\u{2588}",                  // the QR code
        "VERIFIED",                  // the outcome
        "given_name",                // claims
        "Erika",                     // and their values
        "trust_anchor_sha256",       // verification_details
        "kb_jwt",                    // the holder's key proof
        "device_signature",          // the device's proof
        "openid4vp-1.0",             // session_transcript
        "decided_by",                // an age that is not in the licence itself
        "session_not_pending",       // the same answer again
        "digest_mismatch",           // the forgeries
        "POST /v1/sessions",         // the steps
        "POST /v1/oid4vp/response/", //
        "GET /v1/sessions/",         //
        "GET /v1/oid4vp/request/",   // a signed request
        "request_uri=",              //
        "encrypted answer",          //
        "dcql_query {",              // 1.0
        "did:web:",                  //
        "x509_hash:",                // haip
        "?response_code=",           //
        "presentation_definition {", // draft
        "presentation_submission",   //
    ] {
        assert!(stdout.contains(part), "no {part:?} in\n{stdout}");
    }
}

#[test]
fn the_demo_shows_each_profile_newest_first_with_a_refusal() {
    let output = Installation::new().run(&["demo", "--once"]);
    assert_eq!(output.code, 0, "{output:?}");
    let acts: Vec<&str> = output.stdout.split("\n== ").skip(1).collect();
    let told = [
        ("(profile 1.0)", ["a signed request, an encrypted answer", "dcql_query {"]),
        ("(profile haip)", ["a signed request, an encrypted answer", "dcql_query {"]),
        (
            "(profile draft)",
            ["the link is the request, a plain answer", "presentation_definition {"],
        ),
    ];
    assert_eq!(acts.len(), told.len(), "{}", output.stdout);
    for (act, (title, parts)) in acts.iter().zip(told) {
        assert!(act.lines().next().unwrap().contains(title), "{act}");
        for part in parts.into_iter().chain(["400 invalid_presentation", "FAILED, digest_mismatch"])
        {
            assert!(act.contains(part), "no {part:?} in\n{act}");
        }
    }
    // One code for a phone is enough.
    let longest = output.stdout.lines().map(|line| line.chars().count()).max().unwrap();
    assert!(output.stdout.lines().count() < 150 && longest < 600, "{}", output.stdout);
}

#[test]
fn the_demo_leaves_no_files_behind() {
    let installation = Installation::new();
    assert_eq!(installation.run(&["demo", "--once"]).code, 0);
    assert!(!installation.data_dir().exists(), "the demo used the data directory");
}

#[cfg(unix)]
#[test]
fn the_demo_folder_is_private_and_removed_on_sigterm() {
    use std::os::unix::fs::PermissionsExt;
    let installation = Installation::new();
    let temporary = tempfile::TempDir::new().unwrap();
    let mut command = installation.command(&["demo", "--json"]);
    command.env("TMPDIR", temporary.path()).stdout(Stdio::piped());
    let mut demo = command.spawn().unwrap();
    let mut stdout = BufReader::new(demo.stdout.take().unwrap());
    let mut line = String::new();
    stdout.read_line(&mut line).unwrap();
    let told: Value = serde_json::from_str(&line).unwrap();
    let expected = in_both_formats(&[["1.0", "jar"], ["haip", "jar"], ["draft", "inline"]]);
    assert_eq!(walks(&told), expected);
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
fn sighup_ends_the_demo_unless_hangups_are_ignored() {
    for (before, outlives) in [("", outlives_terminals()), ("trap '' HUP; ", true)] {
        let temporary = tempfile::TempDir::new().unwrap();
        let own = Installation::new().command(&["demo", "--json"]);
        let mut command = Command::new("sh");
        command.args(["-c", &format!("{before}exec \"$@\""), "sh"]).arg(own.get_program());
        command.args(own.get_args()).env("TMPDIR", temporary.path()).stdout(Stdio::piped());
        let mut demo = command.env("IDGATE_LISTEN", "127.0.0.1:0").spawn().unwrap();
        let mut line = String::new();
        BufReader::new(demo.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let told: Value = serde_json::from_str(&line).unwrap();
        assert!(told["walks"].is_array(), "{line}");
        let url = told["base_url"].as_str().unwrap();
        let address = url.strip_prefix("http://").unwrap().parse().unwrap();
        let signal = |name: &str, demo: &Child| {
            Command::new("kill").args([name, &demo.id().to_string()]).status().unwrap()
        };
        assert!(signal("-HUP", &demo).success());
        if outlives {
            Http::new(address).send(&Request::get("/healthz")).expect_status(200);
            eventually("it goes on waiting", || is_at_rest(demo.id()));
            assert!(demo.try_wait().unwrap().is_none(), "it has ended");
            assert!(signal("-TERM", &demo).success());
        }
        assert!(demo.wait().unwrap().success());
        assert_eq!(std::fs::read_dir(temporary.path()).unwrap().count(), 0, "{before}");
    }
}

#[test]
fn a_demo_that_cannot_start_reports_it_in_json() {
    let installation = Installation::new().with("TMPDIR", "/nonexistent");
    let output = installation.run(&["demo", "--once", "--json"]);
    assert_eq!(output.code, 1);
    assert!(output.json()["error"].is_string(), "{output:?}");
}
