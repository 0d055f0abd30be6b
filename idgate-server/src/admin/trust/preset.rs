//! Presets of `trust add`: the properties of an ecosystem under one name (decisions 41).

use clap::ValueEnum;
use idgate_core::shell::AGE_DOC_TYPE;
use idgate_core::trust::{ListType, RevocationPolicy};
use idgate_store::TrustChange;

/// A preset by its name.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum Preset {
    /// The European proof of age.
    EuAv,
}

impl Preset {
    /// Sets the attributes that the operator did not give.
    pub(super) fn fill(self, change: &mut TrustChange) {
        match self {
            Self::EuAv => eu_av(change),
        }
    }

    /// Returns the type of the list of its issuers.
    pub(super) const fn list_type(self) -> ListType {
        let Self::EuAv = self;
        ListType::Av
    }
}

/// Sets the absent attributes of `change` to the values of the European proof of age.
pub fn eu_av(change: &mut TrustChange) {
    let own = |name: &str| Some(vec![name.to_owned()]);
    change.doc_types = change.doc_types.take().or_else(|| own(AGE_DOC_TYPE));
    change.namespaces = change.namespaces.take().or_else(|| own(AGE_DOC_TYPE));
    change.claims = change.claims.take().or_else(|| own("age_over_18"));
    change.revocation = change.revocation.or(Some(RevocationPolicy::IfPublished));
}
