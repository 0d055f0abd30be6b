//! The verification of one presentation outside a session. It makes every check that a session
//! makes, except those that concern several credentials, conditions on the values of claims, and
//! transaction data. It shares trust, refusals and the fetching of status with sessions.

mod expected;
mod outcome;

use alloc::boxed::Box;
use alloc::collections::BTreeSet;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

pub use self::expected::{Expected, Sent, Transcript, TranscriptError};
use self::expected::{Kind, Mdoc, Way};
pub use self::outcome::{Hint, Refused, Verified};
use super::captured::CapturedEncryption;
use super::conclude::settle;
use super::expected as terms;
use super::mdoc::{ExpectedMdoc, MdocRequest, verify_text};
use super::proof::AwaitingStatus;
use super::report::CredentialReport;
use super::scope::Scope;
use super::sd_jwt::verify_presentation;
use crate::error::{Check, Reason, VerifyError};
use crate::formats::mdoc::Handover;
use crate::ids::{ClaimPath, IssuerId};
use crate::request::Profile;
use crate::revocation::{
    Inquiry, Need, StatusContext, Supplied, VerifiedSource, check_count, needs_of,
};
use crate::time::UnixMillis;
use crate::trust::{Trust, TrustEntry};

impl Trust {
    /// Verifies one presentation of a `vp_token`: the text of an SD-JWT VC with its key binding
    /// JWT, or a DeviceResponse in base64url. Nothing is fetched: a credential whose status is
    /// published in a list is refused, unless its issuer's
    /// [`RevocationPolicy`](crate::trust::RevocationPolicy) is `Off`. Use [`Trust::begin`] for such
    /// credentials.
    ///
    /// The caller must check that the nonce was not used before.
    ///
    /// ```
    /// # #[cfg(feature = "rustcrypto")] {
    /// use idgate_core::crypto::rustcrypto::PROVIDER;
    /// use idgate_core::{Expected, Reason, Sent, Trust, UnixMillis};
    ///
    /// let trust = Trust::new(PROVIDER, []).unwrap(); // no issuer
    /// let now = UnixMillis(1_800_000_000_000);
    /// let sent = Sent { client_id: "redirect_uri:https://me.example", nonce: "nonce", at: now };
    /// let expected = Expected::sd_jwt_vc("https://issuer.example", sent);
    /// let refused = trust.verify("not~an~sd-jwt", &expected, now).unwrap_err();
    /// assert_eq!(refused.reason(), Reason::UntrustedIssuer);
    /// # }
    /// ```
    ///
    /// # Errors
    /// The first check that failed.
    pub fn verify(
        &self,
        vp_token: &str,
        expected: &Expected<'_>,
        now: UnixMillis,
    ) -> Result<Verified, Refused> {
        let mut presentation = self.begin(vp_token, expected, now);
        match presentation.step() {
            PresentationStep::Done(outcome) => *outcome,
            PresentationStep::Need(needs) => {
                for need in &needs {
                    presentation.supply(need, Supplied::Unavailable, now);
                }
                presentation.finish(Some(Hint::SupplyStatus))
            }
        }
    }

