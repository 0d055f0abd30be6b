//! A fixed number of random changes to good answers: none causes a panic, and no changed
//! presentation is VERIFIED.

use idgate_core::crypto::aws_lc_rs::PROVIDER;
use idgate_core::shell::{
    ExpectedSdJwtVc, Jwk, SpokenProfiles, TrustEntry, TrustSnapshot, TrustedKey, verify_sd_jwt_vc,
};
use idgate_core::verify::CredentialReport;
use idgate_core::{Answer, IssuerId, Mode, Request, Trust, UnixMillis, Verifier};
use idgate_testkit::claim::Claim;
use idgate_testkit::issuer::CredentialBuilder;
use idgate_testkit::keys::{Curve, SigningKey};
use idgate_testkit::request::AuthorizationRequest;
use idgate_testkit::samples::{ISSUER, VCT};
use idgate_testkit::seed::{Random, seed};
use idgate_testkit::wallet::{KbJwt, Presentation, present};
use std::sync::Arc;

const NOW: u64 = 1_800_000_000;
const AUDIENCE: &str = "redirect_uri:https://gateway.example/r";
const NONCE: &str = "n-0S6_WzA2Mj";
/// The number of changed presentations, which take about a second.
const PRESENTATIONS: usize = 100_000;
/// The number of changed answers and requests of each kind, likewise.
const ANSWERS: usize = 100_000;

/// The default seed, if `IDGATE_SEED` gives none: every run makes the same changes.
const SEED: u64 = 0x1d6a7e;
/// How many times more changes `IDGATE_LONG` makes, each time with a new seed.
const LONG: usize = 60;

/// The random changes to the good inputs of one target, and their number.
pub(crate) struct Mutations {
    random: Random,
    pub(crate) tries: usize,
}

impl Mutations {
    /// Makes `tries` changes, or more with `IDGATE_LONG`.
    pub(crate) fn new(tries: usize) -> Self {
        let long = std::env::var_os("IDGATE_LONG").is_some();
        let given = std::env::var_os("IDGATE_SEED").is_some();
        let seed = if long || given { seed() } else { SEED };
        Self { random: Random::new(seed), tries: if long { tries * LONG } else { tries } }
    }

    /// One to four small changes, from the format's alphabet or with any byte.
    pub(crate) fn mutate(&mut self, good: &[u8]) -> Vec<u8> {
        const ALPHABET: &[u8] = b"~.=-_{}[]\",:%+&$0A9z";
        let random = &mut self.random;
        let mut bytes = good.to_vec();
        for _ in 0..=random.index(4) {
            if bytes.len() < 2 {
                break;
            }
            let at = random.index(bytes.len());
            match random.below(6) {
                0 => bytes[at] = ALPHABET[random.index(ALPHABET.len())],
                1 => bytes[at] ^= 1 << random.below(8),
                2 => drop(bytes.remove(at)),
                3 => bytes.insert(at, ALPHABET[random.index(ALPHABET.len())]),
                4 => {
                    let end = (at + random.index(64)).min(bytes.len());
                    let piece = bytes[at..end].to_vec();
                    let to = random.index(bytes.len());
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
    let expected = ExpectedSdJwtVc::new(&trust, AUDIENCE, NONCE, now, now);
    let verdict = |text: &str| {
        verify_sd_jwt_vc(&PROVIDER, text, &expected, &mut CredentialReport::default()).is_ok()
    };
    assert!(verdict(&good));
    let mut mutations = Mutations::new(PRESENTATIONS);
    let mut changed = 0;
    for _ in 0..mutations.tries {
        let Ok(text) = String::from_utf8(mutations.mutate(good.as_bytes())) else { continue };
        changed += usize::from(text != good);
        assert!(text == good || !verdict(&text), "{text}");
    }
    // One in twelve changes is no longer text.
    assert!(changed > mutations.tries / 2, "{changed} of {}", mutations.tries);
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
    let builder = Verifier::builder(Trust::of_snapshot(PROVIDER, Arc::new(trust)))
        .profiles([idgate_core::Profile::Draft])
        .unsigned("https://gateway.example");
    let verifier = builder.build().unwrap();
    let mut mutations = Mutations::new(ANSWERS);
    for _ in 0..mutations.tries {
        let form = mutations.mutate(answer);
        let _ =
            Answer { to: "", content_type: Some("application/x-www-form-urlencoded"), body: &form }
                .check_syntax();
        let body = mutations.mutate(json);
        let _ =
            Answer { to: "", content_type: Some("application/json"), body: &body }.check_syntax();
        let create = mutations.mutate(create);
        let _ = Request::from_json(&create);
        let _ = verifier.resolve(&create, Mode::Live, &SpokenProfiles::default());
    }
}
