#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::io::Write as _;

use idgate_core::shell::DeviceRequests;
use idgate_core::{DcApi, Profile};

use super::*;

const KEY: &str = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";

fn env(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect()
}

fn flags(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    env(pairs).into_iter().collect()
}

fn from_env(pairs: &[(&str, &str)]) -> Result<Config, String> {
    Config::new(&Settings::collect(&BTreeMap::new(), env(pairs), None)?)
}

fn from_file(text: &str) -> Result<Config, String> {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(text.as_bytes()).unwrap();
    Config::new(&Settings::collect(&BTreeMap::new(), [], Some(file.path()))?)
}

// reason: settings are texts here, and nothing listens
const LISTEN: &str = "127.0.0.1:8080";

#[test]
fn defaults_are_those_of_the_manual() {
    let config = from_env(&[]).unwrap();
    assert_eq!(config.data_dir, Path::new("./idgate-data"));
    assert_eq!(config.listen.to_string(), LISTEN);
    assert_eq!(config.base_url_at("127.0.0.2:4711".parse().unwrap()), "http://127.0.0.2:4711");
    assert_eq!(config.environment, Environment::Development);
    assert!(config.rate_limits && !config.behind_tls_proxy && config.instance_key.is_none());
    assert_eq!(config.log_format, LogFormat::Text);
    assert_eq!(config.body_memory, 256 * 1024 * 1024);
    let Quotas { keys, open_sessions_test, open_sessions_live } = config.quotas;
    assert_eq!((keys, open_sessions_test, open_sessions_live), (100, 10_000, 1_000_000));
}

#[test]
fn flag_beats_environment_beats_file_beats_default() {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(b"listen = '127.0.0.1:1'\nlog = 'debug'\nlog_format = 'json'\n").unwrap();
    let environment = env(&[("IDGATE_LISTEN", "127.0.0.1:2"), ("IDGATE_LOG", "warn")]);
    let flags = flags(&[("listen", "127.0.0.1:3")]);
    let settings = Settings::collect(&flags, environment, Some(file.path())).unwrap();
    let config = Config::new(&settings).unwrap();
    assert_eq!(config.listen.port(), 3);
    assert_eq!(config.log, "warn");
    assert_eq!(config.log_format, LogFormat::Json);
    assert_eq!(settings.get("listen").unwrap().origin.to_string(), "flag --listen");
    assert_eq!(settings.get("environment").unwrap().origin, Origin::Default);
}

#[test]
fn unknown_names_are_errors_that_name_them() {
    assert!(from_file("lisen = 'x'").unwrap_err().contains("lisen"));
    assert!(from_file("[server]\nlisten = 'x'").unwrap_err().contains("server"));
}

#[test]
fn unknown_variables_are_reported_and_not_refused() {
    let environment = [("IDGATE_LISTNE", "x"), ("IDGATE_LISTEN_FILE", "x"), ("HOME", "/")];
    let environment = environment.map(|(name, text)| (name.to_owned(), text.to_owned()));
    let reported: Vec<String> = unknown_variables(environment.clone()).collect();
    assert_eq!(reported.len(), 2);
    assert!(reported[0].contains("IDGATE_LISTNE") && reported[1].contains("IDGATE_LISTEN_FILE"));
    assert!(Settings::collect(&BTreeMap::new(), environment, None).is_ok());
}

#[test]
fn the_file_takes_booleans_and_arrays() {
    let config = from_file(
        "oid4vp_request_mode = 'inline'\nwebhook_allow_http = true\n\
         trusted_proxies = ['10.0.0.0/8', 'fd00::/8']\n",
    )
    .unwrap();
    assert!(config.webhook_allow_http);
    assert_eq!(config.trusted_proxies.len(), 2);
    assert!(from_file("listen = 8080").unwrap_err().contains("listen"));
}

#[test]
fn a_broken_file_is_refused_without_quoting_it() {
    let error = from_file("listen = '127.0.0.1:1'\ninstance_key = 'hunter2\n").unwrap_err();
    assert!(error.contains("line 2") && !error.contains("hunter2"), "{error}");
    assert!(
        Settings::collect(&BTreeMap::new(), [], Some(Path::new("/nonexistent/idgate.toml")))
            .is_err()
    );
}

