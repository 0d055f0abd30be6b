//! One presentation that is being verified, with all that it borrows from.

use idgate_core::ClaimPath;
use idgate_core::UnixMillis;
use idgate_core::crypto::Alg;
use idgate_core::trust::ListedBy;
use idgate_core::{Expected, Mode, Trust};
use idgate_core::{Presentation, PresentationStep, Refused, Sent, Transcript, Verified};
use self_cell::self_cell;
use serde::Serialize;
use serde_json::Value;
use zeroize::Zeroizing;

use crate::failure::Failure;
use crate::report;

/// The terms that a presentation must meet.
pub(crate) struct Terms {
    pub(crate) issuer_id: String,
    pub(crate) client_id: String,
    pub(crate) nonce: String,
    pub(crate) sent_at: UnixMillis,
    pub(crate) claims: Vec<String>,
    pub(crate) claim_paths: Vec<(String, ClaimPath)>,
    pub(crate) mode: Mode,
    pub(crate) alg: Option<Alg>,
    pub(crate) mdoc: Option<Mdoc>,
    /// Whether the result lists every check.
    pub(crate) checks: bool,
}

/// Further terms of an mdoc.
pub(crate) struct Mdoc {
    pub(crate) doc_type: String,
    pub(crate) name_space: String,
    pub(crate) way: Way,
    pub(crate) enc_key: Option<Zeroizing<Vec<u8>>>,
    pub(crate) apu: Option<String>,
}

/// How the request was sent.
pub(crate) enum Way {
    OpenId4Vp { response_uri: String },
    Draft { response_uri: String },
    DcApi { origin: String },
}

impl Terms {
    /// Verifies a presentation, and fetches nothing; the result as JSON.
    pub(crate) fn verify(
        &self,
        trust: &Trust,
        presentation: &str,
        now: UnixMillis,
    ) -> Result<Zeroizing<String>, Failure> {
        let names = self.names();
        render(&trust.verify(presentation, &self.expected(&names)?, now)?, self.checks)
    }

    fn names(&self) -> Names<'_> {
        self.claims.iter().map(String::as_str).collect()
    }

    fn expected<'t>(&'t self, names: &'t [&'t str]) -> Result<Expected<'t>, Failure> {
        let sent = Sent { client_id: &self.client_id, nonce: &self.nonce, at: self.sent_at };
        let mut expected = match &self.mdoc {
            None => Expected::sd_jwt_vc(&self.issuer_id, sent),
            Some(mdoc) => {
                let transcript = mdoc.transcript()?;
                Expected::mdoc(&self.issuer_id, &mdoc.doc_type, &mdoc.name_space, transcript, sent)
            }
        };
        expected = expected.claims(names).mode(self.mode);
        if let Some(alg) = self.alg {
            expected = expected.alg(alg);
        }
        for (claim, path) in &self.claim_paths {
            expected = expected.claim_at(claim.as_str(), path.clone());
        }
        Ok(expected)
    }
}

impl Mdoc {
    fn transcript(&self) -> Result<Transcript<'_>, Failure> {
        let mut transcript = match &self.way {
            Way::OpenId4Vp { response_uri } => Transcript::openid4vp(response_uri),
            Way::Draft { response_uri } => Transcript::draft(response_uri),
            Way::DcApi { origin } => Transcript::dc_api(origin),
        };
        if let Some(key) = &self.enc_key {
            let unusable = |why| Failure::misuse(format!("enc_key: {why}"));
            transcript = transcript.encrypted_to(key).map_err(unusable)?;
        }
        let Some(apu) = &self.apu else { return Ok(transcript) };
        transcript.apu(apu).map_err(Failure::misuse)
    }
}

type Names<'t> = Vec<&'t str>;

self_cell!(
    struct Named {
        owner: Terms,
        #[covariant]
        dependent: Names,
    }
);

self_cell!(
    struct Expecting {
        owner: Named,
        #[covariant]
        dependent: Expected,
    }
);

