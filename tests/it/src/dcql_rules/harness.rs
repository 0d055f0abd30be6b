//! A verifier of OpenID4VP 1.0 with both sample issuers, and a wallet with both sample credentials.

use std::sync::Arc;

use idgate_core::crypto::aws_lc_rs;
use idgate_core::error::NotAnAnswer;
use idgate_core::shell::{
    Jwk, PresentationRequest, ProfileOptions, SpokenProfiles, TrustEntry, TrustSnapshot,
    TrustedKey, roots_from_file,
};
use idgate_core::verify::WalletReply;
use idgate_core::{
    IssuerId, Mode, NewSession, Profile, Reader, Session, Step, TenantId, Trust, UnixMillis,
    Verifier,
};
use idgate_testkit::openid4vp::{Answer, Expected, Forgery, Format, Keys, Prefix, Request};
use idgate_testkit::samples::{self, Sample, SampleMdl};
use idgate_testkit::time::SAMPLE_NOW_MS;
use idgate_testkit::wallet::Wallet;
use serde_json::Value;

use crate::tamper::Counted;

const CREATED: UnixMillis = UnixMillis(SAMPLE_NOW_MS);
pub(super) const NOW: UnixMillis = UnixMillis(SAMPLE_NOW_MS + 5_000);

pub(super) struct IdentityCard {
    pub(super) issuer_id: &'static str,
    pub(super) sample: Sample,
}

pub(super) struct Licence {
    pub(super) issuer_id: &'static str,
    pub(super) sample: SampleMdl,
}

pub(super) fn identity_card() -> IdentityCard {
    IdentityCard { issuer_id: samples::ISSUER, sample: samples::issue_sample(CREATED.0) }
}

pub(super) fn licence() -> Licence {
    Licence { issuer_id: samples::MDL_ISSUER, sample: samples::issue_mdl(CREATED.0) }
}

/// Holds Erika's identity and her driving licence.
pub(super) fn wallet() -> Wallet {
    let card = identity_card().sample;
    Wallet::new(card.holder_key).with(card.credential).with_mdoc(licence().sample.document)
}

pub(super) struct Gateway {
    verifier: Verifier,
    entropy: Counted,
}

impl Gateway {
    pub(super) fn new() -> Self {
        let mut pid = TrustEntry::new(IssuerId::new(samples::ISSUER));
        let jwk = identity_card().sample.issuer_key.public_jwk().to_string();
        pid.keys.push(TrustedKey::new(Jwk::parse(jwk.as_bytes()).unwrap().key));
        pid.vct.push(samples::VCT.into());
        let mut mdl = TrustEntry::new(IssuerId::new(samples::MDL_ISSUER));
        mdl.roots = roots_from_file(&aws_lc_rs::PROVIDER, &licence().sample.root.der).unwrap();
        let trust = Arc::new(TrustSnapshot::new(1, [pid, mdl]));
        let builder = Verifier::builder(Trust::of_snapshot(aws_lc_rs::PROVIDER, trust))
            .profiles([idgate_core::Profile::Draft])
            .unsigned("https://gateway.example");
        let builder = builder.profile_options(ProfileOptions::new([Profile::V1_0]));
        Self { verifier: builder.build().unwrap(), entropy: Counted::default() }
    }

    pub(super) fn parse(
        &self,
        body: &Value,
    ) -> Result<PresentationRequest, idgate_core::error::RequestError> {
        let profiles = SpokenProfiles::new([Profile::V1_0]);
        self.verifier.resolve(body.to_string().as_bytes(), Mode::Test, &profiles)
    }

    /// A pending test-mode session and its request, which passes a strict wallet.
    pub(super) fn open(&mut self, body: &Value, formats: &[Format]) -> (Session, Request) {
        let request = self.parse(body).unwrap();
        let (tenant, entropy) = (TenantId::new("cli_1"), &mut self.entropy);
        let made = self.verifier.create_resolved_session(
            request,
            NewSession::test().tenant(tenant),
            entropy,
            CREATED,
        );
        let session = made.unwrap().session;
        let expected = Expected {
            prefix: Prefix::RedirectUri,
            encrypted: false,
            formats: formats.to_vec(),
            haip: false,
            transaction_data: body.get("transaction_data").is_some(),
            anchor: None,
            did_document: None,
            now_ms: CREATED.0,
        };
        let link = session.invitation().qr_code_url;
        let (request, findings) = Request::read(&link, None, &expected, &mut Keys::default());
        assert!(findings.is_empty(), "{findings:?}");
        (session, request)
    }

    pub(super) fn answer(&self, wallet: &Wallet, request: &Request) -> Answer {
        wallet.answer_1_0(request, NOW.0).unwrap()
    }

    pub(super) fn forged(&self, wallet: &Wallet, request: &Request, forgery: Forgery) -> Answer {
        wallet.forge_1_0(request, forgery, NOW.0).unwrap()
    }

    pub(super) fn post(
        &mut self,
        session: &mut Session,
        answer: &Answer,
    ) -> Result<WalletReply, NotAnAnswer> {
        let body = answer.body();
        let response = idgate_core::Answer {
            to: session.id().as_str(),
            content_type: Some(&body.content_type),
            body: &body.bytes,
        };
        let begun = self.verifier.begin(session, response, &mut self.entropy, NOW);
        match begun?.step()? {
            Step::Done(decision) => {
                *session = decision.transition.session;
                Ok(decision.reply)
            }
            step => panic!("nothing publishes a status here: {step:?}"),
        }
    }

    /// Posts a good answer. Returns claims and verification details.
    pub(super) fn verified(&mut self, session: &mut Session, answer: &Answer) -> (Value, Value) {
        let reply = self.post(session, answer).unwrap();
        assert!(matches!(reply, WalletReply::Accepted { .. }), "{:?}", session.reason_at(NOW));
        let result = session.result(Reader::Backend, NOW).unwrap();
        let json = |text: &str| serde_json::from_str(text).unwrap();
        (json(result.claims_json()), json(result.details_json()))
    }

    /// Posts an answer that is evaluated and rejected. Returns the reason.
    pub(super) fn refused(&mut self, session: &mut Session, answer: &Answer) -> String {
        assert_eq!(self.post(session, answer), Ok(WalletReply::Refused));
        session.reason_at(NOW).unwrap().as_str().into()
    }
}
