//! The status stream over a WebSocket (RFC 6455, decisions 12): handshake, frames and conversation.

mod frame;
mod handshake;
mod socket;
mod talk;

pub(crate) use self::handshake::Handshake;
pub(crate) use self::talk::Upgrade;

/// Why the gateway closes a stream (decisions 12).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Close {
    Settled,
    /// The peer closed first, with this code.
    Answered(Option<u16>),
    ShuttingDown,
    BadFrame,
    AfterTheLast,
    TooLarge,
    Internal,
    TooSlow,
    TooMany,
    KeyGone,
    Deleted,
    NoPong,
}

impl Close {
    /// Code and reason; without a code the close frame is empty.
    const fn code(self) -> (Option<u16>, &'static str) {
        let (code, reason) = match self {
            Self::Answered(code) => return (code, ""),
            Self::Settled => (1000, "settled"),
            Self::ShuttingDown => (1001, "shutting down; reconnect with after"),
            Self::BadFrame => (1008, "only well-formed control frames are accepted"),
            Self::AfterTheLast => (1008, "after is beyond the last event"),
            Self::TooLarge => (1009, "the frame is too large"),
            Self::Internal => (1011, "the gateway failed"),
            Self::TooSlow => (1013, "too slow; reconnect with after"),
            Self::TooMany => (1013, "too many streams"),
            Self::KeyGone => (4401, "the API key is no longer valid"),
            Self::Deleted => (4404, "the session was deleted"),
            Self::NoPong => (4408, "no pong"),
        };
        (Some(code), reason)
    }
}
