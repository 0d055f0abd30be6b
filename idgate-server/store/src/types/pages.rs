//! Pages for people: each belongs to one session and is known by the digest of its token.

use idgate_core::SessionId;
use zeroize::Zeroizing;

/// A page that is made with its session.
#[derive(Clone)]
pub struct NewPage {
    /// SHA-256 of its token.
    pub digest: [u8; 32],
    /// What its codes are made of; stored sealed.
    pub secret: Zeroizing<[u8; 32]>,
}

/// A stored page.
#[derive(Clone)]
pub struct PageRecord {
    /// SHA-256 of its token.
    pub digest: [u8; 32],
    /// Whose page it is.
    pub session_id: SessionId,
    /// What its codes are made of.
    pub secret: Zeroizing<Vec<u8>>,
    /// SHA-256 of what the browser shows that took it.
    pub browser: Option<[u8; 32]>,
    /// The same of a phone's browser that took it over from that one.
    pub phone: Option<[u8; 32]>,
    /// How often it went to a phone or came back.
    pub moves: i64,
    /// Whether anybody looked at it.
    pub is_opened: bool,
    /// What else is to be remembered of it, in the order in which it happened.
    pub notes: Vec<String>,
}

/// How a client is shown to people.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Face {
    /// What it is called.
    pub name: String,
    /// Whether it has a logo.
    pub has_logo: bool,
    /// The colour of its buttons and links, `#rrggbb`.
    pub accent: Option<String>,
    /// Where it says what it does with personal data.
    pub privacy_url: Option<String>,
    /// Where it helps people.
    pub help_url: Option<String>,
}

/// A picture as it is sent.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Picture {
    /// Its media type.
    pub media_type: String,
    /// The file.
    pub bytes: Vec<u8>,
}
