//! The actions of the built-in wallet, from the console and from the command line.

use super::*;
use crate::tenant::Gateway;

const ISSUER: &str = "https://issuer.example";
const IACA: &str = "https://iaca.example";

/// The gateway's expected outcome for each button, for an SD-JWT VC and for an mdoc.
const BUTTONS: [(&str, [&str; 2]); 6] = [
    ("accept", ["VERIFIED", "VERIFIED"]),
    ("decline", ["wallet_error", "wallet_error"]),
    ("forge", ["issuer_signature_invalid", "issuer_signature_invalid"]),
    ("expired", ["credential_expired", "credential_expired"]),
    ("revoked", ["credential_revoked", "credential_revoked"]),
    ("wrong-nonce", ["nonce_mismatch", "device_auth_invalid"]),
];

#[test]
fn each_wallet_action_works_in_every_profile_and_format() {
    for flags in [&[][..], &["--oid4vp-request-mode", "jar"]] {
        let sandbox = Sandbox::with(flags);
        let mut tenant = sandbox.tenant();
        for profile in ["1.0", "haip", "draft"] {
            for (deed, expected) in BUTTONS {
                let formats = [("vc+sd-jwt", ISSUER), ("mso_mdoc", IACA)];
                for ((format, issuer_id), expected) in formats.into_iter().zip(expected) {
                    let made = tenant.create(&request(format, issuer_id, profile));
                    let fields = [("session", &*made.id), ("do", deed), ("from", "utopia")];
                    let pressed = sandbox.press("/answer", &fields);
                    assert_eq!(pressed.status, 303, "{pressed:?}");
                    let session = tenant.read(&made.id);
                    let case = format!("{flags:?} {profile} {format} {deed}: {session}");
                    assert_eq!(outcome(&session), expected, "{case} {}", pressed.head);
                }
            }
        }
    }
}

#[test]
fn the_console_lists_sessions_with_actions_and_their_outcome() {
    let sandbox = Sandbox::start();
    let mut tenant = sandbox.tenant();
    let made = tenant.create(&request("vc+sd-jwt", ISSUER, "1.0"));
    let row = format!("<li id=\"row-{0}\"><a href=\"/sessions/{0}\"", made.id);
    let list = sandbox.get("/");
    assert!(list.status == 200 && list.body.contains(&row), "{list:?}");
    let shown = sandbox.get(&format!("/sessions/{}", made.id)).body;
    for (deed, _) in BUTTONS {
        assert!(shown.contains(&format!("name=\"do\" value=\"{deed}\"")), "{deed}: {shown}");
    }
    let pressed = sandbox.press("/answer", &[("session", &made.id), ("do", "accept")]);
    let leads_to = |answer: &Answer| {
        let (_, to) = answer.head.split_once("location: ").unwrap();
        to.split("\r\n").next().unwrap().to_owned()
    };
    let answer = format!("/sessions/{}/answer", made.id);
    assert_eq!(leads_to(&pressed), answer.to_ascii_lowercase());
    let page = sandbox.get(&answer).body;
    for part in ["VERIFIED", "accept, credentials of Utopia Registry", "Erika"] {
        assert!(page.contains(part), "no {part} in {page}");
    }
    let made = sandbox.press("/sessions", &[("ask", "licence"), ("profile", "haip")]);
    assert!(leads_to(&made).starts_with("/sessions/ses_"), "{made:?}");
    let list = sandbox.get("/").body;
    let (_, newest) = list.split_once("<li id=\"row-").unwrap();
    let newest = newest.split('"').next().unwrap();
    let page = sandbox.get(&format!("/sessions/{newest}")).body;
    assert!(page.contains("Issuer: https://iaca.example"), "{page}");
    assert!(page.contains("class=\"qr\"") && page.contains("Open the page for people"), "{page}");
}

#[test]
fn the_console_only_answers_links_of_gateways_on_this_machine() {
    let sandbox = Sandbox::start();
    let mut tenant = sandbox.tenant();
    let made = tenant.create(&request("mso_mdoc", IACA, "1.0"));
    sandbox.press("/answer", &[("uri", &made.uri), ("do", "accept")]);
    assert_eq!(outcome(&tenant.read(&made.id)), "VERIFIED");
    let elsewhere = "haip-vp://?client_id=x509_hash%3Aabc&request_uri=http%3A%2F%2F192.0.2.1%2Fr";
    sandbox.press("/answer", &[("uri", elsewhere), ("do", "accept")]);
    let page = sandbox.get("/new").body;
    assert!(page.contains("http://192.0.2.1 is not on this machine"), "{page}");
}

