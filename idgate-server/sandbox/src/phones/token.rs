//! The token endpoint: exchanges a pre-authorized code, and the code that the person typed, for an
//! access token (OpenID4VCI 6).

use bytes::Bytes;
use hyper::http::request::Parts;
use hyper::{Response, StatusCode};
use serde_json::{Map, Value, json};

use super::attestation::verify_client;
use super::digests::{Full, digest};
use super::dpop;
use super::offers::{PRE_AUTHORIZED, Progress};
use super::refusal::{Refusal, no_store};
use super::requests::Form;
use super::samples::Sample;
use super::{Inner, Issuer, Phones, Said};
use crate::limits::{MAX_CLOCK_AHEAD_MS, MAX_JWT_AGE_MS, NONCE_LIFE_MS, TOKEN_LIFE_MS};

impl Phones {
    /// # Errors
    /// Those of OpenID4VCI 6.3, RFC 9449 5 and of attestations.
    pub(super) fn token(
        &self,
        issuer: &Issuer,
        head: &Parts,
        body: &Bytes,
        said: &mut Said,
    ) -> Result<Response<Bytes>, Refusal> {
        let form = Form::read(head, body)?;
        let invalid = |rule| Refusal::new("invalid_request", rule);
        match form.get("grant_type") {
            None => return Err(invalid("grant_type is missing")),
            Some(PRE_AUTHORIZED) => {}
            Some(_) => {
                let rule = "grant_type is not that of pre-authorized codes";
                return Err(Refusal::new("unsupported_grant_type", rule));
            }
        }
        let now_ms = self.now_ms();
        let code = form.get("pre-authorized_code");
        self.name_offer(code, issuer, now_ms, said);
        let invalid_client =
            |rule| Refusal::new("invalid_client", rule).with_status(StatusCode::UNAUTHORIZED);
        let client = form.get("client_id");
        let attested = verify_client(&head.headers, client, &issuer.id, issuer.attested, now_ms);
        let attested = attested.map_err(invalid_client)?;
        let bad_proof = |rule| Refusal::new("invalid_dpop_proof", rule);
        let url = format!("{}/token", issuer.id);
        let proof = dpop::prove(&head.headers, &url, None, now_ms).map_err(bad_proof)?;
        let code = code.ok_or_else(|| invalid("pre-authorized_code is missing"))?;
        let mut inner = self.inner();
        let offer = inner.offers.of_code(code, issuer.attested, now_ms)?;
        let (id, sample) = (offer.id.clone(), offer.sample);
        let jti = proof.as_ref().map(|proof| proof.jti.clone());
        inner.take_once(jti, now_ms, bad_proof)?;
        let offer = inner.offers.get_mut(&id);
        let offer = offer.ok_or_else(|| Refusal::unavailable("the offer no longer exists"))?;
        offer.check_tx_code(code, form.get("tx_code"))?;
        let details = form.get("authorization_details");
        let details = details.map(|text| details_for(text, sample)).transpose()?;
        inner.take_once(attested, now_ms, |rule| {
            Refusal::new("invalid_client", rule).with_status(StatusCode::UNAUTHORIZED)
        })?;
        let bound_to = proof.map(|proof| proof.thumbprint);
        let token_type = if bound_to.is_some() { "DPoP" } else { "Bearer" };
        let nonce = inner.nonces(issuer).make(now_ms);
        let nonce = nonce.map_err(|_| Refusal::unavailable("the system has no random bytes"))?;
        let token = inner.offers.grant(&id, bound_to, now_ms)?;
        said.progress = Some(Progress::Token);
        let mut answer = json!({
            "access_token": token,
            "token_type": token_type,
            "expires_in": TOKEN_LIFE_MS / 1000,
            // Drafts 13 and 14 have no nonce endpoint.
            "c_nonce": nonce,
            "c_nonce_expires_in": NONCE_LIFE_MS / 1000,
        });
        if let (Some(details), Some(members)) = (details, answer.as_object_mut()) {
            members.insert("authorization_details".into(), details);
        }
        Ok(no_store(StatusCode::OK, &answer))
    }

    /// Records the request's offer before any check, so that the console shows each refusal with
    /// it.
    fn name_offer(&self, code: Option<&str>, issuer: &Issuer, now_ms: u64, said: &mut Said) {
        let inner = self.inner();
        let named = code.and_then(|code| inner.offers.named_by(code, issuer.attested, now_ms));
        if let Some((offer, sample)) = named {
            said.is_about(offer, sample);
        }
    }
}

impl Inner {
    /// Accepts a `jti` once in its window.
    ///
    /// # Errors
    /// It was seen before, or the set is full.
    pub(super) fn take_once(
        &mut self,
        jti: Option<String>,
        now_ms: u64,
        refused: impl FnOnce(&'static str) -> Refusal,
    ) -> Result<(), Refusal> {
        let Some(jti) = jti else { return Ok(()) };
        let key = digest(&jti);
        if self.jtis.get(&key, now_ms).is_some() {
            return Err(refused("jti was seen before"));
        }
        // As long as `iat` allows it to be presented.
        let until = now_ms.saturating_add(MAX_JWT_AGE_MS).saturating_add(2 * MAX_CLOCK_AHEAD_MS);
        let full = |Full| Refusal::unavailable("too many recent proofs are remembered");
        self.jtis.keep(key, (), until, now_ms).map_err(full)
    }
}

/// The authorization details of the response: those of the request, which may name only the offered
/// sample, with their identifiers (OpenID4VCI 6.2).
fn details_for(text: &str, sample: Sample) -> Result<Value, Refusal> {
    let refused = |rule| Refusal::new("invalid_authorization_details", rule);
    let details: Value = serde_json::from_str(text)
        .map_err(|_| refused("authorization_details is not a JSON array"))?;
    let details = details.as_array().filter(|details| !details.is_empty());
    let details = details.ok_or_else(|| refused("authorization_details is not a JSON array"))?;
    let answered = details.iter().map(|one| {
        let text = |name: &str| one.get(name).and_then(Value::as_str).unwrap_or_default();
        if text("type") != "openid_credential" {
            return Err(refused("authorization_details has another type than openid_credential"));
        }
        let id = text("credential_configuration_id");
        if !sample.has_id(id) {
            return Err(refused("authorization_details names a credential that is not offered"));
        }
        let mut answer: Map<String, Value> = one.as_object().cloned().unwrap_or_default();
        answer.insert("credential_identifiers".into(), json!([identifier(id)]));
        Ok(Value::Object(answer))
    });
    answered.collect()
}

/// The credential identifier of a configuration.
fn identifier(configuration: &str) -> String {
    format!("{configuration}.1")
}

/// The configuration of a credential identifier.
pub(super) fn configuration_of(identifier: &str) -> Option<&str> {
    identifier.strip_suffix(".1")
}
