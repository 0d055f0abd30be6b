//! The folder of a sandbox: which folders qualify, what is kept from one start to the next, and
//! what it cannot be used for.

use std::collections::BTreeMap;
use std::path::Path;

use super::*;
use crate::stores;

/// The files of a folder and their contents.
fn listing(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = std::fs::read_dir(folder).unwrap().map(Result::unwrap);
    let of = |entry: std::fs::DirEntry| {
        let name = entry.file_name().into_string().unwrap();
        (name, std::fs::read(entry.path()).unwrap_or_default())
    };
    entries.map(of).collect()
}

fn kept(folder: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(folder.join("sandbox.json")).unwrap()).unwrap()
}

#[test]
fn a_gateways_folder_cannot_become_a_sandbox() {
    let installation = Installation::in_directory();
    installation.create_client("shop", false);
    let folder = installation.data_dir();
    let temporary = tempfile::TempDir::new().unwrap();
    // The gateway's own CA.
    std::fs::write(folder.join("ca.pem"), "ours").unwrap();
    let before = listing(&folder);
    let flags = ["--data-dir", folder.to_str().unwrap()];
    let refused = output(&mut command(&installation, &temporary, &flags));
    assert_eq!(refused.code, 1, "{refused:?}");
    assert!(refused.stderr.contains("is a gateway's data directory"), "{refused:?}");
    assert_eq!(listing(&folder), before, "nothing in it was touched");
}

#[test]
fn keys_are_printed_once_and_the_folder_is_reused() {
    let kept = tempfile::TempDir::new().unwrap();
    let folder = kept.path().join("sandbox");
    let flags = ["--data-dir", folder.to_str().unwrap()];
    let first = Sandbox::with(&flags);
    let (api_key, client_id) =
        (first.text("api_key").to_owned(), first.text("client_id").to_owned());
    assert!(api_key.starts_with("sk_test_"));
    drop(first);
    let second = Sandbox::with(&flags);
    assert_eq!(second.text("client_id"), client_id);
    for secret in ["api_key", "signing_secret"] {
        assert_eq!(second.told[secret], Value::Null, "{}", second.told);
    }
    let mut tenant = Tenant { http: Http::new(second.gateway()), api_key };
    let made = tenant.create(&request("vc+sd-jwt", "eu-pid", "1.0"));
    let answered = second.wallet(&[&made.uri, "--data-dir", folder.to_str().unwrap()]);
    assert_eq!(answered.code, 0, "{answered:?}");
    assert_eq!(outcome(&tenant.read(&made.id)), "VERIFIED");
}

#[test]
fn a_failed_first_start_can_be_repeated() {
    let parent = tempfile::TempDir::new().unwrap();
    let folder = parent.path().join("sandbox");
    let flags = ["--data-dir", folder.to_str().unwrap()];
    let outside = ["--base-url", "https://a.example", "--behind-tls-proxy", "true"];
    let outside = [&flags[..], &["--listen", "0.0.0.0:0"], &outside].concat();
    let installation = Installation::in_directory();
    let refused = output(&mut command(&installation, &parent, &outside));
    assert!(refused.code == 1 && refused.stderr.contains("use --lan"), "{refused:?}");
    assert!(folder.join("sandbox.json").exists());
    let first = Sandbox::with(&flags);
    assert!(first.text("api_key").starts_with("sk_test_"));
    drop(first);
    // The client was created, and the process ended before storing its keys.
    let mut half = kept(&folder);
    for member in ["client_id", "api_key", "signing_secret"] {
        half[member] = "".into();
    }
    half["shown"] = false.into();
    std::fs::write(folder.join("sandbox.json"), half.to_string()).unwrap();
    let second = Sandbox::with(&flags);
    let made = second.tenant().create(&request("vc+sd-jwt", "eu-pid", "1.0"));
    assert_eq!(outcome(&second.tenant().read(&made.id)), "PENDING");
}

fn endpoint(sandbox: &Sandbox, api_key: &str, put: Option<&str>) -> String {
    const PATH: &str = "/v1/webhook-endpoint";
    let request = match put {
        Some(url) => Request::new("PUT", PATH).json(&json!({ "url": url })),
        None => Request::get(PATH),
    };
    let answer = Http::new(sandbox.gateway()).send(&request.bearer(api_key)).expect_status(200);
    answer.json()["url"].as_str().unwrap().to_owned()
}

#[test]
fn the_sandbox_receiver_follows_its_port_and_a_developers_endpoint_stays() {
    let parent = tempfile::TempDir::new().unwrap();
    let folder = parent.path().join("sandbox");
    let flags = ["--data-dir", folder.to_str().unwrap()];
    let first = Sandbox::with(&flags);
    let api_key = first.text("api_key").to_owned();
    let own = |sandbox: &Sandbox| format!("http://{}/webhooks", sandbox.page());
    assert_eq!(endpoint(&first, &api_key, None), own(&first));
    // Keeps the port from the next one.
    let taken = first.page();
    drop(first);
    let keeps = std::net::TcpListener::bind(taken).unwrap();
    let second = Sandbox::with(&flags);
    assert_ne!(second.page(), taken);
    assert_eq!(endpoint(&second, &api_key, None), own(&second));
    // A developer's service may have the same path.
    // reason: only a name, to which nothing is sent
    let theirs = "http://127.0.0.1:3000/webhooks";
    endpoint(&second, &api_key, Some(theirs));
    drop(second);
    let third = Sandbox::with(&flags);
    assert_eq!(endpoint(&third, &api_key, None), theirs);
    drop(keeps);
}

