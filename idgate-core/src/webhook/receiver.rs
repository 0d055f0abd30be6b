//! Verification of notifications at the receiver, by either signature.

use alloc::string::String;

use super::secret::{ShortSecret, SigningSecret};
use super::signature::{InvalidWebhook, Received};
use crate::crypto::CryptoProvider;
use crate::limits::WEBHOOK_TOLERANCE_MS;
use crate::time::UnixMillis;

/// A receiver of notifications.
#[derive(Clone, Debug)]
pub struct Webhook {
    provider: CryptoProvider,
    secret: SigningSecret,
}

impl Webhook {
    /// Creates a receiver that shares `secret` with the sender.
    ///
    /// # Errors
    /// The secret has fewer than 16 characters.
    pub fn new(provider: CryptoProvider, secret: impl Into<String>) -> Result<Self, ShortSecret> {
        Ok(Self { provider, secret: SigningSecret::new(secret)? })
    }

    /// Verifies a notification from its headers, with names in any case, and the exact bytes of its
    /// body, before any parsing. It uses the headers of Standard Webhooks if they are present,
    /// otherwise `X-Timestamp` and `X-Signature`. A header with two different values counts as
    /// missing, because receivers disagree about which value applies.
    ///
    /// # Errors
    /// The notification is not authentic, or its time differs from `now` by more than five minutes.
    pub fn verify<'h>(
        &self,
        headers: impl IntoIterator<Item = (&'h str, &'h str)>,
        body: &[u8],
        now: UnixMillis,
    ) -> Result<(), InvalidWebhook> {
        let names =
            ["webhook-id", "webhook-timestamp", "webhook-signature", "x-timestamp", "x-signature"];
        let mut values = [None; 5];
        for (name, value) in headers {
            let known = names.iter().zip(&mut values);
            if let Some((_, slot)) = known.into_iter().find(|(n, _)| n.eq_ignore_ascii_case(name))
                && slot.replace(value).is_some_and(|before| before != value)
            {
                return Err(InvalidWebhook::Headers);
            }
        }
        let received = Received { body, now, tolerance_ms: WEBHOOK_TOLERANCE_MS };
        let (provider, secret) = (&self.provider, &self.secret);
        match values {
            [Some(id), Some(timestamp), Some(signatures), ..] => {
                received.verify_standard(provider, secret, id, timestamp, signatures)
            }
            [.., Some(timestamp), Some(signature)] => {
                received.verify(provider, secret, timestamp, signature)
            }
            _ => Err(InvalidWebhook::Headers),
        }
    }
}

#[cfg(all(test, feature = "rustcrypto"))]
#[allow(clippy::unwrap_used)]
mod tests {
    use alloc::vec::Vec;

    use super::*;
    use crate::crypto::rustcrypto::PROVIDER;
    use crate::webhook::signature::Attempt;

    const SECRET: &str = "a secret of the receiver";
    const BODY: &[u8] = b"{}";
    const AT: UnixMillis = UnixMillis(1_790_000_000_007);

    fn sent() -> Vec<(&'static str, String)> {
        let attempt = Attempt { id: "whf_1", at: AT, number: 1, body: BODY };
        attempt.headers(&PROVIDER, &SigningSecret::new(SECRET).unwrap(), None).into()
    }

    fn verdict(headers: &[(&'static str, String)], body: &[u8]) -> Result<(), InvalidWebhook> {
        let webhook = Webhook::new(PROVIDER, SECRET).unwrap();
        webhook.verify(headers.iter().map(|(name, value)| (*name, value.as_str())), body, AT)
    }

    #[test]
    fn either_signature_alone_is_enough() {
        for prefix in ["webhook-", "X-"] {
            let headers: Vec<_> =
                sent().into_iter().filter(|(name, _)| name.starts_with(prefix)).collect();
            assert_eq!(verdict(&headers, BODY), Ok(()), "{prefix}");
            assert_eq!(verdict(&headers, b"[]"), Err(InvalidWebhook::Signature), "{prefix}");
        }
    }

    #[test]
    fn a_forged_standard_webhooks_signature_is_refused_despite_a_good_own_one() {
        let mut headers = sent();
        let forged = headers.iter_mut().find(|(name, _)| *name == "webhook-signature");
        forged.unwrap().1 = "v1,forged".into();
        assert_eq!(verdict(&headers, BODY), Err(InvalidWebhook::Signature));
    }

    #[test]
    fn a_header_that_came_twice_with_two_values_is_refused() {
        for name in ["Webhook-Id", "x-signature"] {
            let mut headers = sent();
            headers.push((name, "another".into()));
            assert_eq!(verdict(&headers, BODY), Err(InvalidWebhook::Headers), "{name}");
        }
        let mut headers = sent();
        headers.push(("Webhook-Id", "whf_1".into()));
        assert_eq!(verdict(&headers, BODY), Ok(()));
    }

    #[test]
    fn a_notification_without_the_headers_is_refused() {
        assert_eq!(verdict(&[], BODY), Err(InvalidWebhook::Headers));
        let without: Vec<_> =
            sent().into_iter().filter(|(name, _)| !name.ends_with("ignature")).collect();
        assert_eq!(verdict(&without, BODY), Err(InvalidWebhook::Headers));
    }
}
