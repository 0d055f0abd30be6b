//! From a well-formed answer to a result or a reason; verdicts are made only here.

use alloc::string::String;
use alloc::vec::Vec;

use super::asking::{Asking, Presented};
use super::conclude::{conclude, settle};
use super::expected::ExpectedSdJwtVc;
use super::mdoc::{self, ExpectedMdoc};
use super::party::Party;
use super::proof::{AwaitingStatus, VerifiedCredential};
use super::report::{CredentialReport, Report};
use super::sd_jwt::verify_presentation;
use super::subject_groups::same_subject;
use super::transaction_data::check_all_agreed;
use super::{Verification, details};
use crate::codec::json::json_text;
use crate::crypto::CryptoProvider;
use crate::error::{Check, Reason, VerifyError};
use crate::request::{CredentialFormat, CredentialRequest, Profile, RequestForm};
use crate::response::{AnswerEncryption, Content, answered, assign};
use crate::revocation::{Inquiry, StatusContext};
use crate::session::SessionResult;
use crate::trust::{DeviceResponseDocuments, TrustEntry};

/// Verifies one SD-JWT VC presentation outside a session, for example a captured one. It makes
/// every check that a session makes, except those that concern several credentials.
///
/// # Errors
/// The first check that failed; `report` has those that passed.
pub fn verify_sd_jwt_vc(
    provider: &CryptoProvider,
    presentation: &str,
    expected: &ExpectedSdJwtVc<'_>,
    report: &mut CredentialReport,
) -> Result<VerifiedCredential, VerifyError> {
    let awaiting = verify_presentation(provider, presentation, expected, report);
    let context = StatusContext {
        provider,
        issuer: expected.issuer,
        trust: None,
        livemode: expected.livemode,
        on_unknown: None,
        now: expected.now,
    };
    conclude(awaiting, &context, report)
}

