//! The credential endpoint and the notification endpoint (OpenID4VCI 8 and 11).

use bytes::Bytes;
use hyper::{Response, StatusCode};
use serde_json::{Map, Value, json};

use super::digests::{digest, secret};
use super::dpop;
use super::offers::Progress;
use super::proofs::{self, Expected};
use super::refusal::{Refusal, no_store, nothing};
use super::requests::{access_token, object};
use super::routes::Asked;
use super::samples::Sample;
use super::signers::Wanted;
use super::token::configuration_of;
use super::{Inner, Phones, Said};
use crate::limits::{NONCE_LIFE_MS, PHONE_SAMPLE_DAYS};
use idgate_testkit::time::DAY_MS;

/// Whether the request has the form of drafts 13 and 14.
fn is_of_draft(request: &Map<String, Value>) -> bool {
    let names = ["credential_configuration_id", "credential_identifier"];
    let names_none = !names.iter().any(|name| request.contains_key(*name));
    request.contains_key("proof") || names_none && request.contains_key("format")
}

impl Phones {
    /// # Errors
    /// Those of OpenID4VCI 8.3.1, RFC 6750 and RFC 9449.
    pub(super) fn credential(
        &self,
        asked: Asked<'_>,
        said: &mut Said,
    ) -> Result<Response<Bytes>, Refusal> {
        let Asked { issuer, body, .. } = asked;
        let now_ms = self.now_ms();
        let mut inner = self.inner();
        let (token, sample) = authorize(&mut inner, asked, "credential", now_ms, said)?;
        let malformed = |rule| Refusal::new("invalid_credential_request", rule);
        let body = body.ok_or_else(|| {
            malformed("the body is too long").with_status(StatusCode::PAYLOAD_TOO_LARGE)
        })?;
        let request = object(body, "invalid_credential_request")?;
        if request.contains_key("credential_response_encryption") {
            let rule = "this issuer does not encrypt responses";
            return Err(Refusal::new("invalid_encryption_parameters", rule));
        }
        let is_draft = is_of_draft(&request);
        said.proof_type = proofs::kind_of(&request);
        let configuration = configuration(&request, is_draft)?;
        said.configuration = Some(configuration);
        let wanted = sample.has_id(configuration).then_some(sample);
        let denied = |rule| Refusal::new("credential_request_denied", rule);
        let sample = wanted.ok_or_else(|| denied("the offer is for another credential"))?;
        if inner.offers.token(&token, now_ms).is_none_or(|token| token.is_used) {
            return Err(denied("the offer's only batch was already issued"));
        }
        let proven = {
            let nonces = inner.nonces(issuer);
            let (issuer, attested) = (issuer.id.as_str(), issuer.attested);
            let expected = Expected { issuer, attested, nonces, now_ms };
            let proven = proofs::verify(&request, &expected);
            proven.map_err(|refusal| as_of_draft(refusal, is_draft, nonces.make(now_ms).ok()))?
        };
        for nonce in &proven.nonces {
            let burned = inner.nonces_mut(issuer).burn(nonce, now_ms);
            burned.map_err(|_| Refusal::unavailable("too many used nonces are remembered"))?;
        }
        let unavailable = |_: String| Refusal::unavailable("the sandbox cannot issue more now");
        let (offer, now_end) = (said.offer.clone(), now_ms.saturating_add(life_ms()));
        let notification = secret().map_err(unavailable)?;
        let places = inner.issued.take(&offer, proven.keys.len(), now_end, now_ms);
        let places = places.map_err(unavailable)?;
        let mut credentials = Vec::with_capacity(places.len());
        for (holder, idx) in proven.keys.iter().zip(places) {
            let is_old = sample.draft_id() == Some(configuration);
            let wanted = Wanted { sample, is_draft: is_old, holder, idx, issuer: &self.plain.id };
            credentials.push(self.signers.issue(&wanted, now_ms).map_err(unavailable)?);
        }
        if let Some(token) = inner.offers.token(&token, now_ms) {
            token.is_used = true;
            token.notification = Some(digest(&notification));
        }
        said.progress = Some(Progress::Issued);
        let mut answer = Map::new();
        if let (true, Some(first)) = (is_draft, credentials.first()) {
            answer.insert("credential".into(), first.as_str().into());
        }
        let all: Vec<Value> =
            credentials.iter().map(|text| json!({ "credential": text })).collect();
        answer.insert("credentials".into(), all.into());
        answer.insert("notification_id".into(), notification.into());
        Ok(no_store(StatusCode::OK, &Value::Object(answer)))
    }

    /// # Errors
    /// Those of OpenID4VCI 11.3, RFC 6750 and RFC 9449.
    pub(super) fn notification(
        &self,
        asked: Asked<'_>,
        said: &mut Said,
    ) -> Result<Response<Bytes>, Refusal> {
        const MALFORMED: &str = "invalid_notification_request";
        let now_ms = self.now_ms();
        let mut inner = self.inner();
        let (token, _) = authorize(&mut inner, asked, "notification", now_ms, said)?;
        let body = asked.body.ok_or_else(|| {
            let refusal = Refusal::new(MALFORMED, "the body is too long");
            refusal.with_status(StatusCode::PAYLOAD_TOO_LARGE)
        })?;
        let request = object(body, MALFORMED)?;
        let text = |name: &str| request.get(name).and_then(Value::as_str);
        let progress = match text("event") {
            Some("credential_accepted") => (Progress::Stored, None),
            Some("credential_failure") => {
                (Progress::Failed, Some("the wallet says that it could not store the credential"))
            }
            Some("credential_deleted") => {
                (Progress::Failed, Some("the wallet says that the person deleted the credential"))
            }
            _ => return Err(Refusal::new(MALFORMED, "event is unknown")),
        };
        let id = text("notification_id")
            .ok_or_else(|| Refusal::new(MALFORMED, "notification_id is missing"))?;
        let known = inner.offers.token(&token, now_ms).and_then(|token| token.notification.clone());
        if known != Some(digest(id)) {
            let rule = "notification_id does not belong to this token";
            return Err(Refusal::new("invalid_notification_id", rule));
        }
        (said.progress, said.reason) = (Some(progress.0), progress.1);
        Ok(nothing())
    }
}