    /// Begins the same verification in steps: the caller supplies the status sources that it needs.
    pub fn begin<'t>(
        &'t self,
        vp_token: &'t str,
        expected: &'t Expected<'t>,
        now: UnixMillis,
    ) -> Presentation<'t> {
        let mut report = CredentialReport::default();
        let issuer = self.snapshot.entry(&IssuerId::new(expected.issuer));
        let opened = self.open(issuer, vp_token, expected, now, &mut report);
        let (asked, crls) = (BTreeSet::new(), Vec::new());
        Presentation { trust: self, expected, issuer, now, report, opened, asked, crls }
    }

    /// Checks everything but the status, and collects the questions about that.
    fn open(
        &self,
        issuer: Option<&TrustEntry>,
        vp_token: &str,
        expected: &Expected<'_>,
        now: UnixMillis,
        report: &mut CredentialReport,
    ) -> Result<Opened, VerifyError> {
        let issuer = issuer.ok_or(VerifyError::new(
            Reason::UntrustedIssuer,
            Check::Issuer,
            "the expected issuer is not trusted",
        ))?;
        let mut credential = match &expected.kind {
            Kind::SdJwtVc => self.open_sd_jwt_vc(issuer, vp_token, expected, now, report),
            Kind::Mdoc(mdoc) => self.open_mdoc(issuer, vp_token, (expected, mdoc), now, report),
        }?;
        let published = core::mem::take(&mut credential.published);
        let inquiry = Inquiry::open(published, &self.context(issuer, expected, now))?;
        Ok(Opened { credential, inquiry })
    }

    fn open_sd_jwt_vc(
        &self,
        issuer: &TrustEntry,
        vp_token: &str,
        expected: &Expected<'_>,
        now: UnixMillis,
        report: &mut CredentialReport,
    ) -> Result<AwaitingStatus, VerifyError> {
        let sent = &expected.sent;
        let (claims, paths) = (names_of(expected), expected.paths(issuer));
        let mut terms =
            terms::ExpectedSdJwtVc::new(issuer, sent.client_id, sent.nonce, sent.at, now)
                .remembering(&self.snapshot);
        terms.livemode = expected.mode.is_live();
        terms.alg = expected.alg;
        terms.claims = &claims;
        terms.claim_paths = &paths;
        verify_presentation(&self.provider, vp_token, &terms, report)
    }

    fn open_mdoc(
        &self,
        issuer: &TrustEntry,
        vp_token: &str,
        (expected, mdoc): (&Expected<'_>, &Mdoc<'_>),
        now: UnixMillis,
        report: &mut CredentialReport,
    ) -> Result<AwaitingStatus, VerifyError> {
        let Mdoc { doc_type, namespace, transcript } = mdoc;
        let mut encryption = CapturedEncryption::default();
        if let Some(key) = &transcript.key {
            encryption.encrypted_to(&self.provider, key.clone());
        }
        if let Some(apu) = transcript.apu {
            encryption = encryption.clone().with_apu(apu).unwrap_or(encryption);
        }
        let (response_uri, handovers): (&str, Vec<Handover<'_>>) = match transcript.way {
            Way::OpenId4Vp { response_uri } => (response_uri, encryption.handovers(Profile::V1_0)),
            Way::Draft { response_uri } => (response_uri, encryption.handovers(Profile::Draft)),
            Way::DcApi { origin } => ("", Vec::from([encryption.handover_of_origin(origin)])),
        };
        let sent = &expected.sent;
        let request = MdocRequest { client_id: sent.client_id, nonce: sent.nonce, response_uri };
        let claims = names_of(expected);
        let mut terms = ExpectedMdoc::new(issuer, doc_type, namespace, request, now)
            .remembering(&self.snapshot);
        terms.handovers = &handovers;
        match transcript.way {
            // Only drafts allow device MACs and additional documents.
            Way::Draft { .. } => terms.reader_key = encryption.reader_key(),
            Way::OpenId4Vp { .. } | Way::DcApi { .. } => {
                terms.documents = issuer.device_response_documents;
            }
        }
        terms.livemode = expected.mode.is_live();
        terms.alg = expected.alg;
        terms.claims = &claims;
        verify_text(&self.provider, vp_token, &terms, report)
    }

    fn context<'c>(
        &'c self,
        issuer: &'c TrustEntry,
        expected: &Expected<'_>,
        now: UnixMillis,
    ) -> StatusContext<'c> {
        StatusContext {
            provider: &self.provider,
            issuer,
            trust: Some(&self.snapshot),
            livemode: expected.mode.is_live(),
            on_unknown: None,
            now,
        }
    }
}

fn names_of(expected: &Expected<'_>) -> Vec<String> {
    expected.claims.iter().map(|name| String::from(*name)).collect()
}

impl Expected<'_> {
    /// The paths of claims: those given here, otherwise those of the issuer.
    fn paths(&self, issuer: &TrustEntry) -> Vec<(String, ClaimPath)> {
        let own = self.claim_paths.iter();
        let is_own = |claim: &str| self.claim_paths.iter().any(|(name, _)| name == claim);
        let of_issuer = issuer.claim_paths.iter().filter(|(claim, _)| !is_own(claim));
        own.chain(of_issuer).cloned().collect()
    }
}

/// The state of a [`Presentation`].
#[derive(Debug)]
#[must_use = "nothing is decided until it is done"]
#[allow(clippy::exhaustive_enums)] // another outcome would be a break anyway
pub enum PresentationStep {
    /// All checks but the status have passed. Fetch these sources in parallel and pass the results
    /// to [`Presentation::supply`]; then step again. There may be two rounds, because the signer of
    /// a status list is known only after the list is fetched.
    Need(Vec<Need>),
    /// The verification is finished.
    Done(Box<Result<Verified, Refused>>),
}

/// The verification of one presentation, in steps.
///
/// ```
/// use idgate_core::revocation::{Need, Supplied};
/// use idgate_core::{Expected, PresentationStep, Refused, Trust, UnixMillis, Verified};
///
/// fn verify(
///     trust: &Trust,
///     vp_token: &str,
///     expected: &Expected<'_>,
///     now: UnixMillis,
///     fetch: impl Fn(&Need) -> Option<Vec<u8>>,
/// ) -> Result<Verified, Refused> {
///     let mut presentation = trust.begin(vp_token, expected, now);
///     loop {
///         match presentation.step() {
///             PresentationStep::Done(outcome) => return *outcome,
///             PresentationStep::Need(needs) => {
///                 for need in &needs {
///                     let body = fetch(need);
///                     let what = body.as_deref().map_or(Supplied::Unavailable, Supplied::Bytes);
///                     presentation.supply(need, what, now);
///                 }
///             }
///         }
///     }
/// }
/// ```
#[must_use = "nothing is decided until it is done"]
pub struct Presentation<'t> {
    trust: &'t Trust,
    expected: &'t Expected<'t>,
    issuer: Option<&'t TrustEntry>,
    now: UnixMillis,
    report: CredentialReport,
    opened: Result<Opened, VerifyError>,
    /// All sources that were requested.
    asked: BTreeSet<Need>,
    /// Authentic CRLs: the signer of a list may have the same one as the signer of the credential.
    crls: Vec<VerifiedSource>,
}

