//! The issue of a list, whatever it lists: publisher, territory, number and dates.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::anchors::VouchedBy;
use super::error::{TrustedListError, not_authentic, out_of_date, rollback, unusable};
use super::signer::Authenticated;
use super::{ListMark, ListRules};
use crate::limits::{LIST_CLOCK_SKEW_MS, MAX_LIST_PERIOD_MS};
use crate::time::UnixMillis;
use crate::trust::listing::member_state;

/// An issue of a list.
pub(super) struct Issue {
    pub(super) sequence: u64,
    pub(super) operators: Vec<String>,
    /// `SchemeTerritory`; empty where the list has none.
    pub(super) territory: String,
    /// Whether a signer below a CA must be of that territory.
    pub(super) binds_country: bool,
    pub(super) issued_at: UnixMillis,
    pub(super) next_update: UnixMillis,
}

impl Issue {
    /// Checks that it has the required territory, and that its signer is its operator.
    pub(super) fn check_publisher(
        &self,
        by: &Authenticated,
        rules: &ListRules<'_>,
    ) -> Result<(), TrustedListError> {
        let territory = member_state(&self.territory);
        if let Some(wanted) = rules.territory.filter(|wanted| member_state(wanted) != territory) {
            let (own, wanted) = (shown(&self.territory), shown(wanted));
            return Err(unusable(format!("is of the territory {own}, and {wanted} is asked for")));
        }
        if by.vouched_by != VouchedBy::Ca {
            return Ok(());
        }
        if self.binds_country && !by.countries.iter().any(|own| member_state(own) == territory) {
            return Err(not_authentic("has a signer of another country than its SchemeTerritory"));
        }
        if !by.organizations.iter().any(|own| self.operators.contains(own)) {
            return Err(not_authentic("has a signer of another organization than its operator"));
        }
        Ok(())
    }

    /// Checks the dates, and that the list is not older than the newest known one.
    pub(super) fn check_currency(
        &self,
        (signed_at, payload_sha256): (Option<UnixMillis>, &[u8; 32]),
        rules: &ListRules<'_>,
        now: UnixMillis,
    ) -> Result<(), TrustedListError> {
        self.check_dates(signed_at, rules.allow_stale, now)?;
        let Some(mark) = rules.mark else { return Ok(()) };
        check_mark((self.sequence, self.issued_at), payload_sha256, mark)
    }

    /// Checks that the list is in force (ETSI TS 119 602 6.3.14, 6.3.15), and was not signed before
    /// it was issued.
    fn check_dates(
        &self,
        signed_at: Option<UnixMillis>,
        allow_stale: bool,
        now: UnixMillis,
    ) -> Result<(), TrustedListError> {
        let Self { issued_at, next_update, .. } = *self;
        if issued_at > now.plus(LIST_CLOCK_SKEW_MS) {
            return Err(out_of_date("is dated in the future"));
        }
        if signed_at.is_some_and(|at| at.plus(LIST_CLOCK_SKEW_MS) < issued_at) {
            return Err(not_authentic("says that it was signed before it was issued"));
        }
        if next_update <= now && !allow_stale {
            return Err(out_of_date(format!("was due to be replaced on {next_update}")));
        }
        if next_update <= issued_at {
            return Err(out_of_date("promises its next issue for a time before its own"));
        }
        let period = next_update.since(issued_at);
        if period > MAX_LIST_PERIOD_MS {
            let months = period.saturating_add(MONTH_MS / 2) / MONTH_MS;
            return Err(out_of_date(format!(
                "promises its next issue after {months} months; 6 are allowed"
            )));
        }
        Ok(())
    }
}

/// A territory in a message. The text comes from the list.
fn shown(territory: &str) -> String {
    let text: String = territory.chars().filter(|c| !c.is_control()).take(16).collect();
    if text.is_empty() { "none".into() } else { text }
}

/// Checks that the list of that number, date and payload is not older than the newest known one
/// (ETSI TS 119 602 6.3.2).
pub(super) fn check_mark(
    (own, issued_at): (u64, UnixMillis),
    payload_sha256: &[u8; 32],
    mark: &ListMark,
) -> Result<(), TrustedListError> {
    let (seen, seen_at) = (mark.sequence, mark.seen_at);
    if own < seen {
        return Err(rollback(format!(
            "has number {own}, and {seen} was seen on {seen_at}: an older list"
        )));
    }
    if own == seen && *payload_sha256 != mark.payload_sha256 {
        return Err(rollback(format!("has number {own} again with other content")));
    }
    if issued_at < mark.issued_at {
        return Err(rollback(format!(
            "has number {own} and an earlier date than number {seen}, which was seen on \
             {seen_at}: an older list"
        )));
    }
    Ok(())
}

/// The mark of the list of that number, date and payload, first seen at `now` unless `former` is for
/// the same list.
pub(super) fn mark(
    (sequence, issued_at): (u64, UnixMillis),
    payload_sha256: [u8; 32],
    former: Option<&ListMark>,
    now: UnixMillis,
) -> ListMark {
    let same = former.filter(|former| former.payload_sha256 == payload_sha256);
    let seen_at = same.map_or(now, |former| former.seen_at);
    ListMark { sequence, issued_at, payload_sha256, seen_at }
}

const MONTH_MS: u64 = 2_629_746_000;
