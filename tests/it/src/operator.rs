//! Operator commands and settings (decisions 1, 2): exit codes, `--json` shapes, precedence.

use std::path::Path;

use idgate_testkit::keys::{Curve, SigningKey};
use idgate_testkit::request::AuthorizationRequest;
use idgate_testkit::samples::{self, ISSUER, VCT};
use serde_json::{Value, json};

use crate::disk;
use crate::server::{Installation, Output};
use crate::tenant::{members, now_ms, sample_trust, sample_wallet};

const OK: i32 = 0;
const ERROR: i32 = 1;
const USAGE: i32 = 2;
const REFUSED: i32 = 3;
const NOT_FOUND: i32 = 4;

#[test]
fn commands_have_the_documented_exit_codes() {
    let installation = Installation::new();
    let no_jwk = installation.file("no.jwk.json", r#"{"kty":"oct","k":"AAAA"}"#);
    let no_jwk = no_jwk.to_str().unwrap();
    let jwk = issuer_jwk(&installation);
    for (arguments, code) in [
        (&["--help"][..], OK),
        (&["--version"], OK),
        (&["client", "create", "shop"], OK),
        (&["client", "list"], OK),
        (&["trust", "list"], OK),
        (&["trust", "check"], OK),
        (&["webhook-host", "list"], OK),
        (&["webhook-host", "approve", "shop.example"], OK),
        (&["webhook-host", "reject", "shop.example", "--note", "why"], OK),
        (&["dead-letters", "list"], OK),
        (&["config", "check"], OK),
        (&[], USAGE),
        (&["frobnicate"], USAGE),
        (&["client"], USAGE),
        (&["client", "create"], USAGE),
        (&["client", "create", "shop", "--frobnicate"], USAGE),
        (&["trust", "add"], USAGE),
        (&["webhook-host", "approve"], USAGE),
        (&["webhook-host", "approve", "https://shop.example/"], USAGE),
        (&["webhook-host", "reject", "shop.example"], USAGE),
        (&["dead-letters", "retry"], USAGE),
        (&["trust", "add", ISSUER, "--jwk", &jwk, "--revocation", "sometimes"], USAGE),
        (&["verify"], USAGE),
        (&["trust", "add", ISSUER, "--jwk", "no-such-file"], ERROR),
        (&["trust", "add", ISSUER, "--jwk", no_jwk], ERROR),
        (&["--config", "no-such-file", "config", "check"], ERROR),
        (&["client", "revoke", "cli_0000000000000000000000"], NOT_FOUND),
        (&["trust", "show", "https://nobody.example"], NOT_FOUND),
        (&["trust", "remove", "https://nobody.example"], NOT_FOUND),
        (&["dead-letters", "retry", "whf_0000000000000000000000"], NOT_FOUND),
    ] {
        let output = installation.run(arguments);
        assert_eq!(output.code, code, "{arguments:?}: {output:?}");
        let explains = if code == OK { &output.stdout } else { &output.stderr };
        assert!(
            !explains.trim().is_empty()
                || ["trust", "webhook-host", "dead-letters"].contains(&arguments[0]),
            "{arguments:?}: {output:?}"
        );
    }
}

#[test]
fn clients_are_created_listed_and_revoked() {
    let installation = Installation::new();
    let made = installation.run_json(&["client", "create", "shop", "--test", "--json"]);
    assert_eq!(members(&made), ["api_key", "client_id", "livemode", "signing_secret"]);
    assert_eq!(made["livemode"], false);
    let live = installation.run_json(&["client", "create", "bank", "--json"]);
    assert_eq!(live["livemode"], true);
    let (id, key) = (text(&made, "client_id"), text(&made, "api_key"));
    assert_ne!(id, text(&live, "client_id"));
    let listed = installation.run(&["client", "list", "--json"]);
    assert_eq!(members(&listed.json()), ["clients"]);
    let client = |id: &str| {
        let listed = installation.run_json(&["client", "list", "--json"]);
        let clients = listed["clients"].as_array().unwrap().clone();
        clients.into_iter().find(|client| client["client_id"] == id).unwrap()
    };
    assert_eq!(client(&id)["livemode"], false);
    assert_eq!(client(&id)["name"], "shop");
    assert!(!listed.stdout.contains(&key[8..]) && !listed.stdout.contains("whsec_"));
    let before = client(&id);
    installation.run_json(&["client", "revoke", &id, "--json"]);
    assert_ne!(client(&id), before, "the list does not show the revocation");
    assert_eq!(installation.run(&["client", "list"]).code, OK);
}

/// Clients gave such names before they were rejected.
#[test]
fn control_characters_in_names_are_escaped_in_lists() {
    use idgate_store::OperatorStore;
    let installation = Installation::new();
    let id = installation.create_client("shop", true).client_id;
    let mut store = OperatorStore::open(&installation.data_dir(), None).unwrap();
    let name = "till\nkey_1  active\u{1b}[2K";
    let now = idgate_core::UnixMillis(crate::tenant::now_ms());
    store.create_key(&id, Some(name), None, now).unwrap().unwrap();
    drop(store);
    let list = installation.run(&["client", "key", "list", &id]).stdout;
    assert_eq!(list.lines().count(), 2, "{list:?}");
    assert!(list.contains(r"  till\nkey_1  active\u{1b}[2K"), "{list:?}");
    let list = installation.run_json(&["client", "key", "list", &id, "--json"]);
    assert_eq!(list["keys"][0]["name"], name);
}

#[test]
fn admin_tokens_are_created_listed_and_revoked() {
    let installation = Installation::new();
    let made = installation.run_json(&["admin-token", "create", "--name", "metrics", "--json"]);
    assert_eq!(members(&made), ["admin_token", "id"]);
    let (id, token) = (text(&made, "id"), text(&made, "admin_token"));
    assert!(token.starts_with("adm_") && token.len() == 42);
    let listed = installation.run(&["admin-token", "list", "--json"]);
    assert_eq!(listed.json()["admin_tokens"][0]["name"], "metrics");
    assert_eq!(listed.json()["admin_tokens"][0]["revoked_at"], Value::Null);
    assert!(!listed.stdout.contains(&token[4..]));
    let directory = installation.data_dir();
    assert!(disk::files_with(&directory, &[token.as_bytes()[4..].to_vec()]).is_empty());
    installation.run_json(&["admin-token", "revoke", &id, "--json"]);
    let listed = installation.run_json(&["admin-token", "list", "--json"]);
    assert!(listed["admin_tokens"][0]["revoked_at"].is_string());
    assert_eq!(installation.run(&["admin-token", "revoke", "adt_none"]).code, NOT_FOUND);
}

#[test]
fn a_key_is_printed_once_in_text_output_too() {
    let installation = Installation::new();
    let Output { stdout, .. } = installation.run(&["client", "create", "shop"]);
    assert!(serde_json::from_str::<Value>(&stdout).is_err(), "{stdout}");
    for prefix in ["cli_", "sk_live_", "whsec_"] {
        assert_eq!(stdout.matches(prefix).count(), 1, "{prefix} in {stdout}");
    }
}

#[test]
fn trust_is_added_to_replaced_shown_checked_and_removed() {
    let installation = Installation::new();
    installation.trust(&sample_trust(), &[]);
    let shown = installation.run_json(&["trust", "show", ISSUER, "--json"]);
    assert!(shown.to_string().contains(VCT), "{shown}");
    // Another key is added, and a given attribute is replaced.
    let second = SigningKey::from_seed(Curve::P384, "second issuer key");
    let pem = installation.file("second.pem", second.public_pem());
    let add = ["trust", "add", ISSUER, "--public-key", pem.to_str().unwrap(), "--vct", "urn:new"];
    assert_eq!(installation.run(&add).code, OK);
    let shown = installation.run_json(&["trust", "show", ISSUER, "--json"]).to_string();
    assert!(shown.contains("urn:new") && !shown.contains(VCT), "{shown}");
    let both = ["ES256", "ES384"].iter().all(|alg| shown.contains(alg))
        || ["P-256", "P-384"].iter().all(|curve| shown.contains(curve));
    assert!(both, "{shown}");
    let entries = installation.run_json(&["trust", "list", "--json"]);
    assert_eq!(members(&entries), ["entries"]);
    assert_eq!(entries["entries"].as_array().map(Vec::len), Some(1));
    assert_eq!(entries["entries"][0]["issuer_id"], ISSUER);
    assert_eq!(installation.run(&["trust", "remove", ISSUER]).code, OK);
    assert_eq!(installation.run_json(&["trust", "list", "--json"])["entries"], json!([]));
}

#[test]
fn an_entry_without_vct_is_warned_about() {
    let installation = Installation::new();
    let jwk = issuer_jwk(&installation);
    let added = installation.run(&["trust", "add", ISSUER, "--jwk", &jwk]);
    assert_eq!(added.code, OK, "{added:?}");
    assert!(format!("{}{}", added.stdout, added.stderr).contains("vct"), "{added:?}");
    let checked = installation.run(&["trust", "check"]);
    assert!(format!("{}{}", checked.stdout, checked.stderr).contains("vct"), "{checked:?}");
    let checked = installation.run_json(&["trust", "check", "--json"]);
    assert_eq!(checked["checked"], 1);
    assert_eq!(installation.run(&["trust", "add", ISSUER, "--vct", VCT]).code, OK);
    let checked = installation.run(&["trust", "check"]);
    assert!(!checked.stdout.contains("--vct"), "{checked:?}");
}

#[test]
fn a_flag_wins_over_environment_over_file_over_default() {
    let file = |base_url: &str| format!("base_url = \"{base_url}\"\n");
    let installation = Installation::new();
    let path = installation.file("idgate.toml", file("https://file.example"));
    let config = ["--config", path.to_str().unwrap()];
    let check = |installation: &Installation, arguments: &[&str]| {
        let output = installation.run(&[&["config", "check"], arguments].concat());
        assert_eq!(output.code, OK, "{output:?}");
        output.stdout
    };
    assert!(check(&installation, &[]).contains("127.0.0.1"));
    assert!(check(&installation, &config).contains("https://file.example"));
    let installation = installation.with("IDGATE_BASE_URL", "https://env.example");
    let stdout = check(&installation, &config);
    assert!(stdout.contains("https://env.example") && !stdout.contains("file.example"), "{stdout}");
    let flag = [&config[..], &["--base-url", "https://flag.example"]].concat();
    let stdout = check(&installation, &flag);
    assert!(stdout.contains("https://flag.example") && !stdout.contains("env.example"), "{stdout}");
    let effective = installation.run_json(&["config", "check", "--json"]).to_string();
    assert!(effective.contains("https://env.example"), "{effective}");
}

#[test]
fn unknown_and_invalid_settings_are_errors() {
    for (variable, value) in [
        ("IDGATE_LISTEN", "8080"),
        ("IDGATE_LISTEN", "0.0.0.0:8080"), // not loopback, and no TLS in front
        ("IDGATE_BASE_URL", "http://gateway.example"),
        ("IDGATE_BASE_URL", "https://gateway.example/path"),
        ("IDGATE_BASE_URL", "https://gateway.example?q"),
        ("IDGATE_ENVIRONMENT", "prod"),
        ("IDGATE_RATE_LIMITS", "maybe"),
        ("IDGATE_TRUSTED_PROXIES", "10.0.0.0/33"),
        ("IDGATE_INSTANCE_KEY", "short"),
        ("OID4VP_REQUEST_MODE", "both"),
        ("IDGATE_PROFILES", "draft,2.0"),
        ("IDGATE_PROFILES", "haip,haip"),
        ("IDGATE_CLIENT_ID", "x509"),
        ("IDGATE_REQUEST_URI_METHOD", "POST"),
        ("IDGATE_RESPONSE_MODE", "fragment"),
        ("IDGATE_DC_API", "on"),
    ] {
        let installation = Installation::new().with(variable, value);
        for command in [&["config", "check"][..], &["serve"]] {
            let output = installation.run(command);
            assert!([ERROR, USAGE].contains(&output.code), "{variable}={value}: {output:?}");
            assert!(output.stderr.contains(variable), "{variable}={value}: {output:?}");
        }
    }
    let draft_alone = Installation::new().with("IDGATE_PROFILES", "draft");
    let checked = draft_alone.with("IDGATE_DC_API", "signed").run(&["config", "check"]);
    assert_eq!(checked.code, ERROR, "{checked:?}");
    assert!(checked.stderr.contains("IDGATE_DC_API"), "{checked:?}");
    let installation = Installation::new();
    let path = installation.file("idgate.toml", "bass_url = \"https://gateway.example\"\n");
    let output = installation.run(&["config", "check", "--config", path.to_str().unwrap()]);
    assert!([ERROR, USAGE].contains(&output.code), "{output:?}");
    assert!(output.stderr.contains("bass_url"), "{output:?}");
    // Other programs may have variables with this prefix, so these are named but accepted.
    let output = Installation::new().with("IDGATE_BASE_URI", "x").run(&["config", "check"]);
    let told = output.stdout + &output.stderr;
    assert!(told.lines().any(|line| line.contains("IDGATE_BASE_URI")), "{told}");
}

#[test]
fn secrets_are_read_from_files_and_never_printed() {
    let key = "c2VudGluZWwgc2VudGluZWwgc2VudGluZWwgc2VudGk="; // 32 bytes
    let installation = Installation::new();
    let path = installation.file("instance.key", format!("{key}\n"));
    let given =
        [("IDGATE_INSTANCE_KEY", key), ("IDGATE_INSTANCE_KEY_FILE", path.to_str().unwrap())];
    for (variable, value) in given {
        let installation = Installation::new().with(variable, value);
        for arguments in [&["config", "check"][..], &["config", "check", "--json"]] {
            let output = installation.run(arguments);
            assert_eq!(output.code, OK, "{output:?}");
            assert!(output.stdout.contains("***") && !output.stdout.contains("c2Vu"), "{output:?}");
            assert!(!output.stderr.contains("c2Vu"), "{output:?}");
        }
        // It is the key in use: none is generated.
        installation.serve();
        let generated = crate::disk::files(&installation.data_dir());
        let is_key = |file: &&std::path::PathBuf| file.extension().is_none_or(|e| e == "key");
        assert_eq!(generated.iter().find(is_key).filter(|file| names_a_key(file)), None);
    }
    let both = given.into_iter().fold(Installation::new(), |i, (name, value)| i.with(name, value));
    assert_eq!(both.run(&["config", "check"]).code, ERROR);
}

fn names_a_key(file: &Path) -> bool {
    file.file_name().is_some_and(|name| name.to_string_lossy().contains("key"))
}

#[cfg(unix)]
#[test]
fn only_the_owner_can_read_the_data_directory() {
    use std::os::unix::fs::PermissionsExt;
    let installation = Installation::new();
    let _server = installation.serve();
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&installation.data_dir()), 0o700);
    let files = crate::disk::files(&installation.data_dir());
    for part in ["key", ".db", "-wal", "-shm"] {
        let named = |file: &Path| file.to_string_lossy().ends_with(part);
        assert!(files.iter().any(|file| named(file)), "no {part} in {files:?}");
    }
    for file in files {
        assert_eq!(mode(&file), 0o600, "{}", file.display());
    }
}

