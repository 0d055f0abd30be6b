//! Webhooks: the notifications of settled sessions, with their content, their signatures and the
//! retry schedule. This module does no IO: your program decides where notifications go, and sends
//! them.
//!
//! A notification has two independent signatures: the gateway's own (`X-Signature`) and that of
//! [Standard Webhooks](https://www.standardwebhooks.com) (`webhook-signature`). A receiver verifies
//! either one.
//!
//! ```
//! # #[cfg(feature = "rustcrypto")] {
//! use idgate_core::UnixMillis;
//! use idgate_core::crypto::rustcrypto::PROVIDER;
//! use idgate_core::webhook::{InvalidWebhook, Webhook};
//!
//! let webhook = Webhook::new(PROVIDER, "whsec_c2VjcmV0IG9mIDMyIGJ5dGVzIGZvciBhIHRlc3QhISE=")?;
//! let headers = [("webhook-id", "whf_1"), ("webhook-timestamp", "1790000000"),
//!     ("webhook-signature", "v1,forged")];
//! let refused = webhook.verify(headers, b"{}", UnixMillis(1_790_000_000_000));
//! assert_eq!(refused, Err(InvalidWebhook::Signature));
//! # }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub(crate) mod notification;
mod receiver;
pub(crate) mod schedule;
pub(crate) mod secret;
pub(crate) mod signature;

pub use self::receiver::Webhook;
pub use self::secret::ShortSecret;
pub use self::signature::InvalidWebhook;
