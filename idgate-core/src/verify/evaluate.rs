//! From a well-formed answer to a result or one reason (architecture: the only place that decides).

use alloc::string::String;
use alloc::vec::Vec;

use super::Verification;
use super::check::{Check, CredentialReport, Report};
use super::details;
use super::expected::Expected;
use super::proof::{AwaitingStatus, Revocation, StatusSettled, VerifiedCredential};
use super::sd_jwt::verify_presentation;
use super::subject_groups::same_subject;
use crate::crypto::CryptoProvider;
use crate::error::{Reason, VerifyError};
use crate::request::{CredentialFormat, CredentialRequest, RequestForm};
use crate::response::{VpToken, assign};
use crate::session::VerifiedResult;
use crate::status::{StatusDuty, duty};
use crate::trust::{RevocationPolicy, TrustEntry};

/// Verifies one SD-JWT VC presentation outside a session, as a captured one. Every check of a
/// session's is made, except those that concern several credentials.
///
/// ```
/// # #[cfg(feature = "rustcrypto")] {
/// use idgate_core::crypto::rustcrypto::PROVIDER;
/// use idgate_core::verify::{CredentialReport, Expected, verify_sd_jwt_vc};
/// use idgate_core::{Reason, TrustEntry, UnixMillis, ids::IssuerId};
///
/// let issuer = TrustEntry::new(IssuerId::new("https://issuer.example"));
/// let now = UnixMillis::from_secs(1_800_000_000);
/// let expected = Expected::new(&issuer, "redirect_uri:https://me.example", "nonce", now, now);
/// let mut report = CredentialReport::default();
/// let refused = verify_sd_jwt_vc(&PROVIDER, "not~an~sd-jwt", &expected, &mut report);
/// assert_eq!(refused.unwrap_err().reason, Reason::MalformedPresentation);
/// # }
/// ```
///
/// # Errors
/// The first check that failed; `report` has those that passed.
pub fn verify_sd_jwt_vc(
    provider: &CryptoProvider,
    presentation: &str,
    expected: &Expected<'_>,
    report: &mut CredentialReport,
) -> Result<VerifiedCredential, VerifyError> {
    let result = verify_presentation(provider, presentation, expected, report)
        .and_then(|credential| settle(credential, expected.issuer.revocation, report));
    if let Err(error) = &result {
        report.failed = Some(error.clone());
    }
    result
}

/// Revocation, last of all checks (decisions 7).
fn settle(
    credential: AwaitingStatus,
    policy: RevocationPolicy,
    report: &mut CredentialReport,
) -> Result<VerifiedCredential, VerifyError> {
    let status = match duty(policy, credential.publishes_status) {
        StatusDuty::Off => Ok((Revocation::Off, StatusSettled::assertion())),
        StatusDuty::NotPublished => Ok((Revocation::NotPublished, StatusSettled::assertion())),
        StatusDuty::Unknown => Err(VerifyError::new(
            Reason::RevocationUnknown,
            Check::Status,
            "the status cannot be established",
        )),
    };
    let verified = VerifiedCredential::new(credential, status)?;
    report.pass(Check::Status);
    Ok(verified)
}

