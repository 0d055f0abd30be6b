//! Pages for people: each belongs to one session and is known by the digest of its token.

use idgate_core::ids::{SessionId, TenantId};
use zeroize::Zeroizing;

use super::{Read, Write};

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
}

/// A picture as it is sent.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Picture {
    /// Its media type.
    pub media_type: String,
    /// The file.
    pub bytes: Vec<u8>,
}

/// The use cases of pages.
pub trait PageStore {
    /// The page whose token has this digest.
    fn page(&self, digest: &[u8; 32]) -> Read<'_, Option<PageRecord>>;

    /// The page of a session, if it has one.
    fn page_of(&self, id: &SessionId) -> Read<'_, Option<PageRecord>>;

    /// Somebody looked at it.
    fn open_page(&self, digest: &[u8; 32]) -> Write<'_, ()>;

    /// Gives it to the browser that shows what has the digest `browser`, unless it is another one's:
    /// of any number of browsers exactly one gets it. `false`: it is another one's, or gone.
    fn take_page(&self, digest: &[u8; 32], browser: [u8; 32]) -> Write<'_, bool>;

    /// Remembers `note`, which has no spaces, once. A page has room for some dozens.
    fn note_on_page(&self, digest: &[u8; 32], note: &str) -> Write<'_, ()>;

    /// How a client is shown to people.
    fn face(&self, client_id: &TenantId) -> Read<'_, Option<Face>>;

    /// Its logo, if it has one.
    fn logo(&self, client_id: &TenantId) -> Read<'_, Option<Picture>>;
}
