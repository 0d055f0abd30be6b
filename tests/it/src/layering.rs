//! The allowed dependencies of the library, the allowed imports between its parts, and the tables
//! that outside users rely on.

mod imports;
mod tables;
mod tokens;

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use idgate_core::error::Check;
use idgate_core::{ErrorCode, Reason};

use self::imports::{Imports, is_one_family};
use self::tables::{BASE, C_ABI, CORE, FETCH, Layers, SANDBOX, SERVER, STORE};

/// IO, runtimes, clocks, randomness, the operating system, and other implementations of what the
/// library implements. `aws-lc-rs` brings C code, so it needs a target with a C compiler.
const NOT_IN_CORE: [&str; 24] = [
    "tokio",
    "mio",
    "hyper",
    "rusqlite",
    "socket2",
    "clap",
    "getrandom",
    "rand",
    "libc",
    "windows-sys",
    "axum",
    "chrono",
    "rustix",
    "log",
    "tracing",
    "wasm-bindgen",
    "web-time",
    "ssi",
    "isomdl",
    "sd-jwt-rs",
    "sd-jwt-payload",
    "reqwest",
    "async-std",
    "tracing-subscriber",
];

/// Implementations of a provider's tasks. SHA-1, which only names keys, is not one of them.
const CRYPTOGRAPHY: [&str; 15] = [
    "aes",
    "aes_gcm",
    "aws_lc_rs",
    "bp256",
    "bp384",
    "cbc",
    "ecdsa",
    "hmac",
    "p256",
    "p384",
    "p521",
    "primefield",
    "primeorder",
    "rsa",
    "sha2",
];

/// The files that implement a provider, and a signer that callers may use instead of their own.
const BACK_ENDS: [&str; 9] = [
    "crypto::aws_lc_rs",
    "crypto::aws_lc_rs::agreement",
    "crypto::aws_lc_rs::content",
    "crypto::brainpool_p512",
    "crypto::certificate_keys",
    "crypto::es256",
    "crypto::rustcrypto",
    "crypto::rustcrypto::agreement",
    "crypto::rustcrypto::content",
];

/// Decisions 16, 20 and 25: `error`.
const ERRORS: &str = "invalid_request, invalid_json, unknown_field, unknown_issuer, \
    unsupported_format, invalid_cursor, invalid_limit, invalid_webhook_endpoint, invalid_scopes, \
    invalid_expiry, invalid_api_key, invalid_admin_token, insufficient_scope, not_found, \
    method_not_allowed, session_not_pending, invalid_response, state_mismatch, decryption_failed, \
    invalid_presentation, payload_too_large, rate_limited, temporarily_unavailable, \
    internal_error, metrics_unavailable, quota_exceeded, \
    unsupported_profile";

/// Decisions 16, 20 and 32: `reason` and `error_code`.
const REASONS: &str = "issuer_signature_invalid, untrusted_issuer, chain_invalid, \
    certificate_expired, certificate_revoked, revocation_unknown, credential_expired, \
    credential_not_yet_valid, credential_revoked, credential_suspended, holder_binding_missing, \
    holder_binding_invalid, nonce_mismatch, audience_mismatch, kb_jwt_stale, sd_hash_mismatch, \
    digest_mismatch, device_auth_invalid, doc_type_mismatch, type_mismatch, \
    algorithm_not_allowed, claim_missing, claim_filter_mismatch, subject_mismatch, \
    submission_mismatch, malformed_presentation, limit_exceeded, wallet_error, session_expired, \
    transaction_data_mismatch, client_revoked, cancelled";

#[test]
fn core_depends_on_no_io_runtime_randomness_or_system() {
    // Randomness only with the feature that names it.
    assert!(dependencies("idgate-core", "rustcrypto,os-entropy").contains("getrandom"));
    for features in ["", "rustcrypto", "aws-lc-rs"] {
        let crates = dependencies("idgate-core", features);
        assert!(crates.contains("idgate-core") && crates.contains("zeroize"), "{crates:?}");
        let found: Vec<&str> =
            NOT_IN_CORE.into_iter().filter(|name| crates.contains(*name)).collect();
        assert!(found.is_empty(), "with {features}: {found:?}");
    }
}

/// The production program has neither a sample issuer, whose keys anyone can read, nor test
/// fixtures.
#[test]
fn the_program_without_its_sandbox_has_no_sample_issuers() {
    let of_samples = ["idgate-testkit", "idgate-sandbox", "tempfile"];
    let production = dependencies("idgate-program", "");
    assert!(production.contains("idgate-server"), "{production:?}");
    let found: Vec<&str> =
        of_samples.into_iter().filter(|name| production.contains(*name)).collect();
    assert!(found.is_empty(), "{found:?}");
    let whole = dependencies("idgate-program", "sandbox");
    assert!(whole.contains("idgate-sandbox") && whole.contains("idgate-testkit"), "{whole:?}");
    let with_fixtures = features_of("idgate-program", "sandbox");
    let with_fixtures = with_fixtures.lines().filter(|line| line.contains("\"fixtures\""));
    assert_eq!(with_fixtures.count(), 0, "fixtures of tests are in the program");
}

