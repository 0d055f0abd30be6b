//! Random changes to good answers, for some seconds: never a panic, and never VERIFIED from a
//! changed presentation. Deterministic for a seed, so that a finding can be repeated.

use std::time::{Duration, Instant};

use idgate_core::PresentationRequest;
use idgate_core::crypto::Jwk;
use idgate_core::crypto::aws_lc_rs::PROVIDER;
use idgate_core::ids::IssuerId;
use idgate_core::response::WalletResponse;
use idgate_core::time::UnixMillis;
use idgate_core::trust::{TrustEntry, TrustSnapshot, TrustedKey};
use idgate_core::verify::{CredentialReport, Expected, verify_sd_jwt_vc};
use idgate_testkit::claim::Claim;
use idgate_testkit::issuer::CredentialBuilder;
use idgate_testkit::keys::{Curve, SigningKey};
use idgate_testkit::request::AuthorizationRequest;
use idgate_testkit::samples::{ISSUER, VCT};
use idgate_testkit::wallet::{KbJwt, Presentation, present};

const NOW: u64 = 1_800_000_000;
const AUDIENCE: &str = "redirect_uri:https://gateway.example/r";
const NONCE: &str = "n-0S6_WzA2Mj";

/// How long each target runs; `IDGATE_LONG` stretches it.
pub(crate) fn budget() -> Duration {
    let long = std::env::var_os("IDGATE_LONG").is_some();
    Duration::from_secs(if long { 60 } else { 5 })
}

/// xorshift64*: good enough to choose bytes, and the same everywhere.
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize % sides.max(1)
    }

    /// One to four small changes, by the alphabet of the format or by any byte.
    pub(crate) fn mutate(&mut self, good: &[u8]) -> Vec<u8> {
        const ALPHABET: &[u8] = b"~.=-_{}[]\",:%+&$0A9z";
        let mut bytes = good.to_vec();
        for _ in 0..=self.roll(4) {
            if bytes.len() < 2 {
                break;
            }
            let at = self.roll(bytes.len());
            match self.roll(6) {
                0 => bytes[at] = ALPHABET[self.roll(ALPHABET.len())],
                1 => bytes[at] ^= 1 << self.roll(8),
                2 => drop(bytes.remove(at)),
                3 => bytes.insert(at, ALPHABET[self.roll(ALPHABET.len())]),
                4 => {
                    let end = (at + self.roll(64)).min(bytes.len());
                    let piece = bytes[at..end].to_vec();
                    let to = self.roll(bytes.len());
                    bytes.splice(to..to, piece);
                }
                _ => bytes.truncate(at.max(1)),
            }
        }
        bytes
    }
}

fn good_presentation() -> (String, TrustEntry) {
    let issuer = SigningKey::from_seed(Curve::P256, "issuer");
    let holder = SigningKey::from_seed(Curve::P256, "holder");
    let credential = CredentialBuilder::new()
        .plain("iss", ISSUER)
        .plain("vct", VCT)
        .plain("exp", NOW + 1000)
        .holder(&holder)
        .sd("given_name", "Erika")
        .sd("address", Claim::object().sd("street", "x").plain("country", "DE"))
        .plain("nationalities", Claim::array().sd_element("DE").plain_element("FR"))
        .decoys(1)
        .issue(&issuer);
    let request = AuthorizationRequest {
        client_id: AUDIENCE.into(),
        response_uri: String::new(),
        nonce: NONCE.into(),
        state: String::new(),
        definition_id: String::new(),
        descriptors: Vec::new(),
    };
    let shown = Presentation::whole(&credential);
    let proof = KbJwt::new(&holder, &shown, &request, NOW * 1000).sign();
    let mut trust = TrustEntry::new(IssuerId::new(ISSUER));
    let jwk = Jwk::parse(issuer.public_jwk().to_string().as_bytes()).unwrap();
    trust.keys.push(TrustedKey::new(jwk.key));
    (present(&shown, Some(&proof)), trust)
}

#[test]
fn no_mutated_presentation_is_verified() {
    let (good, trust) = good_presentation();
    let now = UnixMillis::from_secs(NOW);
    let expected = Expected::new(&trust, AUDIENCE, NONCE, now, now);
    let verdict = |text: &str| {
        verify_sd_jwt_vc(&PROVIDER, text, &expected, &mut CredentialReport::default()).is_ok()
    };
    assert!(verdict(&good));
    let (mut dice, start, mut tried) = (Dice(0x1d6a7e), Instant::now(), 0u64);
    while start.elapsed() < budget() {
        let Ok(text) = String::from_utf8(dice.mutate(good.as_bytes())) else { continue };
        tried += 1;
        assert!(text == good || !verdict(&text), "seed {tried}: {text}");
    }
    assert!(tried > 1000);
}

#[test]
fn no_mutated_answer_or_request_panics() {
    let answer = b"vp_token=eyJhbGciOiJFUzI1NiJ9.e30.AAAA~WyJzIiwiYSIsMV0~e30.e30.AAAA&state=abc\
        &presentation_submission=%7B%22id%22%3A%22x%22%2C%22definition_id%22%3A%22d%22%7D";
    let json = br#"{"vp_token":["a~b"],"state":"abc","presentation_submission":{"id":"x"}}"#;
    let create = br#"{"credentials":[{"format":"vc+sd-jwt","issuer_id":"i","claims":["a"],
        "claim_filters":{"a":{"type":"string","pattern":"^[a-z]+$","minLength":1}},
        "subject_claim_paths":["a.b"],"alg":"ES256","id":"x"}],"ttl_ms":60000,
        "same_subject_groups":[["x","y"]],"redirect_uri":"https://a.example/?b#c"}"#;
    let trust = TrustSnapshot::new(1, [TrustEntry::new(IssuerId::new("i"))]);
    let (mut dice, start, mut tried) = (Dice(0x5eed), Instant::now(), 0u64);
    while start.elapsed() < budget() {
        let form = dice.mutate(answer);
        let _ =
            WalletResponse::new(Some("application/x-www-form-urlencoded"), &form).check_syntax();
        let body = dice.mutate(json);
        let _ = WalletResponse::new(Some("application/json"), &body).check_syntax();
        let _ = PresentationRequest::parse(&dice.mutate(create), &trust, true);
        tried += 1;
    }
    assert!(tried > 1000);
}
