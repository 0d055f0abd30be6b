//! The links of a session: behind the schemes of every gateway, and behind those that the operator named.

use idgate_core::{Scheme, Session};

use super::App;
use crate::config::FurtherScheme;

/// A scheme of a session's links.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum LinkScheme {
    /// One that every gateway has.
    Own(Scheme),
    /// One that the operator named. Its link carries the request for newer wallets, like that of `haip`.
    Further(FurtherScheme),
}

impl LinkScheme {
    /// Its key in `deep_links` and value of `?scheme=`.
    pub fn key(&self) -> &str {
        match self {
            Self::Own(scheme) => scheme.key(),
            Self::Further(scheme) => scheme.as_str(),
        }
    }

    /// The start of its links.
    pub fn prefix(&self) -> String {
        match self {
            Self::Own(scheme) => scheme.prefix().to_owned(),
            Self::Further(scheme) => [scheme.as_str(), "://?"].concat(),
        }
    }

    /// The link behind it, of a session whose links behind the gateway's own schemes are `own`.
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
    /// The scheme of this key of `deep_links`; `None`: this gateway has no such links.
    pub fn link_scheme(&self, key: &str) -> Option<LinkScheme> {
        let further = || self.link_schemes.iter().find(|scheme| scheme.as_str() == key);
        let own = Scheme::from_key(key).map(LinkScheme::Own);
        own.or_else(|| further().cloned().map(LinkScheme::Further))
    }

    /// Whether a session has a link behind `scheme`.
    pub(super) fn has_link(&self, session: &Session, scheme: &LinkScheme) -> bool {
        schemes(session.schemes(), &self.link_schemes).any(|one| one == *scheme)
    }
}