#[test]
fn the_wallet_command_answers_and_reports_gateway_faults() {
    let sandbox = Sandbox::start();
    let mut tenant = sandbox.tenant();
    for (deed, expected) in BUTTONS {
        let made = tenant.create(&request("vc+sd-jwt", ISSUER, "haip"));
        let answered = sandbox.wallet(&[&made.uri, "--do", deed]);
        assert_eq!(answered.code, 0, "{deed}: {answered:?}");
        assert_eq!(outcome(&tenant.read(&made.id)), expected[0], "{deed}");
        let refused = !["accept", "decline"].contains(&deed);
        assert_eq!(answered.json()["http_status"], if refused { 400 } else { 200 }, "{deed}");
        // The session has ended, so no more answers are accepted.
        let late = sandbox.wallet(&[&made.uri, "--do", "accept"]);
        assert_ne!(late.code, 0, "{late:?}");
    }
    let made = tenant.create(&request("vc+sd-jwt", ISSUER, "1.0"));
    // Not from the provider whose key is trusted.
    let refused = sandbox.wallet(&[&made.uri, "--from", "arcadia"]);
    assert_eq!((refused.code, &refused.json()["http_status"]), (3, &json!(400)), "{refused:?}");
}

#[test]
fn the_wallet_command_only_answers_gateways_on_this_machine() {
    let sandbox = Sandbox::start();
    for (uri, why) in [
        (
            "openid4vp://?client_id=x509_hash%3Aa&request_uri=https%3A%2F%2Fgateway.example%2Fr",
            "is not on this machine",
        ),
        (
            "openid4vp://?client_id=x509_hash%3Aa&request_uri=http%3A%2F%2F192.0.2.1%2Fr",
            "is not on this machine",
        ),
        (
            "openid4vp://?client_id=x509_hash%3Aa&request_uri=https%3A%2F%2Flocalhost%2Fr",
            "--ca FILE",
        ),
        ("https://gateway.example/", ""),
    ] {
        let refused = sandbox.wallet(&[uri]);
        assert_eq!(refused.code, 1, "{uri}: {refused:?}");
        assert!(refused.stderr.contains(why), "{uri}: {refused:?}");
    }
    let refused = sandbox.wallet(&["openid4vp://?x=y", "--gateway", "192.0.2.1:80"]);
    assert_eq!(refused.code, 2, "{refused:?}");
}

#[test]
fn the_wallet_command_rejects_options_of_the_sandbox() {
    let installation = Installation::in_directory();
    let refused = installation.run(&["sandbox", "--name", "laptop", "wallet", "openid4vp://?x=y"]);
    assert_eq!(refused.code, 2, "{refused:?}");
    let parsed = installation.run(&["sandbox", "--json", "wallet", "openid4vp://?x=y"]);
    assert!(parsed.code == 1 && parsed.json()["error"].is_string(), "{parsed:?}");
}

/// The demo suggests this command.
#[test]
fn the_wallet_command_answers_the_demos_gateway() {
    let installation = Installation::in_directory();
    let empty = tempfile::TempDir::new().unwrap();
    let mut demo = installation.command(&["demo"]);
    let mut demo = demo.env("TMPDIR", empty.path()).stdout(Stdio::piped()).spawn().unwrap();
    let mut told = BufReader::new(demo.stdout.take().unwrap()).lines().map(Result::unwrap);
    let curl = told.by_ref().find(|line| line.contains("curl -s")).unwrap();
    let base_url = curl.split(' ').find_map(|word| word.strip_suffix("/v1/sessions")).unwrap();
    let gateway = base_url.strip_prefix("http://").unwrap().parse().unwrap();
    let key = told.next().unwrap();
    let api_key = key.split_once("Bearer ").unwrap().1.split('\'').next().unwrap().to_owned();
    let mut tenant = Tenant { http: Http::new(gateway), api_key };
    for (format, issuer_id) in [("vc+sd-jwt", ISSUER), ("mso_mdoc", IACA)] {
        for profile in ["1.0", "haip"] {
            let made = tenant.create(&request(format, issuer_id, profile));
            let mut wallet = installation.command(&["sandbox", "wallet", &made.uri]);
            let answered = output(wallet.env("TMPDIR", empty.path()));
            assert_eq!(answered.code, 0, "{answered:?}");
            assert_eq!(outcome(&tenant.read(&made.id)), "VERIFIED");
        }
    }
    demo.kill().unwrap();
    demo.wait().unwrap();
}

#[test]
fn without_a_sandbox_the_wallet_command_has_the_demos_credentials() {
    let gateway = Gateway::start();
    let empty = tempfile::TempDir::new().unwrap();
    let mut tenant = gateway.tenant();
    let wallet = |arguments: &[&str]| {
        let arguments = [&["sandbox", "wallet", "--json"], arguments].concat();
        output(gateway.installation.command(&arguments).env("TMPDIR", empty.path()))
    };
    let request = json!({ "credentials": [
        { "format": "vc+sd-jwt", "issuer_id": ISSUER, "claims": ["given_name"] },
    ]});
    let made = tenant.create(&request);
    assert_eq!(wallet(&[&made.uri]).code, 0);
    assert_eq!(outcome(&tenant.read(&made.id)), "VERIFIED");
    let made = tenant.create(&request);
    let refused = wallet(&[&made.uri, "--do", "revoked"]);
    assert!(refused.code == 1 && refused.stderr.contains("start `idgate sandbox`"), "{refused:?}");
}
