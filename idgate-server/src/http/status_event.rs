//! The one message of status streams, for both transports (decisions 12 and 26).

use zeroize::Zeroizing;

use super::json::Object;
use crate::app::StatusStream;
use idgate_store::StatusEvent;

/// `StatusEvent`
pub(crate) fn message(stream: &StatusStream, event: &StatusEvent) -> Zeroizing<Vec<u8>> {
    let mut object = Object::new()
        .text("type", "status")
        .raw("seq", &event.seq.to_string())
        .text("session_id", stream.session_id().as_str())
        .text("status", &event.status)
        .boolean("livemode", stream.livemode());
    if let Some(reason) = &event.reason {
        object = object.text("reason", reason);
    }
    if let Some(error) = &event.wallet_error {
        object = object.text("wallet_error", error);
    }
    object.text("occurred_at", &event.occurred_at.to_string()).finish()
}
