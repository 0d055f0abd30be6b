//! First steps with `serve` and the commands: one rule for base URLs, both addresses in the log,
//! missing settings, and the choice of the data directory.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use idgate_testkit::samples::{ISSUER, VCT};
use serde_json::Value;

use crate::http::{Http, Request};
use crate::server::{Client, Installation, Output, bound_to};
use crate::tenant::{Tenant, request_for, sample_trust};

const REPOSITORY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// A command in `folder` that finds the data directory only by its arguments.
fn bare(installation: &Installation, folder: &Path, arguments: &[&str]) -> Command {
    let mut command = installation.command(arguments);
    command.env_remove("IDGATE_DATA_DIR").current_dir(folder);
    command
}

fn run(mut command: Command) -> Output {
    let output = command.output().unwrap();
    Output {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

fn folder(installation: &Installation, name: &str) -> PathBuf {
    let path = installation.data_dir().with_file_name(name);
    fs::create_dir(&path).unwrap();
    path
}

#[test]
fn config_check_and_serve_accept_the_same_base_urls() {
    for (url, is_good) in [
        ("https://gateway.example", true),
        ("https://Gateway.example/", true),
        ("http://localhost:99", true),
        ("http://127.0.0.1:99", true),
        ("http://[::1]:99", true),
        ("http://foo.localhost:99", false),
        ("http://localhost.:99", false),
        ("http://gateway.example", false),
        ("http://[::ffff:127.0.0.1]:99", false),
        ("https://gateway.example//", false),
        ("https://gateway.example\\v1", false),
        ("https://user@gateway.example", false),
        ("https://gateway.example:99999", false),
        ("https://gate way.example", false),
    ] {
        let installation = Installation::new().with("IDGATE_BASE_URL", url);
        let checked = installation.run(&["config", "check"]);
        assert_eq!(checked.code, i32::from(!is_good), "{url}: {checked:?}");
        if is_good {
            let server = installation.serve();
            assert!(checked.stdout.contains(&server.base_url), "{url}: {checked:?}");
        } else {
            let served = installation.run(&["serve"]);
            assert_eq!(served.code, 1, "{url}: {served:?}");
            assert_eq!(served.stderr, checked.stderr, "{url}");
            assert!(served.stderr.contains("IDGATE_BASE_URL"), "{url}: {served:?}");
        }
    }
    // The same rule applies to a base URL that is derived from the listen address.
    let mapped = Installation::new().with("IDGATE_LISTEN", "[::ffff:127.0.0.1]:0");
    for command in [&["config", "check"][..], &["serve"]] {
        let output = mapped.run(command);
        assert_eq!(output.code, 1, "{output:?}");
        assert!(output.stderr.contains("IDGATE_BASE_URL"), "{output:?}");
    }
}

#[test]
fn serve_logs_its_listen_address_and_base_url() {
    let installation = Installation::new().with("IDGATE_BASE_URL", "https://gw.example");
    let server = installation.serve();
    assert_eq!(server.base_url, "https://gw.example");
    let log = installation.log();
    assert!(log.contains("https://gw.example"), "{log}");
    let address = bound_to(&log).unwrap();
    assert!(address.ip().is_loopback() && address.port() != 0, "{address}");
    Http::new(address).send(&Request::get("/healthz")).expect_status(200);
    server.terminate();
    let (status, rest) = server.wait();
    assert!(status.success());
    assert_eq!(rest, "", "stdout has one line");
}

#[test]
fn serve_names_missing_settings_and_the_command_for_each() {
    let installation = Installation::new();
    // How many lines name each command, with one more start.
    let named = || {
        let _server = installation.serve();
        let log = installation.log();
        ["idgate client create", "idgate trust add"]
            .map(|command| log.lines().filter(|line| line.contains(command)).count())
    };
    assert_eq!(named(), [1, 1], "{}", installation.log());
    let made = installation.create_client("shop", true);
    assert_eq!(named(), [1, 2], "{}", installation.log());
    installation.trust(&sample_trust(), &[]);
    assert_eq!(named(), [1, 2], "{}", installation.log());
    // A revoked client does not count.
    installation.run_json(&["client", "revoke", &made.client_id, "--json"]);
    assert_eq!(named(), [2, 2], "{}", installation.log());
}

/// The shipped systemd unit and its settings, on a machine whose root is the installation's folder.
struct Unit {
    environment: Vec<(String, String)>,
    config: PathBuf,
}

impl Unit {
    fn installed(on: &Installation) -> Self {
        let root = on.data_dir().parent().unwrap().to_owned();
        let shipped = |name: &str| {
            let text = fs::read_to_string(format!("{REPOSITORY}/examples/deploy/{name}")).unwrap();
            let at = |path: &str| root.join(path).to_str().unwrap().to_owned();
            text.replace("/etc/idgate", &at("etc"))
                .replace("/var/lib/idgate", &at("state"))
                .replace("%S/idgate", &at("state"))
                .replace("%d/instance.key", &at("etc/instance.key"))
        };
        let (etc, state) = (folder(on, "etc"), folder(on, "state"));
        assert!(state.is_dir(), "as StateDirectory makes it");
        let key = "c2VudGluZWwgc2VudGluZWwgc2VudGluZWwgc2VudGk=\n";
        fs::write(etc.join("instance.key"), key).unwrap();
        let config = etc.join("idgate.toml");
        fs::write(&config, shipped("idgate.toml")).unwrap();
        let unit = shipped("idgate.service");
        let start = unit.lines().find_map(|line| line.strip_prefix("ExecStart=")).unwrap();
        let words: Vec<&str> = start.split(' ').skip(1).collect();
        assert_eq!(words, ["--config", config.to_str().unwrap(), "serve"]);
        let pairs = unit.lines().filter_map(|line| line.strip_prefix("Environment="));
        let pairs = pairs.filter_map(|pair| pair.split_once('='));
        let environment = pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        Self { environment, config }
    }
}

#[test]
fn commands_find_the_directory_of_the_gateway_that_the_unit_runs() {
    let installation = Installation::new();
    let unit = Unit::installed(&installation);
    let config = unit.config.to_str().unwrap();
    let arguments = |words: &[&str]| -> Vec<String> {
        ["--config", config].iter().chain(words).map(|word| (*word).to_owned()).collect()
    };
    let command = |at: &Path, words: &[&str]| {
        let words = arguments(words);
        bare(&installation, at, &words.iter().map(String::as_str).collect::<Vec<_>>())
    };
    // The service starts in the root directory; an operator may work anywhere.
    let mut serve = command(Path::new("/"), &["serve"]);
    serve.envs(unit.environment.iter().map(|(name, value)| (name, value)));
    let server = installation.serve_by(serve);
    let desk = folder(&installation, "desk");
    let jwk = installation.file("issuer.jwk.json", sample_trust().keys[0].to_string());
    let trusted = ["trust", "add", ISSUER, "--jwk", jwk.to_str().unwrap(), "--vct", VCT];
    assert_eq!(run(command(&desk, &trusted)).code, 0);
    let made = run(command(&desk, &["client", "create", "shop", "--json"]));
    assert_eq!(made.code, 0, "{made:?}");
    assert_eq!(fs::read_dir(&desk).unwrap().count(), 0, "nothing is made where it was called");
    let client = Client::of(&made.json());
    let mut tenant = Tenant { http: Http::new(server.address), api_key: client.api_key };
    tenant.create(&request_for(&["given_name"]));
}

#[test]
fn a_settings_file_without_a_data_directory_creates_none() {
    let installation = Installation::new();
    let desk = folder(&installation, "desk");
    let file = installation.file("idgate.toml", "log = \"info\"\n");
    let file = file.to_str().unwrap();
    let jwk = installation.file("issuer.jwk.json", sample_trust().keys[0].to_string());
    for words in [
        &["client", "create", "shop", "--json"][..],
        &["admin-token", "create", "--json"],
        &["trust", "add", ISSUER, "--jwk", jwk.to_str().unwrap(), "--json"],
        &["webhook-host", "approve", "shop.example", "--json"],
    ] {
        let output = run(bare(&installation, &desk, &[&["--config", file], words].concat()));
        assert_eq!(output.code, 1, "{output:?}");
        let error = output.json()["error"].as_str().unwrap_or_default().to_owned();
        assert!(error.contains("data_dir") && error.contains(file), "{error}");
        assert_eq!(fs::read_dir(&desk).unwrap().count(), 0, "{words:?}");
    }
    // A directory named by flag, environment or file is created; an existing one is found.
    let create = ["client", "create", "shop", "--json", "--config", file];
    let named = run(bare(&installation, &desk, &[&create[..], &["--data-dir", "named"]].concat()));
    assert_eq!(named.code, 0, "{named:?}");
    let mut by_variable = bare(&installation, &desk, &create);
    by_variable.env("IDGATE_DATA_DIR", "by-variable");
    assert_eq!(run(by_variable).code, 0);
    fs::rename(desk.join("named"), desk.join("idgate-data")).unwrap();
    assert_eq!(run(bare(&installation, &desk, &create)).code, 0);
    let listed = run(bare(&installation, &desk, &["client", "list", "--json"]));
    assert_eq!(listed.json()["clients"].as_array().map(Vec::len), Some(2), "{listed:?}");
}

#[test]
fn the_first_command_creates_and_names_the_directory_that_serve_uses() {
    let installation = Installation::new();
    let desk = folder(&installation, "desk");
    let made = run(bare(&installation, &desk, &["client", "create", "shop", "--test", "--json"]));
    assert_eq!(made.code, 0, "{made:?}");
    let directory = desk.join("idgate-data");
    assert!(made.stderr.contains(directory.to_str().unwrap()), "{made:?}");
    let again = run(bare(&installation, &desk, &["client", "create", "bar", "--test", "--json"]));
    assert!(!again.stderr.contains("new data directory"), "{again:?}");
    let server = installation.serve_by(bare(&installation, &desk, &["serve"]));
    let api_key = Client::of(&made.json()).api_key;
    let mut tenant = Tenant { http: Http::new(server.address), api_key };
    // No issuer is trusted, but the key is accepted.
    tenant.post_session(&request_for(&["given_name"])).expect_error(400, "unknown_issuer");
}

#[test]
fn a_second_client_with_the_same_name_causes_a_warning() {
    let installation = Installation::new();
    let create = |name: &str| {
        let output = installation.run(&["client", "create", name, "--json"]);
        assert_eq!(output.code, 0, "{output:?}");
        (Client::of(&output.json()).client_id, output.stderr)
    };
    let (first, silent) = create("shop");
    assert!(!silent.contains("another client"), "{silent}");
    let (second, told) = create("shop");
    assert_ne!(first, second);
    assert_eq!(told.matches("another client named shop").count(), 1, "{told}");
    assert!(told.contains(&first), "{told}");
    assert!(!create("bar").1.contains("another client"));
    for id in [&first, &second] {
        installation.run_json(&["client", "revoke", id, "--json"]);
    }
    assert!(!create("shop").1.contains("another client"), "those of that name are revoked");
}

#[test]
fn settings_are_listed_by_help_settings_and_under_no_command() {
    let installation = Installation::new();
    let told = installation.run(&["help", "settings"]);
    assert_eq!((told.code, &*told.stderr), (0, ""), "{told:?}");
    let listed = installation.run_json(&["help", "settings", "--json"]);
    let checked = installation.run_json(&["config", "check", "--json"]);
    let names = |value: &Value| -> Vec<String> {
        let rows = value["settings"].as_array().unwrap();
        rows.iter().map(|row| row["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names(&listed), names(&checked));
    for row in listed["settings"].as_array().unwrap() {
        for member in ["name", "flag", "help"] {
            let text = row[member].as_str().unwrap();
            assert!(told.stdout.contains(text), "{text} in {}", told.stdout);
        }
    }
    for command in [
        &["--help"][..],
        &["serve", "--help"],
        &["client", "create", "--help"],
        &["help", "trust", "add"],
        &["config", "check", "-h"],
    ] {
        let help = installation.run(command);
        assert_eq!(help.code, 0, "{command:?}: {help:?}");
        assert!(!help.stdout.contains("IDGATE_"), "{command:?}: {}", help.stdout);
        assert!(help.stdout.contains("idgate help settings"), "{command:?}: {}", help.stdout);
    }
    // They work as flags nevertheless.
    let flag = installation.run(&["config", "check", "--log", "debug"]);
    assert!(flag.stdout.contains("IDGATE_LOG = debug  (flag --log)"), "{flag:?}");
}