/// A credential that passed every check except its status, and the questions about that.
struct Opened {
    credential: AwaitingStatus,
    inquiry: Inquiry,
}

impl Presentation<'_> {
    /// The verifications that can reuse a status source of this one. Use it as the key of a cache.
    pub fn scope(&self) -> Scope {
        let asked = (IssuerId::new(self.expected.issuer()), self.expected.format());
        Scope::of_presentation(self.trust.snapshot(), !self.expected.takes_tests(), asked)
    }

    /// The expected credential.
    pub fn expected(&self) -> &Expected<'_> {
        self.expected
    }

    /// Runs until the verification is decided, or needs a status source. It does no IO. After
    /// [`PresentationStep::Done`] it is finished: a further step refuses.
    pub fn step(&mut self) -> PresentationStep {
        if let Ok(opened) = &self.opened {
            let inquiries = core::slice::from_ref(&opened.inquiry);
            match check_count(inquiries, &mut self.asked) {
                Err(error) => self.opened = Err(error),
                Ok(()) => {
                    let needs = needs_of(inquiries);
                    if !needs.is_empty() {
                        return PresentationStep::Need(needs);
                    }
                }
            }
        }
        let hint = self.issuer.is_none().then_some(Hint::AddIssuer);
        PresentationStep::Done(Box::new(self.finish(hint)))
    }

    /// Supplies the answer to `need`, which came at `now`. An authentic source is returned for a
    /// cache: see [`Presentation::reuse`].
    ///
    /// A need that was not requested, or was already answered, changes nothing.
    pub fn supply(
        &mut self,
        need: &Need,
        what: Supplied<'_>,
        now: UnixMillis,
    ) -> Option<VerifiedSource> {
        self.now = self.now.max(now);
        let source = self.ask(|inquiry, context| inquiry.supply(need, what, context)).flatten()?;
        self.remember(&source);
        Some(source)
    }

    /// Answers a need from a source that an earlier verification under the same [`Trust`]
    /// authenticated, without a fetch. Returns `false` if the source cannot be used here.
    pub fn reuse(&mut self, source: &VerifiedSource) -> bool {
        let served = self.ask(|inquiry, context| inquiry.reuse(source, context)) == Some(true);
        if served {
            self.remember(source);
        }
        served
    }

    /// Ends the verification if its sources could not be fetched because of a fault of the caller's
    /// own machine. The refusal says so ([`Hint::TryAgain`]).
    pub fn give_up(mut self) -> Refused {
        let error = VerifyError::new(
            Reason::RevocationUnknown,
            Check::Status,
            "a status source could not be fetched",
        );
        let mut report = core::mem::take(&mut self.report);
        report.failed = Some(error.clone());
        Refused { error, report, hint: Some(Hint::TryAgain) }
    }

    fn ask<T>(&mut self, ask: impl FnOnce(&mut Inquiry, &StatusContext<'_>) -> T) -> Option<T> {
        let context = self.trust.context(self.issuer?, self.expected, self.now);
        let opened = self.opened.as_mut().ok()?;
        Some(ask(&mut opened.inquiry, &context))
    }

    /// Keeps a CRL for later questions, and answers those that a status list has just raised.
    fn remember(&mut self, source: &VerifiedSource) {
        match source {
            VerifiedSource::Crl { .. } => self.crls.push(source.clone()),
            VerifiedSource::StatusList(_) => {
                let crls = core::mem::take(&mut self.crls);
                for crl in &crls {
                    self.ask(|inquiry, context| inquiry.reuse(crl, context));
                }
                self.crls = crls;
            }
        }
    }

    fn finish(&mut self, hint: Option<Hint>) -> Result<Verified, Refused> {
        let over = VerifyError::new(
            Reason::MalformedPresentation,
            Check::Submission,
            "the presentation was already decided",
        );
        let mut report = core::mem::take(&mut self.report);
        let opened = core::mem::replace(&mut self.opened, Err(over));
        let settled = opened
            .and_then(|Opened { credential, inquiry }| settle(credential, &inquiry, &mut report));
        settled.map(|credential| Verified { credential, report: report.clone() }).map_err(|error| {
            report.failed = Some(error.clone());
            let is_unknown = error.reason == Reason::RevocationUnknown;
            let hint = hint.filter(|hint| *hint != Hint::SupplyStatus || is_unknown);
            Refused { error, report, hint }
        })
    }
}

/// Omits the presentation.
impl fmt::Debug for Presentation<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Presentation({:?})", self.expected)
    }
}
