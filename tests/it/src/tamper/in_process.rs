//! The library as a gateway, with virtual time and counted entropy.

use std::sync::Arc;

use idgate_core::crypto::{Es256Key, RequestSigner, SoftwareSigner, aws_lc_rs};
use idgate_core::error::NotAnAnswer;
use idgate_core::shell::discovery::{PublishedKey, did_document_json};
use idgate_core::shell::{
    Jwk, ProfileOptions, RootOrigin, TrustAnchor, TrustEntry, TrustSnapshot, TrustedKey,
};
use idgate_core::trust::RevocationPolicy;
use idgate_core::{
    Answer, Asked, CryptoProvider, Decision, Entropy, EntropyUnavailable, IssuerId, NewSession,
    Profile, Reader, Request, RequestObject, Session, Step, Supplied, TenantId, UnixMillis,
    Verification, Verifier,
};
use idgate_testkit::codec::HashAlg;
use idgate_testkit::wallet::Body;
use serde_json::Value;

use crate::jar_tamper::JarGateway;
use crate::tamper::gateway::Gateway;
use crate::tamper::scenario::Trust;

/// `idgate-core` with one session.
#[derive(Debug, Default)]
pub struct InProcess {
    open: Option<(Verifier, Session)>,
    entropy: Counted,
    /// Signs requests by reference. `None`: requests go by value.
    signer: Option<Arc<SoftwareSigner>>,
    /// The profile of requests. `None`: `draft`.
    profile: Option<Profile>,
    /// Verifies and hashes. `None`: aws-lc-rs.
    provider: Option<CryptoProvider>,
}

const BASE_URL: &str = "https://gateway.example";
const DID: &str = "did:web:gateway.example";

#[allow(clippy::expect_used)] // the table runs in tests only
impl InProcess {
    /// Sessions in request mode inline, verified with this provider.
    pub fn on(provider: CryptoProvider) -> Self {
        Self { provider: Some(provider), ..Self::default() }
    }

    /// Sessions in request mode jar.
    pub fn jar() -> Self {
        let key = Es256Key::from_scalar(&[9; 32]).expect("a scalar");
        let signer = SoftwareSigner::new(key, format!("{DID}#key"));
        Self { signer: Some(Arc::new(signer)), ..Self::default() }
    }

    /// OpenID4VP 1.0 sessions: signed and encrypted, or neither.
    pub fn v1_0(encrypted: bool) -> Self {
        let base = if encrypted { Self::jar() } else { Self::default() };
        Self { profile: Some(Profile::V1_0), ..base }
    }
}

#[allow(clippy::expect_used)] // the table runs in tests only
impl JarGateway for InProcess {
    fn fetch(&mut self, request_uri: &str, now_ms: u64) -> String {
        let (verifier, session) = self.open.as_mut().expect("open a session first");
        assert_eq!(session.request_uri(), Some(request_uri));
        let asked = Asked::get(session.id().as_str());
        let fetched = verifier.request_object(session, &asked, UnixMillis(now_ms));
        let RequestObject { transition, jwt, .. } =
            fetched.expect("the session has a Request Object");
        if let Some(transition) = transition {
            *session = transition.session;
        }
        jwt.into_string()
    }

    fn did_document(&mut self) -> Value {
        let signer = self.signer.as_ref().expect("in request mode jar");
        let published = PublishedKey::new(signer.key_id(), *signer.public_key());
        serde_json::from_str(&did_document_json(DID, &[published])).expect("JSON")
    }
}

impl InProcess {
    /// The session, if there is one.
    pub fn session(&self) -> Option<&Session> {
        self.open.as_ref().map(|(_, session)| session)
    }
}

#[allow(clippy::expect_used, clippy::panic)] // the table runs in tests only
impl Gateway for InProcess {
    fn open(&mut self, trust: &Trust, request: &Value, now_ms: u64) -> String {
        let now = UnixMillis(now_ms);
        let snapshot = Arc::new(TrustSnapshot::new(1, [entry(trust)]));
        let body = request.to_string().into_bytes();
        let request = Request::from_json(&body).unwrap_or_else(|error| panic!("{error}"));
        let builder = Verifier::builder(idgate_core::Trust::of_snapshot(
            self.provider.unwrap_or(aws_lc_rs::PROVIDER),
            snapshot,
        ))
        .profiles([idgate_core::Profile::Draft]);
        let builder = match &self.signer {
            None => builder.unsigned(BASE_URL),
            Some(signer) => builder.signed(BASE_URL, signer.clone()),
        };
        let profiles = ProfileOptions::new([self.profile.unwrap_or(Profile::Draft)]);
        let builder = builder.profile_options(profiles);
        let verifier = builder.build().unwrap_or_else(|error| panic!("{error}"));
        let tenant = TenantId::new("cli_0000000000000000000000");
        let session = verifier
            .create_session(&request, NewSession::live().tenant(tenant), &mut self.entropy, now)
            .unwrap_or_else(|error| panic!("{error}"))
            .session;
        let uri = session.invitation().qr_code_url;
        self.open = Some((verifier, session));
        uri
    }