#[test]
fn the_second_start_says_where_the_key_is_and_its_curl_works_with_it() {
    let parent = tempfile::TempDir::new().unwrap();
    let folder = parent.path().join("sandbox");
    let flags = ["--data-dir", folder.to_str().unwrap()];
    drop(Sandbox::with(&flags));
    let installation = Installation::in_directory();
    let own = ["sandbox", "--page-listen", "127.0.0.1:0", "--https-listen", "127.0.0.1:0"];
    let mut command = installation.command(&[&own[..], &flags].concat());
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut told = String::new();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    while !told.contains("listening on") {
        assert_ne!(stdout.read_line(&mut told).unwrap(), 0, "{told}");
    }
    assert!(told.contains(folder.join("sandbox.json").to_str().unwrap()), "{told}");
    let curl = told.split_once("curl ").unwrap().1.split_once("\n\n").unwrap().0;
    let api_key = kept(&folder)["api_key"].as_str().unwrap().to_owned();
    let asked = Command::new("sh")
        .args(["-c", &format!("curl {curl}")])
        .env("API_KEY", api_key)
        .output()
        .unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    let session: Value = serde_json::from_slice(&asked.stdout).unwrap_or_default();
    assert!(session["session_id"].is_string(), "{asked:?}");
}

#[test]
fn production_and_staging_refuse_a_sandbox_folder() {
    let parent = tempfile::TempDir::new().unwrap();
    let folder = parent.path().join("sandbox");
    drop(Sandbox::with(&["--data-dir", folder.to_str().unwrap()]));
    let gateway = |environment: &str| {
        Installation::in_directory()
            .with("IDGATE_ENVIRONMENT", environment)
            .with("IDGATE_BASE_URL", "https://gateway.example")
            .with("IDGATE_BEHIND_TLS_PROXY", "true")
            .with("IDGATE_DATA_DIR", folder.to_str().unwrap())
    };
    for environment in ["production", "staging"] {
        for command in [&["serve"][..], &["config", "check"]] {
            let refused = gateway(environment).run(command);
            assert_eq!(refused.code, 1, "{environment} {command:?}: {refused:?}");
            assert!(refused.stderr.contains("is the folder of a sandbox"), "{refused:?}");
        }
    }
    assert_eq!(gateway("development").run(&["config", "check"]).code, 0);
}

/// From the database any gateway would serve it.
#[test]
fn a_sandbox_folder_cannot_be_copied_into_a_database() {
    let Some(database) = stores::migrated() else { return };
    let parent = tempfile::TempDir::new().unwrap();
    let folder = parent.path().join("sandbox");
    drop(Sandbox::with(&["--data-dir", folder.to_str().unwrap()]));
    let installation = Installation::on(&database);
    let refused = installation.run(&["copy", "--from", folder.to_str().unwrap()]);
    assert_eq!(refused.code, 1, "{refused:?}");
    assert!(refused.stderr.contains("is the folder of a sandbox"), "{refused:?}");
    let clients = installation.run_json(&["client", "list", "--json"]);
    assert_eq!(clients["clients"], json!([]));
}

#[test]
fn roots_added_by_the_operator_are_trusted_as_well() {
    let parent = tempfile::TempDir::new().unwrap();
    let folder = parent.path().join("sandbox");
    let installation = Installation::in_directory();
    let of = |given: &Path| {
        ["--data-dir", folder.to_str().unwrap(), "--extra-ca-file", given.to_str().unwrap()]
            .map(String::from)
    };
    let empty = installation.file("empty.pem", "no certificate");
    for (given, why) in [(&*empty, "holds no certificate"), (Path::new("/none.pem"), "/none.pem")] {
        let flags = of(given);
        let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
        let refused = output(&mut command(&installation, &parent, &flags));
        assert_eq!(refused.code, 1, "{refused:?}");
        assert!(refused.stderr.contains("IDGATE_EXTRA_CA_FILE"), "{refused:?}");
        assert!(refused.stderr.contains(why), "{refused:?}");
    }
    // The CA of another sandbox.
    let other = Sandbox::start();
    let theirs = other.get("/files/ca.pem").body;
    let flags = of(&installation.file("theirs.pem", &theirs));
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    let sandbox = Sandbox::with(&flags);
    let own = sandbox.get("/files/ca.pem").body;
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap();
    assert_eq!(read("sandbox-ca.pem"), own, "what is brought to a phone is the sandbox's alone");
    // It has followed its own lists with this file, or it would not have started.
    let both = read("sandbox-ca-and-given.pem");
    assert!(both.contains(own.trim()) && both.contains(theirs.trim()), "{both}");
}