impl Verification<'_> {
    /// The whole answer. The report names the check that failed; the session keeps its reason.
    pub(super) fn evaluate(
        &self,
        vp_token: &VpToken<'_>,
        submission: &str,
        report: &mut Report,
    ) -> Result<VerifiedResult, Reason> {
        let outcome = self.verify_all(vp_token, submission, report);
        outcome.map_err(|error| {
            let reason = error.reason;
            if report.error().is_none() {
                report.failed = Some(error);
            }
            reason
        })
    }

    fn verify_all(
        &self,
        vp_token: &VpToken<'_>,
        submission: &str,
        report: &mut Report,
    ) -> Result<VerifiedResult, VerifyError> {
        let request = &self.session.request;
        let definition_id = self.session.definition_id();
        let presentations = assign(request, definition_id, vp_token, submission)?;
        let mut awaiting = Vec::with_capacity(presentations.len());
        for (credential, text) in request.credentials.iter().zip(presentations) {
            awaiting.push(self.verify_one(credential, text, report)?);
        }
        self.check_groups(&awaiting)?;
        let mut verified = Vec::with_capacity(awaiting.len());
        for ((credential, policy), report) in awaiting.into_iter().zip(&mut report.credentials) {
            let settled = settle(credential, policy, report);
            if let Err(error) = &settled {
                report.failed = Some(error.clone());
            }
            verified.push(settled?);
        }
        let details = details::render(self, &verified);
        Ok(VerifiedResult::new(self.claims(&verified), details, self.now))
    }

    fn verify_one(
        &self,
        credential: &CredentialRequest,
        text: &str,
        report: &mut Report,
    ) -> Result<(AwaitingStatus, RevocationPolicy), VerifyError> {
        let mut made = CredentialReport { id: credential.id.clone(), ..Default::default() };
        made.pass(Check::Submission);
        let result = self.trust_entry(credential).and_then(|issuer| {
            let expected = self.expected(credential, issuer);
            let awaiting = match credential.format {
                CredentialFormat::SdJwtVc => {
                    verify_presentation(&self.verifier.provider, text, &expected, &mut made)?
                }
                CredentialFormat::Mdoc => return Err(unsupported()),
            };
            Ok((awaiting, issuer.revocation))
        });
        if let Err(error) = &result {
            made.failed = Some(error.clone());
        }
        report.credentials.push(made);
        result
    }

    /// The entry in force now: what the operator withdrew since creation is withdrawn.
    fn trust_entry(&self, credential: &CredentialRequest) -> Result<&TrustEntry, VerifyError> {
        self.verifier.trust.entry(&credential.issuer_id).ok_or(VerifyError::new(
            Reason::UntrustedIssuer,
            Check::Issuer,
            "the trust entry was removed after the session was made",
        ))
    }

    fn expected<'e>(
        &'e self,
        credential: &'e CredentialRequest,
        issuer: &'e TrustEntry,
    ) -> Expected<'e> {
        let session = self.session;
        Expected {
            livemode: session.livemode,
            alg: credential.alg,
            claims: &credential.claims,
            filters: &credential.claim_filters,
            subject_paths: &credential.subject_claim_paths,
            vct: &credential.vct,
            ..Expected::new(
                issuer,
                session.client_identifier.as_str(),
                session.nonce.expose(),
                session.created_at,
                self.now,
            )
        }
    }

    fn check_groups(
        &self,
        awaiting: &[(AwaitingStatus, RevocationPolicy)],
    ) -> Result<(), VerifyError> {
        let request = &self.session.request;
        for group in &request.same_subject_groups {
            let members: Vec<_> = request
                .credentials
                .iter()
                .zip(awaiting)
                .filter(|(credential, _)| group.contains(&credential.id))
                .map(|(_, (awaiting, _))| &awaiting.subject)
                .collect();
            if members.len() != group.len() || !same_subject(&members) {
                let detail = "credentials of a group are not about the same person";
                return Err(VerifyError::new(Reason::SubjectMismatch, Check::SameSubject, detail));
            }
        }
        Ok(())
    }

    /// `{claim: value}` in the legacy form, `{credential id: {claim: value}}` in the custom form.
    fn claims(&self, verified: &[VerifiedCredential]) -> String {
        let request = &self.session.request;
        let mut json = String::new();
        match (request.form, verified) {
            (RequestForm::Legacy, [only]) => json.push_str(only.claims().as_json()),
            _ => {
                json.push('{');
                for (credential, verified) in request.credentials.iter().zip(verified) {
                    if json.len() > 1 {
                        json.push(',');
                    }
                    json.push_str(&details::json_string(&credential.id));
                    json.push(':');
                    json.push_str(verified.claims().as_json());
                }
                json.push('}');
            }
        }
        json
    }

    pub(super) fn session(&self) -> &crate::session::Session {
        self.session
    }

    pub(super) fn provider(&self) -> &CryptoProvider {
        &self.verifier.provider
    }
}

/// No trust entry can serve an mdoc, so no session asks for one.
fn unsupported() -> VerifyError {
    let detail = "mdoc presentations are not verified";
    VerifyError::new(Reason::SubmissionMismatch, Check::Submission, detail)
}
