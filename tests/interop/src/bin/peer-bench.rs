//! `cargo run --release --bin peer-bench`: idgate and sd-jwt-rs on the same presentations, in
//! interleaved windows of one thread's CPU time. One JSON object per case; medians. `floor_us` is
//! the peer's figure, so that the rows read like those of idgate-bench.
//!
//! The data set is at `IDGATE_PERF_DATA`, or in `../shared/perf/data`.

use std::fs;
use std::hint::black_box;
use std::path::PathBuf;

use cpu_time::ThreadTime;
use idgate_core::crypto::aws_lc_rs;
use idgate_core::shell::{ExpectedSdJwtVc, Jwk, TrustEntry, TrustedKey, verify_sd_jwt_vc};
use idgate_core::verify::CredentialReport;
use idgate_core::{IssuerId, UnixMillis};
use idgate_interop::peer;
use idgate_testkit::jws;
use jsonwebtoken::DecodingKey;
use serde_json::{Value, json};

const CASES: &[&str] = &[
    "sdjwt_es256_10of10",
    "sdjwt_es256_10of30",
    "sdjwt_es256_100of100",
    "sdjwt_es256_10of1000",
    "sdjwt_es256_1000of1000",
    "sdjwt_es384_10of30",
];
const WINDOWS: usize = 9;
/// Long enough for the clock's resolution, short enough to interleave often.
const WINDOW_MS: u128 = 50;

fn main() {
    let manifest: Value = serde_json::from_str(&read("manifest.json")).expect("a manifest");
    let text = |name: &str| manifest[name].as_str().expect("a string").to_owned();
    let (audience, nonce) = (text("aud"), text("nonce"));
    for case in CASES {
        let input = Input::load(case);
        let idgate = || input.idgate(&audience, &nonce);
        let peer = || input.peer(&audience, &nonce);
        let (ours, theirs) = (Bench::new(&idgate), Bench::new(&peer));
        let (mut our_windows, mut their_windows) = (Vec::new(), Vec::new());
        for _ in 0..WINDOWS {
            our_windows.push(ours.window());
            their_windows.push(theirs.window());
        }
        let (ours, theirs) = (median(our_windows), median(their_windows));
        let row = json!({
            "case": case.replace("sdjwt", "sd_jwt"),
            "backend": "sd-jwt-rs",
            "idgate_us": round(ours),
            "floor_us": round(theirs),
            "ratio": round(ours / theirs),
            "windows": WINDOWS,
        });
        println!("{row}");
    }
}

/// One presentation, and the data that a verifier must know in advance.
struct Input {
    presentation: String,
    peer_key: DecodingKey,
    issuer: TrustEntry,
    claims: Vec<String>,
    presented_at: UnixMillis,
}

impl Input {
    fn load(case: &str) -> Self {
        let alg = case.split('_').nth(1).expect("an algorithm");
        let jwk = read(&format!("issuer_{alg}.public.jwk.json"));
        let presentation = read(&format!("{case}.txt")).trim_end().to_owned();
        let (bound, proof) = presentation.rsplit_once('~').expect("a presentation");
        let presented_at = jws::payload(proof).expect("a key binding JWT")["iat"].as_u64();
        let names = bound.split('~').skip(1).filter_map(disclosed_name);
        let mut issuer = TrustEntry::new(IssuerId::new("perf"));
        issuer.keys.push(TrustedKey::new(Jwk::parse(jwk.as_bytes()).expect("a public key").key));
        Self {
            claims: names.take(100).collect(),
            issuer,
            peer_key: peer::decoding_key(&serde_json::from_str(&jwk).expect("a JWK")),
            presented_at: UnixMillis::from_secs(presented_at.expect("iat")),
            presentation,
        }
    }

    fn idgate(&self, audience: &str, nonce: &str) {
        let now = self.presented_at;
        let mut expected = ExpectedSdJwtVc::new(&self.issuer, audience, nonce, now, now);
        expected.claims = &self.claims;
        let mut report = CredentialReport::default();
        let provider = &aws_lc_rs::PROVIDER;
        let verified =
            verify_sd_jwt_vc(provider, black_box(&self.presentation), &expected, &mut report);
        black_box(verified.expect("idgate verifies the data set"));
    }

    fn peer(&self, audience: &str, nonce: &str) {
        let verified =
            peer::verdict_for(black_box(&self.presentation), &self.peer_key, audience, nonce);
        black_box(verified.expect("the peer verifies the data set"));
    }
}

fn disclosed_name(disclosure: &str) -> Option<String> {
    let json = idgate_testkit::codec::from_base64url(disclosure)?;
    let parts: Value = serde_json::from_slice(&json).ok()?;
    parts.get(1)?.as_str().map(ToOwned::to_owned)
}

/// Something to run often enough to be measured.
struct Bench<'a> {
    run: &'a dyn Fn(),
    runs: u32,
}

impl<'a> Bench<'a> {
    fn new(run: &'a dyn Fn()) -> Self {
        let (start, mut runs) = (ThreadTime::now(), 0);
        // reason: a bench
        while start.elapsed().as_millis() < WINDOW_MS || runs < 3 {
            run();
            runs += 1;
        }
        Self { run, runs }
    }

    /// Microseconds per run.
    fn window(&self) -> f64 {
        let start = ThreadTime::now();
        (0..self.runs).for_each(|_| (self.run)());
        // reason: a bench
        start.elapsed().as_secs_f64() * 1e6 / f64::from(self.runs)
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn round(value: f64) -> f64 {
    (value * 1000.0).round() / 1000.0
}

fn read(name: &str) -> String {
    let folder = std::env::var_os("IDGATE_PERF_DATA").map_or_else(
        || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/perf/data")),
        PathBuf::from,
    );
    let path = folder.join(name);
    fs::read_to_string(&path).unwrap_or_else(|error| {
        panic!("{}: {error}; set IDGATE_PERF_DATA to the data set", path.display())
    })
}