/// The access token of a request, and its sample. The `jti` of a DPoP proof is used up whatever the
/// outcome, because the proof does not cover the body.
fn authorize(
    inner: &mut Inner,
    asked: Asked<'_>,
    endpoint: &str,
    now_ms: u64,
    said: &mut Said,
) -> Result<(String, Sample), Refusal> {
    let Asked { issuer, head, .. } = asked;
    let (scheme, text) = access_token(head)?;
    let token = inner.offers.present(text, issuer.attested, now_ms).ok_or_else(|| {
        Refusal::of_token(scheme, "invalid_token", "the access token is unknown or expired")
    })?;
    said.is_about(&token.offer, token.sample);
    let (sample, bound_to) = (token.sample, token.bound_to.clone());
    match (scheme, bound_to) {
        ("DPoP", Some(thumbprint)) => {
            let url = format!("{}/{endpoint}", issuer.id);
            let proof = dpop::prove(&head.headers, &url, Some(text), now_ms).map_err(bad_proof)?;
            let proof = proof.ok_or_else(|| bad_proof("the request has no DPoP proof"))?;
            if proof.thumbprint != thumbprint {
                let rule = "the DPoP proof uses another key than the access token";
                return Err(Refusal::of_token("DPoP", "invalid_token", rule));
            }
            inner.take_once(Some(proof.jti), now_ms, bad_proof)?;
            Ok((text.to_owned(), sample))
        }
        (_, Some(_)) => {
            let rule = "the access token is bound to a key but was sent as a bearer token";
            Err(Refusal::of_token("DPoP", "invalid_token", rule))
        }
        ("DPoP", None) => {
            let rule = "the access token is a bearer token but was sent with DPoP";
            Err(Refusal::of_token("Bearer", "invalid_token", rule))
        }
        _ => Ok((text.to_owned(), sample)),
    }
}

fn bad_proof(rule: &'static str) -> Refusal {
    Refusal::of_token("DPoP", "invalid_dpop_proof", rule)
}

/// The requested configuration: named by exactly one of the two ids, or in drafts 13 and 14 by
/// format and type.
fn configuration(request: &Map<String, Value>, is_draft: bool) -> Result<&'static str, Refusal> {
    let text = |name: &str| request.get(name).and_then(Value::as_str);
    let malformed = |rule| Refusal::new("invalid_credential_request", rule);
    let known = |id: &str| {
        let all = Sample::ALL.into_iter();
        all.flat_map(|sample| [Some(sample.id()), sample.draft_id()])
            .flatten()
            .find(|one| *one == id)
    };
    let unknown = |error: &'static str, rule| match is_draft {
        true => Refusal::new("unsupported_credential_type", rule),
        false => Refusal::new(error, rule),
    };
    let by_id = request.get("credential_configuration_id");
    match (by_id, request.get("credential_identifier")) {
        (Some(_), Some(_)) => {
            Err(malformed("a request must name a configuration or an identifier, not both"))
        }
        (Some(_), None) => {
            let id = text("credential_configuration_id");
            let id = id.ok_or_else(|| malformed("credential_configuration_id is not a text"))?;
            let rule = "this issuer has no such configuration";
            known(id).ok_or_else(|| unknown("unknown_credential_configuration", rule))
        }
        (None, Some(_)) => {
            let id = text("credential_identifier");
            let id = id.ok_or_else(|| malformed("credential_identifier is not a text"))?;
            let rule = "this issuer gave no such identifier";
            let id = configuration_of(id).and_then(known);
            id.ok_or_else(|| unknown("unknown_credential_identifier", rule))
        }
        (None, None) if is_draft => {
            let format = text("format").unwrap_or_default();
            let kind = text("vct").or(text("doctype")).unwrap_or_default();
            let sample = Sample::ALL.into_iter().find(|sample| sample.kind() == kind);
            let found = sample.and_then(|sample| match format {
                "mso_mdoc" if sample.is_mdoc() => Some(sample.id()),
                "dc+sd-jwt" if !sample.is_mdoc() => Some(sample.id()),
                "vc+sd-jwt" => sample.draft_id(),
                _ => None,
            });
            let rule = "this issuer has no credential of that format and type";
            found.ok_or_else(|| unknown("unsupported_credential_type", rule))
        }
        (None, None) => Err(malformed("the request names no credential")),
    }
}

/// Wallets of drafts 13 and 14 get a new nonce in the error (draft 14 7.3.2).
fn as_of_draft(refusal: Refusal, is_draft: bool, nonce: Option<String>) -> Refusal {
    match (is_draft, refusal.error, nonce) {
        (true, Some("invalid_nonce" | "invalid_proof"), Some(nonce)) => {
            Refusal::new("invalid_proof", refusal.rule)
                .with("c_nonce", nonce.into())
                .with("c_nonce_expires_in", (NONCE_LIFE_MS / 1000).into())
        }
        _ => refusal,
    }
}

const fn life_ms() -> u64 {
    PHONE_SAMPLE_DAYS.saturating_mul(DAY_MS)
}