/// The sources of the other crates do not mention the issuer for phones: no path, no grant, no
/// type.
#[test]
fn the_program_without_its_sandbox_has_no_issuer() {
    const WORDS: [&str; 5] =
        ["openid-credential", "openid4vci", "pre-authorized", "/vci", "c_nonce"];
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    for (name, folder) in FOLDERS {
        let sources = imports::files_of(&root.join(folder).join("src"));
        let has_word = |text: &String| WORDS.iter().any(|word| text.contains(word));
        let found: Vec<_> = sources.iter().filter(|(_, text)| has_word(text)).collect();
        let found: Vec<_> = found.iter().map(|(path, _)| path.display().to_string()).collect();
        match name {
            "idgate_sandbox" => assert!(found.len() > 5, "{found:?}"),
            _ => assert_eq!(found, Vec::<String>::new(), "{name}"),
        }
    }
}

#[test]
fn the_modules_of_core_import_downwards() {
    check_layers("idgate_core", CORE);
}

#[test]
fn the_files_of_the_fetcher_import_downwards_and_nothing_of_the_server() {
    check_layers("idgate", FETCH);
    let crates = dependencies("idgate", "");
    assert!(crates.contains("rustls") && crates.contains("idgate-core"), "{crates:?}");
    for other in ["idgate-server", "idgate-testkit", "rusqlite", "clap", "reqwest"] {
        assert!(!crates.contains(other), "{other}");
    }
}

#[test]
fn the_folders_of_the_server_import_downwards() {
    check_layers("idgate_base", BASE);
    check_layers("idgate_store", STORE);
    check_layers("idgate_server", SERVER);
    check_layers("idgate_sandbox", SANDBOX);
    let server = imports_of("idgate_server");
    let arrows = server.between_tops();
    let importers = arrows.keys().filter(|(from, to)| *to == "admin" && *from != "crate");
    let importers: Vec<_> = importers.collect();
    assert!(importers.is_empty(), "{importers:?}");
}

/// Each crate of the server must not use certain others.
#[test]
fn the_crates_of_the_server_depend_only_on_lower_crates() {
    for (name, others) in [
        ("idgate-base", &["idgate", "idgate-store", "rusqlite", "hyper", "clap"][..]),
        ("idgate-store", &["idgate", "idgate-server", "hyper", "clap", "idgate-testkit"]),
        ("idgate-server", &["idgate-sandbox", "idgate-testkit", "mimalloc"]),
    ] {
        let crates = dependencies(name, "");
        assert!(crates.contains("idgate-core"), "{name}: {crates:?}");
        let found: Vec<&&str> = others.iter().filter(|other| crates.contains(**other)).collect();
        assert!(found.is_empty(), "{name}: {found:?}");
    }
    // Only the store has the database drivers.
    for name in ["idgate_server", "idgate_base", "idgate_sandbox", "idgate_program"] {
        let users = imports_of(name);
        let users = users.of_crates(&["rusqlite", "tokio_postgres", "deadpool_postgres"]);
        assert!(users.is_empty(), "{name}: {users:?}");
    }
}

/// Files and folders of the store that combine its two databases.
const BOTH_DATABASES: [&str; 7] =
    ["crate", "audit_append", "copy", "db", "examine_database", "gateway", "operator"];

#[test]
fn the_two_database_modules_are_independent_and_shared_code_uses_neither() {
    const DATABASES: [&str; 2] = ["sqlite", "postgres"];
    let store = imports_of("idgate_store");
    let is_in = |file: &str, folder: &str| {
        file.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
    };
    let of_both = |file: &str| BOTH_DATABASES.iter().any(|folder| is_in(file, folder));
    let mut wrong = Vec::new();
    for (file, imports) in store.own.iter().filter(|(file, _)| !of_both(file)) {
        for database in DATABASES.iter().filter(|database| !is_in(file, database)) {
            let known = imports.iter().filter(|to| is_in(to, database));
            wrong.extend(known.map(|to| format!("{file} -> {to}")));
        }
    }
    // A temporary store uses SQLite.
    wrong.retain(|arrow| !arrow.starts_with("fixtures -> "));
    assert!(wrong.is_empty(), "{wrong:#?}");
    // Columns and parameters have a type in each database.
    let of_drivers = ["db", "columns", "copy", "copy::source", "fixtures"];
    for (database, drivers) in
        DATABASES.into_iter().zip([&["rusqlite"][..], &["tokio_postgres", "deadpool_postgres"]])
    {
        let mut users = store.of_crates(drivers);
        assert!(users.iter().any(|file| is_in(file, database)), "{database}");
        users.retain(|file| !is_in(file, database) && !of_drivers.contains(file));
        // The driver parses addresses.
        users.retain(|file| !["address", "postgres_statements"].contains(file));
        assert!(users.is_empty(), "{database}: {users:?}");
    }
}