#[cfg(unix)]
#[test]
fn a_data_directory_readable_by_others_causes_a_warning() {
    use std::os::unix::fs::PermissionsExt;
    let installation = Installation::new();
    installation.create_client("shop", true);
    assert_eq!(installation.run(&["config", "check"]).stderr, "");
    let open = |path: &Path, mode| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    open(&installation.data_dir(), 0o755);
    open(&installation.data_dir().join("instance.key"), 0o640);
    for command in [&["config", "check"][..], &["client", "list"]] {
        let output = installation.run(command);
        assert_eq!(output.code, OK);
        assert_eq!(output.stderr.matches("can be read by others").count(), 2, "{output:?}");
    }
}

#[test]
fn read_only_commands_create_no_data_directory() {
    for command in [
        &["client", "list", "--json"][..],
        &["client", "revoke", "cli_0000000000000000000000", "--json"],
        &["trust", "list", "--json"],
        &["trust", "show", ISSUER, "--json"],
        &["trust", "check", "--json"],
        &["trust", "remove", ISSUER, "--json"],
    ] {
        let installation = Installation::new();
        let output = installation.run(command);
        assert_eq!(output.code, ERROR, "{command:?}: {output:?}");
        assert!(text(&output.json(), "error").contains("no data directory"), "{output:?}");
        assert!(!installation.data_dir().exists(), "{command:?}");
    }
}

