//! Presets of `trust add`: the properties of an ecosystem under one name (decisions 41).

use clap::ValueEnum;
use idgate_core::trust::{ListType, RevocationPolicy};
use idgate_store::TrustChange;

const AGE: &str = "eu.europa.ec.av.1";

/// A preset by its name.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum Preset {
    /// The European proof of age.
    EuAv,
}

impl Preset {
    /// The type of list that its issuers are in.
    pub(super) const fn list_type(self) -> ListType {
        let Self::EuAv = self;
        ListType::Av
    }

    /// Sets what the operator did not.
    pub(super) fn fill(self, change: &mut TrustChange) {
        let Self::EuAv = self;
        let own = |name: &str| Some(vec![name.to_owned()]);
        change.doc_types = change.doc_types.take().or_else(|| own(AGE));
        change.namespaces = change.namespaces.take().or_else(|| own(AGE));
        change.claims = change.claims.take().or_else(|| own("age_over_18"));
        change.revocation = change.revocation.or(Some(RevocationPolicy::IfPublished));
    }
}