struct Inputs {
    trust: Trust,
    presentation: Zeroizing<String>,
    expecting: Expecting,
}

self_cell!(
    struct Running {
        owner: Inputs,
        #[covariant]
        dependent: Presentation,
    }
);

/// One presentation under verification.
pub(crate) struct Presented(Running);

impl Presented {
    /// Begins with a presentation as a wallet puts it into vp_token.
    pub(crate) fn begin(
        trust: Trust,
        presentation: &str,
        terms: Terms,
        now: UnixMillis,
    ) -> Result<Self, Failure> {
        let named = Named::new(terms, Terms::names);
        let expecting = Expecting::try_new(named, |named| {
            named.borrow_owner().expected(named.borrow_dependent())
        })?;
        let presentation = Zeroizing::new(presentation.to_owned());
        let running = Running::new(Inputs { trust, presentation, expecting }, |inputs| {
            inputs.trust.begin(&inputs.presentation, inputs.expecting.borrow_dependent(), now)
        });
        Ok(Self(running))
    }

    pub(crate) fn step(&mut self) -> PresentationStep {
        self.ask(|presentation| presentation.step())
    }

    /// Runs `f` on the presentation.
    pub(crate) fn ask<T>(&mut self, ask: impl FnOnce(&mut Presentation<'_>) -> T) -> T {
        self.0.with_dependent_mut(|_, presentation| ask(presentation))
    }

    /// The outcome as JSON.
    pub(crate) fn told(
        &self,
        outcome: Result<Verified, Refused>,
    ) -> Result<Zeroizing<String>, Failure> {
        let terms = self.0.borrow_owner().expecting.borrow_owner().borrow_owner();
        render(&outcome?, terms.checks)
    }
}

/// The facts about the credential, without its claims.
#[derive(Serialize)]
struct Known<'v> {
    credential_type: &'v str,
    issuer: Option<&'v str>,
    alg: &'v str,
    holder_binding: &'v str,
    trust: &'v str,
    /// Present if a trusted list names the issuer.
    #[serde(skip_serializing_if = "Option::is_none")]
    provider: Option<&'v ListedBy>,
    session_transcript: Option<&'v str>,
    valid_from_ms: Option<u64>,
    valid_until_ms: Option<u64>,
    revocation: &'v str,
    revocation_details: Revocations,
    #[serde(skip_serializing_if = "Option::is_none")]
    issuing_country_unbound: Option<bool>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    tolerated: &'v [&'static str],
    #[serde(skip_serializing_if = "Option::is_none")]
    checks: Option<Value>,
}

#[derive(Serialize)]
struct Revocations {
    credential: &'static str,
    signer: &'static str,
}

fn render(verified: &Verified, checks: bool) -> Result<Zeroizing<String>, Failure> {
    let (facts, revocation) = (verified.facts(), verified.revocation_details());
    let known = Known {
        credential_type: &facts.credential_type,
        issuer: facts.issuer.as_deref(),
        alg: facts.alg.name(),
        holder_binding: facts.holder_binding.name(),
        trust: facts.trust.name(),
        provider: facts.listed_by.as_deref(),
        session_transcript: facts.session_transcript,
        valid_from_ms: facts.valid_from.map(|at| at.0),
        valid_until_ms: facts.valid_until.map(|at| at.0),
        revocation: revocation.summary().name(),
        revocation_details: Revocations {
            credential: revocation.credential.name(),
            signer: revocation.signer.name(),
        },
        issuing_country_unbound: facts.issuing_country_unbound.then_some(true),
        tolerated: &facts.tolerated,
        checks: checks.then(|| report::passed(verified.checks())),
    };
    let known = serde_json::to_string(&known).map_err(Failure::internal)?;
    // The claims are a JSON text already. They go into one allocation of the right size: no copy is left behind.
    let rest = known.strip_prefix('{').unwrap_or_default();
    Ok(Zeroizing::new([r#"{"claims":"#, verified.claims_json(), ",", rest].concat()))
}