#[test]
fn with_json_a_failure_is_one_object() {
    let installation = Installation::new().with("IDGATE_LISTEN", "nonsense");
    for (command, code) in [
        (&["serve", "--json"][..], ERROR),
        (&["config", "check", "--json"], ERROR),
        (&["--json"], USAGE),
        (&["client", "create", "--json"], USAGE),
        (&["--json", "frobnicate"], USAGE),
        (&["trust", "add", ISSUER, "--iss", "", "--json"], USAGE),
        (&["trust", "add", ISSUER, "--claims", "given name", "--json"], USAGE),
    ] {
        let output = installation.run(command);
        assert_eq!(output.code, code, "{command:?}: {output:?}");
        assert_eq!(members(&output.json()), ["error"], "{command:?}");
        assert!(!text(&output.json(), "error").is_empty() && !output.stderr.is_empty());
    }
    // Server settings do not affect a command that does not use them.
    assert_eq!(installation.run(&["client", "create", "shop"]).code, OK);
}

#[test]
fn every_command_warns_of_misspelt_variables() {
    let installation = Installation::new().with("IDGATE_DATADIR", "x");
    for command in [&["client", "create", "shop"][..], &["trust", "list"], &["config", "check"]] {
        let output = installation.run(command);
        assert_eq!(output.code, OK, "{output:?}");
        assert_eq!(output.stderr.matches("IDGATE_DATADIR").count(), 1, "{output:?}");
    }
}