#[test]
fn secrets_come_from_files_too_but_not_from_both() {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    writeln!(file, "{KEY}").unwrap();
    let path = file.path().to_str().unwrap();
    assert!(from_env(&[("IDGATE_INSTANCE_KEY_FILE", path)]).unwrap().instance_key.is_some());
    assert!(from_file(&format!("instance_key_file = '{path}'")).unwrap().instance_key.is_some());
    let both = from_env(&[("IDGATE_INSTANCE_KEY_FILE", path), ("IDGATE_INSTANCE_KEY", KEY)]);
    assert!(both.unwrap_err().contains("remove one"));
    let missing = from_env(&[("IDGATE_INSTANCE_KEY_FILE", "/nonexistent/key")]);
    assert!(missing.unwrap_err().contains("/nonexistent/key"));
}

#[test]
fn several_instance_keys_replace_one() {
    let two = format!("{KEY}, {KEY}");
    let several = ("IDGATE_INSTANCE_KEYS", two.as_str());
    assert!(from_env(&[several]).unwrap().instance_key.unwrap().is_several());
    let both = from_env(&[several, ("IDGATE_INSTANCE_KEY", KEY)]).unwrap_err();
    assert!(both.starts_with("IDGATE_INSTANCE_KEYS: ") && both.contains("remove one"), "{both}");
    assert!(from_env(&[several, ("IDGATE_INSTANCE_KEY", "")]).is_ok());
    assert!(from_file(&format!("instance_keys = ['{KEY}', '{KEY}']")).is_ok());
    let url = ("IDGATE_DATABASE_URL", "postgres://idgate@localhost/idgate");
    assert!(from_env(&[url, several]).is_ok());
    let neither = from_env(&[url]).unwrap_err();
    assert!(neither.contains("nor is IDGATE_INSTANCE_KEYS"), "{neither}");
    for bad in [",", "short", &format!("{KEY}{KEY}"), &format!("{KEY},short")] {
        let told = from_env(&[("IDGATE_INSTANCE_KEYS", bad)]).unwrap_err();
        assert!(told.starts_with("IDGATE_INSTANCE_KEYS: "), "{told}");
        assert!(told.contains("with commas between them"), "{told}");
        assert!(!told.contains(KEY), "{told}");
    }
}

#[test]
fn an_empty_secret_counts_as_unset() {
    let file = ("IDGATE_INSTANCE_KEY_FILE", "");
    assert!(from_env(&[file]).unwrap().instance_key.is_none());
    assert!(from_env(&[("IDGATE_INSTANCE_KEY", "")]).unwrap().instance_key.is_none());
    assert!(from_env(&[file, ("IDGATE_INSTANCE_KEY", KEY)]).unwrap().instance_key.is_some());
    assert!(from_file("instance_key_file = ''").unwrap().instance_key.is_none());
}

#[test]
fn a_command_on_the_data_directory_ignores_other_settings() {
    let environment = env(&[("IDGATE_TLS_CERT", "x"), ("IDGATE_DATA_DIR", "d")]);
    let settings = Settings::collect(&BTreeMap::new(), environment, None).unwrap();
    assert_eq!(DataDir::new(&settings).unwrap().path, Path::new("d"));
    assert!(Config::new(&settings).is_err());
}

#[test]
fn an_error_about_a_secret_does_not_show_it() {
    let error = from_env(&[("IDGATE_INSTANCE_KEY", "hunter2")]).unwrap_err();
    assert!(error.contains("IDGATE_INSTANCE_KEY") && !error.contains("hunter2"));
    assert!(!format!("{:?}", from_env(&[("IDGATE_INSTANCE_KEY", KEY)]).unwrap()).contains("AAAA"));
}

#[test]
fn a_plain_listener_stays_on_loopback_unless_a_proxy_is_declared() {
    let error = from_env(&[("IDGATE_LISTEN", "0.0.0.0:8080")]).unwrap_err();
    assert!(error.contains("IDGATE_BEHIND_TLS_PROXY"), "{error}");
    let proxied = [("IDGATE_LISTEN", "0.0.0.0:8080"), ("IDGATE_BEHIND_TLS_PROXY", "true")];
    assert!(from_env(&proxied).unwrap_err().contains("IDGATE_BASE_URL"));
    let url = ("IDGATE_BASE_URL", "https://gateway.example/");
    let config = from_env(&[proxied[0], proxied[1], url]).unwrap();
    assert_eq!(config.base_url_at(config.listen), "https://gateway.example");
    assert!(from_env(&[("IDGATE_LISTEN", "[::1]:0")]).is_ok());
}

