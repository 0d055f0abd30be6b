//! The operator's side of a store. It works beside running gateways: each call is atomic, and every
//! gateway sees it with its next read.

mod admin_tokens;
mod audit;
mod certificates;
mod clients;
mod dead_letters;
mod gateway_keys;
mod listening;
mod reseal;
mod sessions;
mod trust;
mod webhook_hosts;

pub use self::admin_tokens::{AdminTokenOperator, AdminTokenRecord};
pub use self::audit::AuditOperator;
pub use self::certificates::{CertificateOperator, RequestedKey};
pub use self::clients::{ClientChange, ClientOperator, ClientSettings, Logo};
pub use self::dead_letters::DeadLetterOperator;
pub use self::gateway_keys::{GatewayKeyOperator, GatewayKeyRecord};
pub use self::listening::{Listener, ListeningOperator};
pub use self::reseal::{ResealOperator, Resealed};
pub use self::sessions::{SessionLine, SessionOperator};
pub use self::trust::TrustOperator;
pub use self::webhook_hosts::{HostRecord, Review, WebhookHostOperator};

/// What an operator does with a store. A call waits for its answer: commands have nothing else to do.
pub trait Operator:
    AdminTokenOperator
    + AuditOperator
    + CertificateOperator
    + ClientOperator
    + DeadLetterOperator
    + GatewayKeyOperator
    + ResealOperator
    + ListeningOperator
    + SessionOperator
    + TrustOperator
    + WebhookHostOperator
    + Send
{
}

/// The operator's side of whichever store it is.
pub type OperatorStore = dyn Operator;
