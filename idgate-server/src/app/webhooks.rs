//! A tenant's webhook: set the endpoint, read it, test it, and list deliveries.

use std::sync::Arc;

use idgate::{Answer, Egress, EgressError};
use idgate_core::ErrorCode;
use idgate_core::error::RequestError;
use idgate_core::shell::json::Tape;
use idgate_core::shell::random_id;
use idgate_core::shell::webhook::SigningSecret;
use url::Url;

use super::{App, AppError, request_body};
use crate::limits::WEBHOOK_TEST_TIME;
use crate::work::delivery::{Courier, Message};
use crate::work::webhook_url::WebhookUrl;
use idgate_base::api_key::signing_secret;
use idgate_base::clock::Stopwatch;
use idgate_base::entropy::OsEntropy;
use idgate_store::{
    Caller, DeadLetterPage, EndpointRecord, EndpointRequest, HostStatus, PendingPage, Removed,
    Replay,
};

/// The webhook URLs that the operator allows in addition to https to public hosts.
#[derive(Clone, Default)]
pub struct WebhookRules {
    /// Whether test-mode clients may have http endpoints.
    pub allow_http: bool,
    /// The egress, which knows the allowed address ranges; `None` if there are no webhooks.
    pub egress: Option<Arc<Egress>>,
}

/// The outcome of a test delivery.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Tested {
    /// Its `webhook-id`.
    pub id: String,
    /// The receiver's status code, if it answered.
    pub status: Option<u16>,
    /// Why it was not delivered, in the terms of failed deliveries; `None` if it was.
    pub error: Option<String>,
    /// Its duration in milliseconds.
    pub latency_ms: u64,
}

impl App {
    /// The caller's endpoint.
    ///
    /// # Errors
    /// The caller has none.
    pub async fn webhook_endpoint(&self, caller: &Caller) -> Result<EndpointRecord, AppError> {
        self.store.webhook_endpoint(caller).await?.ok_or(AppError::NotFound)
    }

    /// Sets the endpoint. Returns the stored endpoint and the secret that signs from now on.
    ///
    /// # Errors
    /// The body breaks a rule, or the key was rotated, revoked or expired during the request.
    pub async fn put_webhook_endpoint(
        &self,
        caller: &Caller,
        body: &[u8],
    ) -> Result<(EndpointRecord, SigningSecret), AppError> {
        let PutEndpoint { url, secret } = PutEndpoint::parse(body)?;
        self.check_webhook_url(caller, &url).await.map_err(|rule| invalid("url", rule))?;
        let fresh = fresh_secret()?;
        let (host, url) = (url.host().to_owned(), url.url().to_string());
        let asked = EndpointRequest { url, host, secret, fresh };
        let put = self.store.put_webhook_endpoint(caller, asked, self.now()).await?;
        put.ok_or(AppError::KeyGone)
    }

    /// Sends one test delivery to the caller's endpoint; returns the outcome. Nothing is stored.
    ///
    /// # Errors
    /// The caller has no endpoint, its host is not approved, or too many tests are running.
    pub async fn test_webhook(&self, caller: &Caller) -> Result<Tested, AppError> {
        let found = self.store.webhook_target(caller, self.now()).await?;
        let (target, host) = found.ok_or(AppError::NotFound)?;
        if host != HostStatus::Approved {
            let rule = format!(
                "points to a host that is {host}; ask the gateway's operator to approve it"
            );
            return Err(invalid("url", rule));
        }
        let WebhookRules { allow_http, egress } = &self.webhook_rules;
        let no_way = || AppError::Unavailable("the egress for webhooks is not set up".into());
        let egress = egress.clone().ok_or_else(no_way)?;
        let place = self.webhook_tests.clone().try_acquire_owned().map_err(|_| AppError::Busy)?;
        let id = random_id("whf_", &mut OsEntropy)?;
        let message = Message { id: &id, at: self.now(), number: 1, body: r#"{"type":"test"}"# };
        let courier = Courier::new(self.provider, egress, *allow_http);
        let watch = Stopwatch::new();
        let outcome = courier.carry(&target, message, WEBHOOK_TEST_TIME, Arc::new(place)).await;
        let latency_ms = watch.elapsed_us() / 1000;
        let (status, error) = match outcome {
            Ok(Answer { status: status @ 200..=299, .. }) => (Some(status), None),
            Ok(Answer { status, .. }) => {
                (Some(status), Some(EgressError::Status(status).to_string()))
            }
            Err(error) => (None, Some(error)),
        };
        Ok(Tested { id, status, error, latency_ms })
    }

    /// Removes the caller's endpoint. Pending deliveries are given up, and nothing new is queued.
    ///
    /// # Errors
    /// The caller has none, or the key was rotated, revoked or expired during the request.
    pub async fn remove_webhook_endpoint(&self, caller: &Caller) -> Result<(), AppError> {
        let removed = self.store.remove_webhook_endpoint(caller, fresh_secret()?, self.now());
        match removed.await? {
            Removed::Yes => Ok(()),
            Removed::NoEndpoint => Err(AppError::NotFound),
            Removed::KeyGone => Err(AppError::KeyGone),
        }
    }

    /// Up to `limit` deliveries of the caller that were given up, newest first, starting at
    /// `cursor`.
    ///
    /// # Errors
    /// The cursor was not issued for this list, or is too old.
    pub async fn webhook_failures(
        &self,
        caller: &Caller,
        cursor: Option<&str>,
        limit: usize,
    ) -> Result<DeadLetterPage, AppError> {
        Ok(self.store.dead_letters(caller, cursor, limit, self.now()).await?)
    }

    /// Up to `limit` pending deliveries of the caller, newest first, starting at `cursor`.
    ///
    /// # Errors
    /// The cursor was not issued for this list, or is too old.
    pub async fn pending_webhooks(
        &self,
        caller: &Caller,
        cursor: Option<&str>,
        limit: usize,
    ) -> Result<PendingPage, AppError> {
        Ok(self.store.pending_notifications(caller, cursor, limit, self.now()).await?)
    }

    /// Queues one more attempt.
    ///
    /// # Errors
    /// The caller has no such failed delivery.
    pub async fn retry_webhook(&self, caller: &Caller, id: &str) -> Result<Replay, AppError> {
        let replay = self.store.replay_dead_letter(caller, id, self.now()).await?;
        replay.ok_or(AppError::NotFound)
    }

    /// Decisions 11: anything but https to a public host needs the operator's permission.
    async fn check_webhook_url(
        &self,
        caller: &Caller,
        url: &WebhookUrl,
    ) -> Result<(), &'static str> {
        let WebhookRules { allow_http, egress } = &self.webhook_rules;
        if url.is_plain() && (caller.livemode || !allow_http) {
            return Err("must begin with https://");
        }
        let own = Url::parse(&self.base_url).ok();
        if url.is_own(own.as_ref()) {
            return Err("must not point to this gateway");
        }
        let Some(rule) = url.needs_allowance(own.as_ref()) else { return Ok(()) };
        match egress {
            Some(egress) if egress.is_allowed_explicitly(url.url()).await => Ok(()),
            _ => Err(rule),
        }
    }
}