#[test]
fn the_files_of_the_c_abi_import_downwards() {
    check_layers("idgate_ffi", C_ABI);
}

#[test]
fn cryptography_is_called_through_the_provider() {
    let found: Vec<String> =
        imports_of("idgate_core").of_crates(&CRYPTOGRAPHY).into_iter().map(String::from).collect();
    assert_eq!(found, BACK_ENDS, "these call a crate of cryptography themselves");
}

/// Only the gateway is limited to Unix. A lower crate marks differences with `cfg`.
#[test]
fn only_the_server_depends_on_one_operating_system() {
    for name in ["idgate_core", "idgate", "idgate_ffi"] {
        let imports = imports_of(name);
        let found = imports.of_crates(&["std::os", "std::arch", "libc", "winapi"]);
        assert!(found.is_empty(), "{name}: {found:?}");
    }
    assert!(!imports_of("idgate_server").of_crates(&["std::os::unix"]).is_empty());
}

#[test]
fn a_module_import_is_found_in_every_spelling() {
    for (code, found) in [
        ("use std::os::unix::fs::MetadataExt as _;", true),
        ("use std::{fs, os::{fd, unix::fs::chown}};", true),
        ("fn f() { std::os::unix::fs::chown() }", true),
        ("use std::os;", true),
        ("use std::oss; // std::os", false),
    ] {
        let imports = Imports::of_sources("x", &[("crate".into(), code.into())]);
        assert_eq!(!imports.of_crates(&["std::os"]).is_empty(), found, "{code}");
    }
}

#[test]
fn a_crate_import_is_found_in_every_spelling() {
    for (code, found) in [
        ("use sha2::{Digest as _, Sha256};", true),
        ("pub(crate) use ::sha2::Digest;", true),
        ("use {crate::d, sha2::Digest as Other};", true),
        ("extern crate sha2 as other;", true),
        ("fn f<D: sha2::Digest>() {}", true),
        ("fn f() -> [u8; 32] { ::sha2::Sha256::digest(b\"\").into() }", true),
        ("use crate::sha2::Digest; fn f() { self::sha2::g(sha2) } // sha2::Digest", false),
        ("#[cfg(test)]\nmod tests { use sha2::Digest; }", false),
    ] {
        let sources = [("a".into(), code.into()), ("crate".into(), String::new())];
        let imports = Imports::of_sources("sample", &sources);
        assert_eq!(imports.of_crates(&["sha2"]).contains("a"), found, "{code}");
    }
}

#[test]
fn no_cycle_of_files_is_larger_than_a_module_and_its_children() {
    let crates = FOLDERS.map(|(name, _)| imports_of(name));
    let mut cycles: Vec<_> = crates.iter().flat_map(Imports::cycles).collect();
    cycles.retain(|cycle| !is_one_family(cycle));
    assert!(cycles.is_empty(), "{cycles:#?}");
}

#[test]
fn an_import_edge_is_found_in_every_spelling() {
    let imported = |code: &str| {
        let texts =
            [("a", code), ("a::own", ""), ("b", ""), ("b::c", ""), ("d", ""), ("crate", "")];
        let sources = texts.map(|(module, text)| (module.into(), text.into()));
        let imports = Imports::of_sources("sample", &sources);
        imports.own["a"].iter().cloned().collect::<Vec<_>>().join(" ")
    };
    for (code, expected) in [
        ("use crate::b::c::Thing;", "b::c"),
        ("use sample::{b::{self, c as other}, d::*};", "b b::c d"),
        ("use std::fmt;\npub use super::d;", "d"),
        ("mod own;", "a::own"),
        ("fn f() -> crate::b::Thing { super::d::g(r#\"crate::x\"#, '\"', \"crate::x\") }", "b d"),
        ("pub(in crate::b) struct S<'a>(&'a str); // crate::d", ""),
        ("/* crate::d /* nested */ */ pub(crate) fn f() {}", ""),
        ("#[cfg(test)]\n#[allow(x)]\nmod tests { use crate::b; }\nuse crate::d;", "d"),
        ("#[cfg(all(test, feature = \"x\"))]\nuse crate::b;", ""),
        ("#[cfg(test)]\nmod own;", ""),
    ] {
        assert_eq!(imported(code), expected, "{code}");
    }
}