#[test]
fn tls_needs_both_files_and_an_https_base_url() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let path = file.path().to_str().unwrap();
    let (cert, key) = (("IDGATE_TLS_CERT", path), ("IDGATE_TLS_KEY", path));
    assert!(from_env(&[cert]).unwrap_err().starts_with("IDGATE_TLS_KEY"));
    assert!(from_env(&[key]).unwrap_err().starts_with("IDGATE_TLS_CERT"));
    let config = from_env(&[cert, key]).unwrap();
    assert_eq!(config.base_url_at(config.listen), format!("https://{LISTEN}"));
    let plain = ("IDGATE_BASE_URL", "http://localhost");
    assert!(from_env(&[cert, key, plain]).unwrap_err().contains("this listener speaks TLS"));
    // With TLS of its own, a listener may be reachable without a proxy.
    let outside = ("IDGATE_LISTEN", "0.0.0.0:8443");
    assert!(from_env(&[cert, key, outside]).unwrap_err().contains("IDGATE_BASE_URL"));
    let url = ("IDGATE_BASE_URL", "https://gateway.example");
    assert!(from_env(&[cert, key, outside, url]).is_ok());
}

#[test]
fn jar_needs_a_host_name_except_in_development() {
    let jar = ("OID4VP_REQUEST_MODE", "jar");
    assert_eq!(from_env(&[]).unwrap().request_mode, RequestMode::Inline);
    assert_eq!(from_env(&[jar]).unwrap().request_mode, RequestMode::Jar);
    for environment in ["staging", "production"] {
        let environment = ("IDGATE_ENVIRONMENT", environment);
        for url in ["http://127.0.0.1", "https://192.0.2.7", "https://[2001:db8::1]"] {
            let error = from_env(&[jar, environment, ("IDGATE_BASE_URL", url)]).unwrap_err();
            assert!(error.contains("did:web") && error.contains(url), "{error}");
        }
        assert!(from_env(&[jar, environment]).is_err(), "the listen address is the base URL");
        let name = ("IDGATE_BASE_URL", "https://gateway.example");
        assert!(from_env(&[jar, environment, name]).is_ok());
        assert!(from_env(&[environment]).is_ok());
    }
}

#[test]
fn profiles_are_draft_and_1_0_unless_listed() {
    let default = SpokenProfiles {
        enabled: vec![Profile::Draft, Profile::V1_0],
        ..SpokenProfiles::default()
    };
    assert_eq!(from_env(&[]).unwrap().profiles, default);
    let unset = from_env(&[("IDGATE_REQUEST_URI_METHOD", "")]).unwrap();
    assert_eq!(unset.profiles, default);
    let alone = from_env(&[("IDGATE_PROFILES", "draft")]).unwrap();
    assert_eq!(alone.profiles, SpokenProfiles::default());
    let chosen = from_env(&[
        ("IDGATE_PROFILES", "haip, draft"),
        ("IDGATE_CLIENT_ID", "x509_san_dns"),
        ("IDGATE_REQUEST_URI_METHOD", "post"),
        ("IDGATE_RESPONSE_MODE", "direct_post.jwt"),
        ("IDGATE_DC_API", "multisigned"),
        ("IDGATE_DC_API_ISO", "1.0"),
    ]);
    let expected = SpokenProfiles {
        enabled: vec![Profile::Haip, Profile::Draft],
        client_id: ClientId::X509SanDns,
        announces_post: true,
        response_mode: ResponseMode::DirectPostJwt,
        dc_api: DcApi::Multisigned,
        device_requests: DeviceRequests::FirstEdition,
    };
    assert_eq!(chosen.unwrap().profiles, expected);
    let file = from_file("profiles = ['1.0', 'draft']\nclient_id = 'x509_hash'\n").unwrap();
    assert_eq!(file.profiles.enabled, [Profile::V1_0, Profile::Draft]);
    assert_eq!(file.profiles.client_id, ClientId::X509Hash);
}