    fn post(&mut self, body: &Body, now_ms: u64) -> Option<String> {
        let (verifier, session) = self.open.as_mut().expect("open a session first");
        let mut judge = || {
            let response = Answer {
                to: session.id().as_str(),
                content_type: Some(&body.content_type),
                body: &body.bytes,
            };
            let entropy = &mut self.entropy;
            let begun = verifier.begin(session, response, entropy, UnixMillis(now_ms));
            begun.and_then(|verification| decide(verification, now_ms))
        };
        let (first, again) = (judge(), judge());
        let reason =
            |decision: &Decision| decision.transition.session.reason_at(UnixMillis(now_ms));
        let told = |verdict: &Result<Box<Decision>, NotAnAnswer>| match verdict {
            Err(error) => Err(error.code()),
            Ok(decision) => Ok(reason(decision)),
        };
        assert_eq!(told(&first), told(&again), "with a known signer");
        let decision = match first {
            Err(error) => return Some(error.code().as_str().into()),
            Ok(decision) => decision,
        };
        let refused = matches!(decision.reply, idgate_core::verify::WalletReply::Refused);
        *session = decision.transition.session;
        refused.then(|| "invalid_presentation".into())
    }

    fn read(&mut self, now_ms: u64) -> (String, Option<String>, Option<Value>) {
        let (_, session) = self.open.as_ref().expect("open a session first");
        let now = UnixMillis(now_ms);
        let claims = session.result(Reader::Backend, now).ok().map(|result| {
            serde_json::from_str(result.claims_json()).expect("claims are a JSON object")
        });
        let reason = session.reason_at(now).map(|reason| reason.as_str().into());
        (session.status_at(now).as_str().into(), reason, claims)
    }
}

/// Decides with all status sources unreachable.
#[allow(clippy::panic)] // the table runs in tests only
pub(crate) fn decide(
    mut verification: Verification<'_>,
    now_ms: u64,
) -> Result<Box<Decision>, NotAnAnswer> {
    loop {
        match verification.step()? {
            Step::Done(decision) => return Ok(decision),
            Step::Need { needs, .. } => {
                for need in &needs {
                    verification.supply(need, Supplied::Unavailable, UnixMillis(now_ms));
                }
            }
        }
    }
}

/// The trust entry of a scenario.
#[allow(clippy::panic)] // the table runs in tests only
pub(crate) fn entry(trust: &Trust) -> TrustEntry {
    let mut entry = TrustEntry::new(IssuerId::new(&trust.issuer_id));
    entry.vct = trust.vct.clone();
    entry.revocation = RevocationPolicy::from_name(trust.revocation).unwrap_or_default();
    entry.keys = trust.keys.iter().map(trusted_key).collect();
    let root = |der: &Vec<u8>| {
        TrustAnchor::from_der(&aws_lc_rs::PROVIDER, der, RootOrigin::RootFile)
            .unwrap_or_else(|error| panic!("{error}"))
    };
    entry.sd_jwt_roots = trust.sd_jwt_roots.iter().map(root).collect();
    entry
}

#[allow(clippy::panic)] // the table runs in tests only
fn trusted_key(jwk: &Value) -> TrustedKey {
    let jwk = Jwk::parse(jwk.to_string().as_bytes()).unwrap_or_else(|error| panic!("{error}"));
    let key = TrustedKey::new(jwk.key);
    match jwk.kid {
        Some(kid) => key.with_kid(kid),
        None => key,
    }
}

/// Gives the same bytes in every run.
#[derive(Debug, Default)]
pub struct Counted(u64);

impl Counted {
    /// The last chunk, all 32 bytes.
    pub fn latest(&self) -> Vec<u8> {
        HashAlg::Sha256.hash(&self.0.to_be_bytes()).to_vec()
    }
}

impl Entropy for Counted {
    fn fill(&mut self, out: &mut [u8]) -> Result<(), EntropyUnavailable> {
        for chunk in out.chunks_mut(32) {
            self.0 += 1;
            chunk.iter_mut().zip(self.latest()).for_each(|(to, from)| *to = from);
        }
        Ok(())
    }
}