#[test]
fn import_cycles_are_found_and_module_families_distinguished() {
    let cycles = |files: &[(&str, &str)]| {
        let sources: Vec<_> = files.iter().map(|(m, text)| ((*m).into(), (*text).into())).collect();
        let imports = Imports::of_sources("sample", &sources);
        let cycles = imports.cycles();
        cycles.iter().map(|cycle| (cycle.len(), is_one_family(cycle))).collect::<Vec<_>>()
    };
    let (to_a, to_child) = ("use crate::a::X;", "mod b; mod c;");
    assert_eq!(cycles(&[("a", to_child), ("a::b", to_a), ("a::c", "")]), [(2, true)]);
    assert_eq!(cycles(&[("a", to_child), ("a::b", "use super::c::X;"), ("a::c", "")]), []);
    let grandchild = [("a", "mod b;"), ("a::b", "mod c;"), ("a::b::c", "use crate::a::X;")];
    assert_eq!(cycles(&grandchild), [(3, false)]);
    assert_eq!(cycles(&[("a", "use crate::b::X;"), ("b", to_a)]), [(2, true)]);
    let cousins =
        [("a", ""), ("a::x", "use crate::b::x::X;"), ("b", ""), ("b::x", "use crate::a::x::X;")];
    assert_eq!(cycles(&cousins), [(2, false)]);
}

#[test]
fn the_sample_wallet_shares_no_code_with_core() {
    let crates = dependencies("idgate-testkit", "");
    assert!(crates.contains("p256"), "{crates:?}");
    assert!(!crates.contains("idgate-core") && !crates.contains("idgate-server"), "{crates:?}");
}

#[test]
fn the_tables_of_codes_match_the_decisions() {
    let errors: Vec<&str> = ErrorCode::ALL.iter().map(|code| code.as_str()).collect();
    assert_eq!(errors, ERRORS.split(", ").collect::<Vec<_>>());
    let reasons: Vec<&str> = Reason::ALL.iter().map(|code| code.as_str()).collect();
    assert_eq!(reasons, REASONS.split(", ").collect::<Vec<_>>());
}

#[test]
fn every_check_has_a_title_and_a_clause() {
    let mut titles = BTreeSet::new();
    for check in Check::ALL {
        assert!(!check.clause().trim().is_empty(), "{check:?}");
        assert!(!check.group().is_empty(), "{check:?}");
        assert!(!check.title().is_empty() && titles.insert(check.title()), "{check:?}");
    }
    assert!(titles.len() >= 25, "{} checks", titles.len());
}

/// The crates of the product, and their folders.
const FOLDERS: [(&str, &str); 8] = [
    ("idgate_core", "idgate-core"),
    ("idgate", "idgate"),
    ("idgate_ffi", "idgate-ffi"),
    ("idgate_base", "idgate-server/base"),
    ("idgate_store", "idgate-server/store"),
    ("idgate_server", "idgate-server"),
    ("idgate_sandbox", "idgate-server/sandbox"),
    ("idgate_program", "idgate-server/program"),
];

fn imports_of(name: &str) -> Imports {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    let (_, folder) = FOLDERS.into_iter().find(|(own, _)| *own == name).unwrap();
    Imports::of(name, &root.join(folder).join("src"))
}

#[track_caller]
fn check_layers(name: &str, layers: Layers) {
    let imports = imports_of(name);
    let listed: BTreeSet<&str> = layers.iter().flat_map(|layer| layer.iter().copied()).collect();
    assert_eq!(imports.tops(), listed, "{name}: each module stands in one layer");
    let height = |module| layers.iter().position(|layer| layer.contains(&module));
    let arrows = imports.between_tops();
    let upwards: Vec<&String> = arrows
        .iter()
        .filter(|((from, to), _)| height(from) <= height(to))
        .map(|(_, at)| at)
        .collect();
    assert!(upwards.is_empty(), "{name}, not downwards: {upwards:#?}");
}

/// The crates that `package` is built from, by name.
fn dependencies(package: &str, features: &str) -> BTreeSet<String> {
    let lines = tree(package, features, "normal");
    lines.lines().filter_map(|line| line.split(' ').next()).map(String::from).collect()
}

/// The same with their features.
fn features_of(package: &str, features: &str) -> String {
    tree(package, features, "normal,features")
}

fn tree(package: &str, features: &str, edges: &str) -> String {
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/../../Cargo.toml");
    let output = Command::new(env!("CARGO"))
        .args(["tree", "--offline", "--manifest-path", manifest, "-p", package, "-e", edges])
        .args(["--no-default-features", "--features", features])
        .args(["--prefix", "none", "--format", "{p}"])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}
