//! The jar profile: making a Request Object, and decrypting an answer, with both back ends. The floor
//! always uses AWS-LC.

use std::sync::Arc;

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair};
use idgate_core::crypto::{
    Alg, ContentEncryption, Curve, EcdhPrivateKey, Es256Key, RequestSigner, SignerUnavailable,
    SoftwareSigner, aws_lc_rs as aws, rustcrypto,
};
use idgate_core::jose::JweRecipient;
use idgate_core::shell::{TrustEntry, TrustSnapshot, TrustedKey};
use idgate_core::{
    Asked, CryptoProvider, Entropy, EntropyUnavailable, IssuerId, NewSession, Profile, Request,
    Session, TenantId, Trust, UnixMillis, Verifier,
};
use idgate_testkit::codec::from_base64url;
use idgate_testkit::jwe::{Enc, Encryption};
use idgate_testkit::keys::{Curve as KitCurve, SigningKey};

use crate::data;
use crate::floor_jar;
use crate::measure::Case;

const NOW: UnixMillis = UnixMillis::from_secs(1_796_083_200);
const BASE_URL: &str = "https://gateway.example";
const KEY_ID: &str = "did:web:gateway.example#key";

/// The cases whose name contains `only`.
pub(crate) fn cases(only: &str) -> Result<Vec<Case>, String> {
    let mut cases = Vec::new();
    let key = EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING);
    let key = Arc::new(key.map_err(|_| "no key for the bench")?);
    let software = Es256Key::from_scalar(&[9; 32]).map_err(|error| error.to_string())?;
    let software = Arc::new(SoftwareSigner::new(software, KEY_ID));
    cases.push(request_object(aws::PROVIDER, Arc::new(AwsSigner(key.clone())), key.clone())?);
    cases.push(request_object(rustcrypto::PROVIDER, software, key)?);
    for enc in Enc::ALL {
        for provider in [aws::PROVIDER, rustcrypto::PROVIDER] {
            cases.push(open_answer(provider, enc)?);
        }
    }
    cases.retain(|case| case.name.contains(only));
    Ok(cases)
}

/// Signs like the server.
#[derive(Debug)]
struct AwsSigner(Arc<EcdsaKeyPair>);

impl RequestSigner for AwsSigner {
    fn alg(&self) -> Alg {
        Alg::Es256
    }

    fn key_id(&self) -> &str {
        KEY_ID
    }

    fn sign(&self, signing_input: &[u8]) -> Result<Vec<u8>, SignerUnavailable> {
        let signature = self.0.sign(&SystemRandom::new(), signing_input);
        let signature = signature.map_err(|_| SignerUnavailable::new("no randomness"))?;
        Ok(signature.as_ref().to_vec())
    }
}

struct Same;

impl Entropy for Same {
    fn fill(&mut self, out: &mut [u8]) -> Result<(), EntropyUnavailable> {
        out.fill(5);
        Ok(())
    }
}

/// A Request Object for ten claims of one SD-JWT VC.
fn request_object(
    provider: CryptoProvider,
    signer: Arc<dyn RequestSigner>,
    floor_key: Arc<EcdsaKeyPair>,
) -> Result<Case, String> {
    let trust = Trust::of_snapshot(provider, Arc::new(trust()?));
    let verifier = Verifier::builder(trust).profiles([Profile::Draft]).signed(BASE_URL, signer);
    let verifier = verifier.build().map_err(|error| error.to_string())?;
    let session = session(&verifier)?;
    let idgate = move || {
        let made = verifier.request_object(&session, &Asked::get(session.id().as_str()), NOW);
        assert!(made.is_ok_and(|made| made.jwt.as_str().len() > 2000));
    };
    let floor = move || assert!(floor_jar::request_object(&floor_key).len() > 2000);
    Ok(Case {
        name: "jar_request_object_10claims".into(),
        backend: provider.name,
        idgate: Box::new(idgate),
        floor: Box::new(floor),
    })
}

fn trust() -> Result<TrustSnapshot, String> {
    let mut issuer = TrustEntry::new(IssuerId::new("https://issuer.example"));
    let key = Es256Key::from_scalar(&[8; 32]).map_err(|error| error.to_string())?;
    issuer.keys.push(TrustedKey::new(*key.public_key()));
    issuer.vct.push("urn:eudi:pid:1".into());
    Ok(TrustSnapshot::new(1, [issuer]))
}

fn session(verifier: &Verifier) -> Result<Session, String> {
    let claims: Vec<String> = (0..10).map(|n| format!("claim_{n:04}")).collect();
    let body = serde_json::json!({"credentials": [
        {"format": "vc+sd-jwt", "issuer_id": "https://issuer.example", "claims": claims},
    ]});
    let request =
        Request::from_json(body.to_string().as_bytes()).map_err(|error| error.to_string())?;
    let tenant = TenantId::new("cli_bench");
    let made = verifier.create_session(&request, NewSession::live().tenant(tenant), &mut Same, NOW);
    let created = made.map_err(|error| error.to_string())?.session;
    let asked = Asked::get(created.id().as_str());
    let fetched =
        verifier.request_object(&created, &asked, NOW).map_err(|error| error.to_string())?;
    Ok(fetched.transition.map_or(created, |transition| transition.session))
}

/// An encrypted answer with a presentation of ten of thirty claims.
fn open_answer(provider: CryptoProvider, enc: Enc) -> Result<Case, String> {
    let recipient = SigningKey::from_seed(KitCurve::P256, "bench recipient");
    let jwk = recipient.private_jwk();
    let scalar = jwk.get("d").and_then(|d| d.as_str()).and_then(from_base64url);
    let scalar = scalar.ok_or("the bench's key has no scalar")?;
    let presentation = data::load("sdjwt_es256_10of30")?.presentation;
    let payload = serde_json::json!({"vp_token": presentation, "state": "state",
        "presentation_submission": {"id": "s", "definition_id": "d", "descriptor_map": []}});
    let ephemeral = SigningKey::from_seed(KitCurve::P256, "bench ephemeral");
    let encryption = Encryption::new(&recipient.public_sec1(), "kid", enc, &ephemeral);
    let encryption = encryption.with_party_info(b"the wallet's nonce", b"the request's nonce");
    let parts = encryption.encrypt(payload.to_string().as_bytes()).ok_or("nothing encrypted")?;
    let text: &'static str = Box::leak(parts.join(".").into_boxed_str());
    let key =
        EcdhPrivateKey::from_scalar(Curve::P256, &scalar).map_err(|error| error.to_string())?;
    let len = payload.to_string().len();
    let idgate = move || {
        let recipient = JweRecipient { key: &key, kid: "kid", enc: &ContentEncryption::ALL };
        let opened = recipient.open(&provider, text);
        assert!(opened.is_ok_and(|opened| opened.payload.len() == len));
    };
    let floor = move || assert_eq!(floor_jar::open(text, &scalar).len(), len);
    let name = enc.name().to_lowercase().replace('-', "_");
    Ok(Case {
        name: format!("jar_open_answer_{name}"),
        backend: provider.name,
        idgate: Box::new(idgate),
        floor: Box::new(floor),
    })
}