#[test]
fn browsers_are_not_asked_in_drafts_alone() {
    for way in ["unsigned", "signed", "multisigned"] {
        let draft_alone = ("IDGATE_PROFILES", "draft");
        let error = from_env(&[("IDGATE_DC_API", way), draft_alone]).unwrap_err();
        assert!(error.starts_with("IDGATE_DC_API: "), "{error}");
        for advice in ["1.0 and haip", "enable one of them in IDGATE_PROFILES", "unset it"] {
            assert!(error.contains(advice), "{error}");
        }
        assert!(from_env(&[("IDGATE_DC_API", way)]).is_ok());
    }
    assert!(from_env(&[("IDGATE_DC_API", "off")]).is_ok());
}

#[test]
fn malformed_values_are_refused_by_name() {
    for (name, value) in [
        ("IDGATE_DATA_DIR", ""),
        ("IDGATE_LISTEN", "8080"),
        // reason: it is refused, so that nothing listens there
        ("IDGATE_LISTEN", "localhost:8080"),
        ("IDGATE_BASE_URL", "http://gateway.example"),
        ("IDGATE_BEHIND_TLS_PROXY", "yes"),
        ("OID4VP_REQUEST_MODE", "Inline"),
        ("OID4VP_REQUEST_MODE", "JAR"),
        ("IDGATE_PROFILES", ""),
        ("IDGATE_PROFILES", "draft,2.0"),
        ("IDGATE_PROFILES", "haip,haip"),
        ("IDGATE_CLIENT_ID", "redirect_uri"),
        ("IDGATE_REQUEST_URI_METHOD", "POST"),
        ("IDGATE_RESPONSE_MODE", "query"),
        ("IDGATE_DC_API", "yes"),
        ("IDGATE_DC_API_ISO", "1.1"),
        ("IDGATE_ENVIRONMENT", "prod"),
        ("IDGATE_INSTANCE_KEY", "AAAA"),
        ("IDGATE_INSTANCE_KEYS", "AAAA,"),
        ("IDGATE_RATE_LIMITS", "true"),
        ("IDGATE_TRUSTED_PROXIES", "10.0.0.0/40"),
        ("IDGATE_WEBHOOK_ALLOW_CIDRS", "all"),
        ("IDGATE_WEBHOOK_ALLOW_HTTP", "1"),
        ("IDGATE_FETCH_ALLOW_CIDRS", "127.0.0.1/8"),
        ("IDGATE_EXTRA_CA_FILE", "/nonexistent/ca.pem"),
        ("IDGATE_TLS_CERT", "/nonexistent/cert.pem"),
        ("IDGATE_TLS_KEY", "/nonexistent/key.pem"),
        ("IDGATE_LOG", "a=b=c"),
        ("IDGATE_LOG_FORMAT", "yaml"),
    ] {
        let error = from_env(&[(name, value)]).unwrap_err();
        assert!(error.starts_with(name), "{name}: {error}");
    }
}

#[test]
fn a_database_needs_an_instance_key_and_its_password_is_not_shown() {
    let url = ("IDGATE_DATABASE_URL", "postgres://idgate:hunter2@localhost/idgate");
    let error = from_env(&[url]).unwrap_err();
    assert!(error.starts_with("IDGATE_INSTANCE_KEY: is not set"), "{error}");
    let config = from_env(&[url, ("IDGATE_INSTANCE_KEY", KEY)]).unwrap();
    assert!(config.database.is_some() && !format!("{config:?}").contains("hunter2"));
    for wrong in ["mysql://hunter2@localhost/d", "postgres://u:hunter2@db/d?sslmode=disable"] {
        let error = from_env(&[("IDGATE_DATABASE_URL", wrong), ("IDGATE_INSTANCE_KEY", KEY)]);
        let error = error.unwrap_err();
        assert!(error.starts_with("IDGATE_DATABASE_URL: "), "{error}");
        assert!(!error.contains("hunter2"), "{error}");
    }
    assert!(from_env(&[]).unwrap().database.is_none());
}