#[test]
fn a_captured_presentation_is_verified_offline() {
    let installation = Installation::new();
    let jwk = issuer_jwk(&installation);
    let capture = Capture::new(&installation);
    let good = capture.verify(&installation, &capture.nonce, &jwk, &[]);
    assert_eq!(good.code, OK, "{good:?}");
    for clause in ["RFC 9901 7.1 step 2", "RFC 9901 4.3.1", "OpenID4VP 14.1"] {
        assert!(good.stdout.contains(clause), "no {clause} in {}", good.stdout);
    }
    capture.verify(&installation, &capture.nonce, &jwk, &["--json"]).json();
    let other_nonce = capture.verify(&installation, "another-nonce", &jwk, &[]);
    assert_eq!(other_nonce.code, REFUSED, "{other_nonce:?}");
    assert!(other_nonce.stdout.contains("nonce_mismatch"), "{other_nonce:?}");
    // Checks that passed before it are shown as passed.
    assert!(other_nonce.stdout.contains("RFC 9901 7.1 step 2"), "{other_nonce:?}");
    let json = capture.verify(&installation, "another-nonce", &jwk, &["--json"]);
    assert_eq!(json.code, REFUSED);
    assert!(json.json().to_string().contains("nonce_mismatch"));
    let late =
        capture.verify(&installation, &capture.nonce, &jwk, &["--at", "2099-01-01T00:00:00Z"]);
    assert_eq!(late.code, REFUSED, "{late:?}");
    let stranger = SigningKey::from_seed(Curve::P256, "stranger").public_jwk();
    let stranger = installation.file("stranger.jwk.json", stranger.to_string());
    let forged = capture.verify(&installation, &capture.nonce, stranger.to_str().unwrap(), &[]);
    assert_eq!(forged.code, REFUSED, "{forged:?}");
    assert!(forged.stdout.contains("issuer_signature_invalid"), "{forged:?}");
}

