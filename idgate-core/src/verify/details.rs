//! `verification_details`: the facts for a tenant in addition to the claims.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use serde::Serialize;
use serde_json::value::RawValue;

use super::Verification;
use super::proof::VerifiedCredential;
use crate::codec::hex;
use crate::codec::json::json_text;
use crate::request::{CredentialRequest, TransactionData};
use crate::time::UnixMillis;
use crate::trust::ListedBy;

#[derive(Serialize)]
struct Details<'d> {
    request_mode: &'static str,
    /// Present if the verifier or the tenant uses more than `draft`.
    #[serde(skip_serializing_if = "Option::is_none")]
    profile: Option<&'static str>,
    /// The origin of the page whose browser delivered the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    origin: Option<&'d str>,
    verified_at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_code: Option<&'d str>,
    credentials: Vec<CredentialDetails<'d>>,
    same_subject: Vec<Group<'d>>,
}

#[derive(Serialize)]
struct CredentialDetails<'d> {
    id: &'d str,
    format: &'static str,
    issuer_id: &'d str,
    credential_type: &'d str,
    issuer: Option<&'d str>,
    alg: &'static str,
    holder_binding: &'static str,
    trust: &'static str,
    trust_anchor_sha256: String,
    /// Present if a trusted list names the issuer.
    #[serde(skip_serializing_if = "Option::is_none")]
    provider: Option<&'d ListedBy>,
    valid_from: Option<String>,
    valid_until: Option<String>,
    revocation: &'static str,
    revocation_details: Revocations,
    #[serde(skip_serializing_if = "Option::is_none")]
    session_transcript: Option<&'static str>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    decided_by: BTreeMap<&'d str, &'d str>,
    /// Present, with the value true, only if the rule was waived.
    #[serde(skip_serializing_if = "Option::is_none")]
    issuing_country_unbound: Option<bool>,
    /// Present only if something was tolerated.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    tolerated: &'d [&'static str],
    /// The transaction data that the holder approved with this credential, as the tenant requested
    /// it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    transaction_data: Vec<Box<RawValue>>,
}

#[derive(Serialize)]
struct Revocations {
    credential: &'static str,
    signer: &'static str,
}

#[derive(Serialize)]
struct Group<'d> {
    ids: Vec<&'d str>,
    matched: bool,
}

impl<'d> Group<'d> {
    /// The members of a group that are there; `None`: too few to compare.
    fn of(ids: &'d [String], asked: &[&CredentialRequest]) -> Option<Self> {
        let came = |id: &&'d str| asked.iter().any(|credential| credential.id == **id);
        let ids: Vec<_> = ids.iter().map(String::as_str).filter(came).collect();
        (ids.len() >= 2).then_some(Self { ids, matched: true })
    }
}

pub(super) fn render(
    verification: &Verification<'_>,
    asked: &[&CredentialRequest],
    verified: &[VerifiedCredential],
    origin: Option<&str>,
) -> String {
    let session = verification.session();
    let (request, offer) = (session.request(), verification.offer());
    let credentials = asked.iter().zip(verified).map(|(asked, verified)| {
        let facts = verified.facts();
        let revocation = verified.revocation_details();
        CredentialDetails {
            id: &asked.id,
            format: asked.format.name(),
            issuer_id: asked.issuer_id.as_str(),
            credential_type: &facts.credential_type,
            issuer: facts.issuer.as_deref(),
            alg: facts.alg.name(),
            holder_binding: facts.holder_binding.name(),
            trust: facts.trust.name(),
            trust_anchor_sha256: hex::encode(
                facts.trust.anchor_sha256(verification.provider()).as_bytes(),
            ),
            provider: facts.listed_by.as_deref(),
            valid_from: facts.valid_from.map(|at: UnixMillis| at.to_string()),
            valid_until: facts.valid_until.map(|at| at.to_string()),
            revocation: revocation.summary().name(),
            revocation_details: Revocations {
                credential: revocation.credential.name(),
                signer: revocation.signer.name(),
            },
            session_transcript: facts.session_transcript,
            decided_by: facts.decided_by.iter().map(|(name, by)| (&**name, &**by)).collect(),
            issuing_country_unbound: facts.issuing_country_unbound.then_some(true),
            tolerated: &facts.tolerated,
            transaction_data: facts.transaction_data.iter().filter_map(as_asked).collect(),
        }
    });
    let details = Details {
        request_mode: offer.shape().request_mode(),
        profile: verification.session().names_profile().then(|| offer.profile().name()),
        origin,
        verified_at: verification.now.to_string(),
        response_code: verification.response_code.as_deref(),
        credentials: credentials.collect(),
        same_subject: request
            .same_subject_groups
            .iter()
            .filter_map(|ids| Group::of(ids, asked))
            .collect(),
    };
    json_text(&details)
}

fn as_asked(data: &TransactionData) -> Option<Box<RawValue>> {
    RawValue::from_string(data.as_asked()?).ok()
}
