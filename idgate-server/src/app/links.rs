//! The links of a session: with the schemes that every gateway has, and with those that the
//! operator configured.

use idgate_core::{Scheme, Session};

use super::App;
use crate::config::FurtherScheme;

/// The scheme of a session's link.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum LinkScheme {
    /// A scheme that every gateway has.
    Own(Scheme),
    /// A scheme that the operator configured. Its link carries the request for newer wallets, like
    /// `haip`.
    Further(FurtherScheme),
}

impl LinkScheme {
    /// Its key in `deep_links`, and its value of `?scheme=`.
    pub fn key(&self) -> &str {
        match self {
            Self::Own(scheme) => scheme.key(),
            Self::Further(scheme) => scheme.as_str(),
        }
    }

    /// The start of links with this scheme.
    pub fn prefix(&self) -> String {
        match self {
            Self::Own(scheme) => scheme.prefix().to_owned(),
            Self::Further(scheme) => [scheme.as_str(), "://?"].concat(),
        }
    }

    /// The session's link with this scheme; `own` gives the links with the gateway's own schemes.
    pub(super) fn link(&self, own: impl FnOnce(Scheme) -> String) -> String {
        match self {
            Self::Own(scheme) => own(*scheme),
            Self::Further(_) => {
                let model = own(Scheme::Haip);
                let query = model.strip_prefix(Scheme::Haip.prefix()).unwrap_or_default();
                [&*self.prefix(), query].concat()
            }
        }
    }
}

/// The schemes of a session's links, in the order of `deep_links`.
pub(super) fn schemes<'s>(
    own: impl Iterator<Item = Scheme> + 's,
    further: &'s [FurtherScheme],
) -> impl Iterator<Item = LinkScheme> + 's {
    let further = further.iter().cloned().map(LinkScheme::Further);
    own.map(LinkScheme::Own).chain(further)
}

impl App {
    /// The scheme for this key of `deep_links`; `None` if the gateway has no such links.
    pub fn link_scheme(&self, key: &str) -> Option<LinkScheme> {
        let further = || self.link_schemes.iter().find(|scheme| scheme.as_str() == key);
        let own = Scheme::from_key(key).map(LinkScheme::Own);
        own.or_else(|| further().cloned().map(LinkScheme::Further))
    }

    /// Whether the session has a link with `scheme`.
    pub(super) fn has_link(&self, session: &Session, scheme: &LinkScheme) -> bool {
        schemes(session.schemes(), &self.link_schemes).any(|one| one == *scheme)
    }
}