#[test]
fn an_offline_verification_prints_no_claim_values() {
    let installation = Installation::new();
    let jwk = issuer_jwk(&installation);
    let capture = Capture::new(&installation);
    let refused = capture.verify(&installation, "another-nonce", &jwk, &[]);
    for value in ["Erika", "Mustermann", capture.nonce.as_str()] {
        assert!(!refused.stdout.contains(value) && !refused.stderr.contains(value), "{value}");
    }
}

/// A presentation in a file, and the request that it answers.
struct Capture {
    file: String,
    client_id: String,
    nonce: String,
}

impl Capture {
    fn new(installation: &Installation) -> Self {
        let response_uri = "https://gateway.example/v1/oid4vp/response/ses_1";
        let request = AuthorizationRequest {
            client_id: format!("redirect_uri:{response_uri}"),
            response_uri: response_uri.into(),
            nonce: "the-nonce-of-a-captured-request".into(),
            state: "s".repeat(43),
            definition_id: "definition".into(),
            descriptors: vec![idgate_testkit::request::InputDescriptor {
                id: "pid".into(),
                vct: vec![VCT.into()],
                claims: vec!["given_name".into(), "family_name".into()],
                name_space: None,
            }],
        };
        let answer = sample_wallet().answer(&request, now_ms()).unwrap();
        let file = installation.file("presentation.txt", &answer.presentations[0]);
        let AuthorizationRequest { client_id, nonce, .. } = request;
        Self { file: file.to_str().unwrap().into(), client_id, nonce }
    }

    fn verify(&self, installation: &Installation, nonce: &str, key: &str, more: &[&str]) -> Output {
        let arguments = [
            "verify",
            &self.file,
            "--format",
            "vc+sd-jwt",
            "--nonce",
            nonce,
            "--client-id",
            &self.client_id,
            "--issuer-key",
            key,
        ];
        installation.run(&[&arguments, more].concat())
    }
}

fn issuer_jwk(installation: &Installation) -> String {
    let jwk = samples::issuer_key(Curve::P256).public_jwk().to_string();
    installation.file("issuer.jwk.json", jwk).to_str().unwrap().into()
}

fn text(value: &Value, member: &str) -> String {
    value[member].as_str().unwrap_or_default().into()
}
