//! `--lotl`: an entry follows the list that a list of lists names for its territory.

use idgate_core::UnixMillis;
use idgate_core::shell::member_state;
use idgate_core::trust::ListType;

use super::Fetch;
use super::listed::{ListOptions, fetched, take_crls};
use crate::failure::Failure;
use idgate_store::{NewListOfLists, NewTrustedList, TrustChange, TrustRecord};

impl ListOptions {
    /// Reads the list of lists, and the list that it names for the entry's country, into `change`.
    pub(super) fn read_named(
        &self,
        change: &mut TrustChange,
        (issuer_id, before): (&str, Option<&TrustRecord>),
        fetch: &Fetch<'_>,
        now: UnixMillis,
    ) -> Result<(), Failure> {
        let Some(place) = &self.lotl else { return Ok(()) };
        let country = change.country.clone().or(before.and_then(|before| before.country.clone()));
        let country = country.ok_or_else(|| {
            Failure::Usage("--lotl needs --country XX to choose one of the lists in it".into())
        })?;
        let former = before.and_then(|before| before.list_of_lists.as_ref());
        let follows = former.is_some_and(|former| former.test_only == change.test_only);
        let anchors = self.anchors()?;
        if anchors.is_none() && !change.test_only && !follows {
            return Err(Failure::Usage(
                "--lotl needs --list-signer-ca FILE, or --test: without a CA, anyone could have made the list".into(),
            ));
        }
        let (url, token) = fetched("--lotl", place, fetch)?;
        let crls = anchors.as_ref().and_then(|anchors| take_crls(change, anchors));
        let anchors = anchors.map(|anchors| anchors.certificates().flatten().copied().collect());
        let accept_rollback = self.accept_rollback;
        let lists = NewListOfLists { url, token, country, anchors, crls, accept_rollback };
        let named = lists.named((issuer_id, before), change, now)?;
        change.list_of_lists = Some(lists);
        let location = named.location;
        let token = fetch(&location).map_err(|why| {
            Failure::Error(format!("{location}, which the list of lists names: {why}"))
        })?;
        let new = NewTrustedList {
            url: Some(location),
            token,
            list_type: Some(self.list_type.unwrap_or(ListType::Qeaa)),
            crls: Some(Vec::new()),
            anchors: Some(named.signers.concat()),
            accept_rollback,
        };
        let list = new.authenticated((issuer_id, before), change, now)?;
        self.name_types(change, before, &list)?;
        change.trusted_list = Some(new);
        Ok(())
    }
}

/// Refuses a different country for an entry that follows a list of lists.
pub(super) fn check_country(
    change: &TrustChange,
    before: Option<&TrustRecord>,
) -> Result<(), Failure> {
    let own = before.and_then(|before| before.list_of_lists.as_ref()).map(|lists| &lists.country);
    match (own, &change.country) {
        (Some(own), Some(new)) if member_state(own) != member_state(new) => {
            Err(Failure::Usage(format!(
                "--country {new}: the list of lists names the list of {own}; remove the entry first"
            )))
        }
        _ => Ok(()),
    }
}