fn fresh_secret() -> Result<SigningSecret, AppError> {
    let fresh = signing_secret(&mut OsEntropy)?;
    SigningSecret::new(&**fresh).map_err(|error| AppError::Fault(error.to_string()))
}

fn invalid(path: &'static str, rule: impl Into<String>) -> AppError {
    RequestError::new(ErrorCode::InvalidWebhookEndpoint, path, rule.into()).into()
}

/// `PutWebhookEndpointRequest` (specification 2).
#[derive(Debug)]
struct PutEndpoint {
    url: WebhookUrl,
    secret: Option<SigningSecret>,
}

impl PutEndpoint {
    fn parse(body: &[u8]) -> Result<Self, RequestError> {
        let wrong =
            |path: &str, rule| RequestError::new(ErrorCode::InvalidWebhookEndpoint, path, rule);
        let mut tape = Tape::default();
        let root = request_body::read(&mut tape, body, &["url", "signing_secret"])?;
        let url = root.get("url").ok_or_else(|| wrong("url", "is required"))?;
        let url = url.as_str().ok_or_else(|| wrong("url", "must be a string"))?;
        let url = WebhookUrl::parse(&url).map_err(|rule| wrong("url", rule))?;
        let secret = root.get("signing_secret").map(|secret| {
            let rule = "must be a string of 16 characters or more";
            let text = secret.as_str().ok_or_else(|| wrong("signing_secret", rule))?;
            SigningSecret::new(text).map_err(|_| wrong("signing_secret", rule))
        });
        Ok(Self { url, secret: secret.transpose()? })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn refused(body: &str) -> (ErrorCode, String) {
        let error = PutEndpoint::parse(body.as_bytes()).unwrap_err();
        (error.code, error.path)
    }

    #[test]
    fn an_endpoint_request_has_a_url_and_optionally_a_secret() {
        let asked = PutEndpoint::parse(br#"{"url":"https://shop.example/hook"}"#).unwrap();
        assert_eq!((asked.url.host(), asked.secret.is_none()), ("shop.example", true));
        let body = r#"{"signing_secret":"16 characters ok","url":"https://shop.example/"}"#;
        let asked = PutEndpoint::parse(body.as_bytes()).unwrap();
        assert_eq!(asked.secret.unwrap().expose(), "16 characters ok");
    }

    #[test]
    fn an_invalid_body_is_refused_by_field_and_the_secret_is_never_repeated() {
        let endpoint = ErrorCode::InvalidWebhookEndpoint;
        for (body, code, path) in [
            ("", ErrorCode::InvalidJson, ""),
            (r#"{"url":"https://a.example/","url":"x"}"#, ErrorCode::InvalidJson, ""),
            ("[]", ErrorCode::InvalidRequest, ""),
            (r#"{"url":"https://a.example/","x":1}"#, ErrorCode::UnknownField, "x"),
            ("{}", endpoint, "url"),
            (r#"{"url":null}"#, endpoint, "url"),
            (r#"{"url":7}"#, endpoint, "url"),
            (r#"{"url":"shop.example"}"#, endpoint, "url"),
            (
                r#"{"url":"https://a.example/","signing_secret":"15 characters.."}"#,
                endpoint,
                "signing_secret",
            ),
            (r#"{"url":"https://a.example/","signing_secret":null}"#, endpoint, "signing_secret"),
            (
                r#"{"url":"https://a.example/","signing_secret":1234567890123456}"#,
                endpoint,
                "signing_secret",
            ),
        ] {
            assert_eq!(refused(body), (code, path.to_owned()), "{body}");
        }
        let error =
            PutEndpoint::parse(br#"{"url":"https://a.example/","signing_secret":"sesame"}"#);
        assert!(!error.unwrap_err().to_string().contains("sesame"));
    }
}
