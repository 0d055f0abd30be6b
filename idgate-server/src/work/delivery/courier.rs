//! One signed exchange with a receiver, for deliveries and tests.

use std::any::Any;
use std::sync::Arc;
use std::time::Duration;

use idgate::{Answer, Egress, EgressError, Post};
use idgate_core::shell::webhook::Attempt;
use idgate_core::{CryptoProvider, UnixMillis};

use idgate_base::spans;
use idgate_store::Target;

/// Signs messages and sends them to receivers through the guarded egress.
pub struct Courier {
    provider: CryptoProvider,
    egress: Arc<Egress>,
    allow_http: bool,
}

/// A message to a receiver.
#[derive(Clone, Copy, Debug)]
pub struct Message<'a> {
    /// The `webhook-id`.
    pub id: &'a str,
    /// When it is sent.
    pub at: UnixMillis,
    /// The number of the attempt, from 1.
    pub number: u32,
    /// The body that is signed and sent.
    pub body: &'a str,
}

impl Courier {
    /// Sends through `egress`. `allow_http`: test-mode clients may have http endpoints.
    pub fn new(provider: CryptoProvider, egress: Arc<Egress>, allow_http: bool) -> Self {
        Self { provider, egress, allow_http }
    }

    /// Sends `message` to `target` within `patience`. `place` is held until the name lookup ends,
    /// which may take longer.
    ///
    /// # Errors
    /// There was no response; the text is from the fixed vocabulary.
    pub async fn carry(
        &self,
        target: &Target,
        message: Message<'_>,
        patience: Duration,
        place: Arc<dyn Any + Send + Sync>,
    ) -> Result<Answer, String> {
        let plain = !target.url.starts_with("https:");
        if plain && (target.livemode || !self.allow_http) {
            // It was allowed when it was stored, and no longer is.
            return Err(EgressError::AddressBlocked.to_string());
        }
        let Message { id, at, number, body } = message;
        let attempt = Attempt { id, at, number, body: body.as_bytes() };
        let signed = attempt.headers(&self.provider, &target.secret, target.previous.as_ref());
        let mut headers = signed.to_vec();
        // Not signed: receivers must not rely on it.
        headers.extend(spans::outgoing().map(|span| ("traceparent", span.to_string())));
        let egress = self.egress.keeping(place);
        let post = Post { url: &target.url, headers: &headers, body };
        match tokio::time::timeout(patience, egress.post(post)).await {
            Ok(answer) => answer.map_err(|error| error.to_string()),
            Err(_late) => Err("timeout".into()),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use idgate::silence::Silence;
    use idgate_core::crypto::aws_lc_rs::PROVIDER;
    use idgate_core::shell::webhook::SigningSecret;

    use super::*;

    #[tokio::test]
    async fn a_receiver_keeps_its_place_while_its_name_lookup_hangs() {
        let silence = Silence::default();
        let courier = Courier::new(PROVIDER, Arc::new(silence.egress()), false);
        let secret = SigningSecret::new("a secret of some length").unwrap();
        let url = "https://silent.example/hook".to_owned();
        let target = Target { url, livemode: true, secret, previous: None };
        let message = Message { id: "whf_1", at: UnixMillis(0), number: 1, body: "{}" };
        let place = Arc::new(());
        let patience = Duration::from_millis(50);
        let outcome = courier.carry(&target, message, patience, place.clone()).await;
        assert_eq!(outcome, Err("timeout".into()));
        assert_eq!(Arc::strong_count(&place), 2);
    }
}