impl<'s> Verification<'s> {
    /// Evaluates the whole answer except its status, and collects the questions about that. The
    /// report has the check that failed; the session keeps only its reason.
    pub(super) fn evaluate(&self, report: &mut Report) -> Result<Presented<'s>, Reason> {
        let outcome = self.verify_all(report).and_then(|mut presented| {
            presented.inquiries = self.inquire(&mut presented, report)?;
            Ok(presented)
        });
        outcome.map_err(|error| note(error, report))
    }

    /// The result, after every question is answered.
    pub(super) fn conclude(&self, asking: &mut Asking<'_>) -> Result<SessionResult, Reason> {
        let Presented { asked, awaiting, inquiries, origin } = &mut asking.presented;
        let mut verified = Vec::with_capacity(awaiting.len());
        let awaiting = core::mem::take(awaiting);
        let report = &mut asking.report;
        let questions = awaiting.into_iter().zip(inquiries);
        for ((credential, inquiry), report) in questions.zip(&mut report.credentials) {
            let settled = settle(credential, inquiry, report);
            verified.push(settled.map_err(|error| {
                report.failed = Some(error.clone());
                error.reason
            })?);
        }
        let details = details::render(self, asked, &verified, *origin);
        Ok(SessionResult::new(self.claims(asked, &verified), details, self.now))
    }

    fn verify_all(&self, report: &mut Report) -> Result<Presented<'s>, VerifyError> {
        let request = &self.session.request;
        let presented = self.presentations()?;
        let mut party = Party::of(self.offer);
        if let Some(AnswerEncryption::Hpke { origin }) = &self.encryption {
            party.be_of(origin);
        }
        let sd_jwt = presented.iter().find_map(|(_, presentation)| match presentation {
            Presentation::SdJwtVc(text) => Some(text),
            Presentation::Mdoc(_) | Presentation::DeviceResponse(_) => None,
        });
        if let Some(text) = sd_jwt {
            party.be_named_by(text);
        }
        let (mut asked, mut awaiting) = (Vec::new(), Vec::new());
        for (credential, presentation) in presented {
            let verified = self.verify_one(credential, presentation, &party, report)?;
            if let Some(origin) = &verified.origin {
                party.be_of(origin);
            }
            awaiting.push(verified);
            asked.push(credential);
        }
        self.check_groups(&asked, &awaiting)?;
        self.check_distinct(&asked, &awaiting)?;
        let agreed = awaiting.iter().flat_map(|awaiting| &awaiting.facts.transaction_data);
        check_all_agreed(&request.transaction_data, agreed)?;
        Ok(Presented { asked, awaiting, inquiries: Vec::new(), origin: party.origin() })
    }

    /// The presentation for each credential, in the order of the request.
    fn presentations(&self) -> Result<Vec<(&'s CredentialRequest, Presentation<'_>)>, VerifyError> {
        let request = &self.session.request;
        match &self.answer {
            Content::Presentation { vp_token, submission } => {
                let definition_id = self.session.definition_id();
                let texts = assign(request, definition_id, vp_token, submission.as_deref())?;
                let presented = request.credentials.iter().zip(texts);
                let of_format = |asked: &CredentialRequest, text| match asked.format {
                    CredentialFormat::SdJwtVc => Presentation::SdJwtVc(text),
                    CredentialFormat::Mdoc => Presentation::Mdoc(text),
                };
                Ok(presented
                    .filter_map(|(asked, text)| Some((asked, of_format(asked, text?))))
                    .collect())
            }
            Content::DeviceResponse(bytes) => {
                let answered = answered(request, bytes)?.into_iter();
                Ok(answered.map(|asked| (asked, Presentation::DeviceResponse(bytes))).collect())
            }
            Content::Error(_) => {
                let nothing = "an error presents nothing";
                Err(VerifyError::new(Reason::SubmissionMismatch, Check::Submission, nothing))
            }
        }
    }

    /// Only after every other check: collects the questions about each credential's status.
    fn inquire(
        &self,
        presented: &mut Presented<'_>,
        report: &mut Report,
    ) -> Result<Vec<Inquiry>, VerifyError> {
        let (session, now) = (self.session, self.now);
        let Presented { asked, awaiting, .. } = presented;
        let mut inquiries = Vec::with_capacity(awaiting.len());
        let asked = asked.iter().zip(awaiting);
        for ((credential, awaiting), report) in asked.zip(&mut report.credentials) {
            let published = core::mem::take(&mut awaiting.published);
            let context = self.basis.status_context(credential, session, now);
            let opened = match &context {
                Some(context) => Inquiry::open(published, context),
                None => Err(withdrawn()),
            };
            inquiries.push(opened.inspect_err(|error| report.failed = Some(error.clone()))?);
        }
        Ok(inquiries)
    }

    fn verify_one(
        &self,
        credential: &CredentialRequest,
        presentation: Presentation<'_>,
        party: &Party<'_>,
        report: &mut Report,
    ) -> Result<AwaitingStatus, VerifyError> {
        let mut made = CredentialReport {
            id: credential.id.clone(),
            profile: Some(self.offer.profile()),
            ..Default::default()
        };
        made.pass(Check::Submission);
        let result = self.trust_entry(credential).and_then(|issuer| {
            let provider = self.basis.provider;
            let handovers = self.handovers(party);
            match presentation {
                Presentation::SdJwtVc(text) => {
                    let expected = self.expected(credential, issuer, party);
                    verify_presentation(provider, text, &expected, &mut made)
                }
                Presentation::Mdoc(text) => {
                    let expected = self.expected_mdoc(credential, issuer, &handovers);
                    mdoc::verify_text(provider, text, &expected, &mut made)
                }
                Presentation::DeviceResponse(bytes) => {
                    let expected = ExpectedMdoc {
                        // One response answers the whole request.
                        documents: DeviceResponseDocuments::Any,
                        ..self.expected_mdoc(credential, issuer, &handovers)
                    };
                    mdoc::verify_document(provider, bytes, &expected, &mut made)
                }
            }
        });
        if let Err(error) = &result {
            made.failed = Some(error.clone());
        }
        report.credentials.push(made);
        result
    }

    /// The current entry: trust that the operator withdrew after the session was created no longer
    /// counts.
    fn trust_entry(&self, credential: &CredentialRequest) -> Result<&TrustEntry, VerifyError> {
        self.basis.trust.entry(&credential.issuer_id).ok_or(withdrawn())
    }

    /// The credentials of a group that are there must be about one person. A single one is not
    /// compared.
    fn check_groups(
        &self,
        asked: &[&CredentialRequest],
        awaiting: &[AwaitingStatus],
    ) -> Result<(), VerifyError> {
        for group in &self.session.request.same_subject_groups {
            let subjects: Vec<_> = asked
                .iter()
                .zip(awaiting)
                .filter(|(credential, _)| group.contains(&credential.id))
                .map(|(_, awaiting)| &awaiting.subject)
                .collect();
            if subjects.len() >= 2 && !same_subject(&subjects) {
                let detail = "credentials of a group are not about the same person";
                return Err(VerifyError::new(Reason::SubjectMismatch, Check::SameSubject, detail));
            }
        }
        Ok(())
    }

    /// Two queries for the same claims need two different credentials, and so do all queries if the
    /// tenant says so. Otherwise one credential could, for example, prove two parents. `draft`
    /// compares the presentations themselves.
    fn check_distinct(
        &self,
        asked: &[&CredentialRequest],
        awaiting: &[AwaitingStatus],
    ) -> Result<(), VerifyError> {
        if self.offer.profile() == Profile::Draft {
            return Ok(());
        }
        let all = self.session.request.distinct_credentials;
        for (at, (first, one)) in asked.iter().zip(awaiting).enumerate() {
            for (second, other) in asked.iter().zip(awaiting).skip(at.saturating_add(1)) {
                if one.issued == other.issued && (all || first.asks_for_the_claims_of(second)) {
                    let detail = "one credential answers two queries that require different \
                                  credentials";
                    let (reason, check) = (Reason::SubmissionMismatch, Check::Submission);
                    return Err(VerifyError::new(reason, check, detail));
                }
            }
        }
        Ok(())
    }

    /// `{claim: value}` in the legacy form, `{credential id: {claim: value}}` in the custom form.
    fn claims(&self, asked: &[&CredentialRequest], verified: &[VerifiedCredential]) -> String {
        let mut json = String::new();
        match (self.session.request.form, verified) {
            (RequestForm::Legacy, [only]) => json.push_str(only.claims().as_json()),
            _ => {
                json.push('{');
                for (credential, verified) in asked.iter().zip(verified) {
                    if json.len() > 1 {
                        json.push(',');
                    }
                    json.push_str(&json_text(&credential.id));
                    json.push(':');
                    json.push_str(verified.claims().as_json());
                }
                json.push('}');
            }
        }
        json
    }

    pub(super) fn offer(&self) -> &crate::session::Offer {
        self.offer
    }

    pub(super) fn provider(&self) -> &CryptoProvider {
        self.basis.provider
    }
}

/// The presentation for one credential.
#[derive(Clone, Copy)]
enum Presentation<'p> {
    /// The text in `vp_token`.
    SdJwtVc(&'p str),
    /// A DeviceResponse in base64url, in `vp_token`.
    Mdoc(&'p str),
    /// One response for all credentials.
    DeviceResponse(&'p [u8]),
}

/// A failure that concerns no single credential counts for the whole answer.
pub(super) fn note(error: VerifyError, report: &mut Report) -> Reason {
    let reason = error.reason;
    if report.error().is_none() {
        report.failed = Some(error);
    }
    reason
}

const fn withdrawn() -> VerifyError {
    let detail = "the trust entry was removed after the session was made";
    VerifyError::new(Reason::UntrustedIssuer, Check::Issuer, detail)
}
