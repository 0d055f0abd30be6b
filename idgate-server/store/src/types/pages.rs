//! Pages for people. Each belongs to one session and is found by the digest of its token.

use idgate_core::SessionId;
use zeroize::Zeroizing;

/// A page that is created with its session.
#[derive(Clone)]
pub struct NewPage {
    /// SHA-256 of its token.
    pub digest: [u8; 32],
    /// The secret that its codes are derived from. Stored sealed.
    pub secret: Zeroizing<[u8; 32]>,
}

/// A stored page.
#[derive(Clone)]
pub struct PageRecord {
    /// SHA-256 of its token.
    pub digest: [u8; 32],
    /// The session that it belongs to.
    pub session_id: SessionId,
    /// The secret that its codes are derived from.
    pub secret: Zeroizing<Vec<u8>>,
    /// SHA-256 of the cookie of the browser that has the page.
    pub browser: Option<[u8; 32]>,
    /// The same for the phone's browser that took the page over.
    pub phone: Option<[u8; 32]>,
    /// How often it moved to a phone or back.
    pub moves: i64,
    /// Whether it was opened.
    pub is_opened: bool,
    /// Notes on the page, in the order of their events.
    pub notes: Vec<String>,
}

/// The name, logo and links that people see of a client.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Face {
    /// Its name.
    pub name: String,
    /// Whether it has a logo.
    pub has_logo: bool,
    /// The colour of its buttons and links, `#rrggbb`.
    pub accent: Option<String>,
    /// Its privacy statement.
    pub privacy_url: Option<String>,
    /// Its help page.
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
