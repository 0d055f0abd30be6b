//! `ListAndSchemeInformation`: which list it is, its number and its dates (ETSI TS 119 602 6.3).

use alloc::borrow::Cow;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::anchors::VouchedBy;
use super::error::{TrustedListError, not_authentic, out_of_date, rollback, unusable};
use super::signer::Authenticated;
use super::{ListMark, ListRules};
use crate::codec::json::Value;
use crate::limits::{LIST_CLOCK_SKEW_MS, MAX_LIST_PERIOD_MS, MAX_LIST_SEQUENCE};
use crate::time::UnixMillis;
use crate::trust::listing::{ListType, member_state};

/// The scheme of a list.
pub(super) struct Scheme {
    pub(super) list_type: ListType,
    pub(super) sequence: u64,
    pub(super) operators: Vec<String>,
    /// The required country of a signer below a CA; `None`: it is not compared.
    pub(super) territory: Option<String>,
    pub(super) issued_at: UnixMillis,
    pub(super) next_update: UnixMillis,
    pub(super) departures: Vec<String>,
}

/// Known members (ETSI TS 119 602 annex A.1).
pub(super) const MEMBERS: &[&str] = &[
    "LoTEVersionIdentifier",
    "LoTESequenceNumber",
    "LoTEType",
    "SchemeOperatorName",
    "SchemeOperatorAddress",
    "SchemeName",
    "SchemeInformationURI",
    "StatusDeterminationApproach",
    "SchemeTypeCommunityRules",
    "SchemeTerritory",
    "PolicyOrLegalNotice",
    "HistoricalInformationPeriod",
    "PointersToOtherLoTE",
    "DistributionPoints",
    "SchemeExtensions",
    "ListIssueDateTime",
    "NextUpdate",
];

impl Scheme {
    /// Reads the object.
    pub(super) fn read(scheme: Value<'_, '_>) -> Result<Self, TrustedListError> {
        let text = |name| scheme.get(name).and_then(Value::as_str).unwrap_or_default();
        if scheme.get("LoTEVersionIdentifier").and_then(Value::as_u64) != Some(1) {
            return Err(unusable("is not of version 1"));
        }
        let list_type = ListType::from_uri(&text("LoTEType")).map_err(unusable)?;
        if has_critical(scheme.get("SchemeExtensions")) {
            return Err(unusable("has a critical scheme extension that is not known"));
        }
        let sequence = scheme.get("LoTESequenceNumber").and_then(Value::as_u64);
        let sequence =
            sequence.filter(|n| (1..=MAX_LIST_SEQUENCE).contains(n)).ok_or_else(|| {
                unusable("has a LoTESequenceNumber that is not a whole number from 1 to 2^53 - 1")
            })?;
        let next_update = match scheme.get("NextUpdate") {
            Some(null) if null.kind() == crate::codec::json::Kind::Null => {
                return Err(out_of_date("is closed (no next update)"));
            }
            next => instant(next, "NextUpdate")?,
        };
        let territory = text("SchemeTerritory").into_owned();
        let rules = uris(scheme.get("SchemeTypeCommunityRules"));
        let approach = text("StatusDeterminationApproach");
        Ok(Self {
            departures: list_type.departures(&territory, &approach, &rules),
            operators: texts(scheme.get("SchemeOperatorName")),
            issued_at: instant(scheme.get("ListIssueDateTime"), "ListIssueDateTime")?,
            list_type,
            sequence,
            territory: Some(territory),
            next_update,
        })
    }

    /// Checks that it is the expected kind of list, and that its signer is its operator.
    pub(super) fn check_identity(
        &self,
        by: &Authenticated,
        rules: &ListRules<'_>,
    ) -> Result<(), TrustedListError> {
        if let Some(wanted) = rules.list_type.filter(|wanted| *wanted != self.list_type) {
            let (own, wanted) = (self.list_type.name(), wanted.name());
            return Err(unusable(format!("is of the type {own}, and {wanted} is asked for")));
        }
        if by.vouched_by != VouchedBy::Ca {
            return Ok(());
        }
        let territory = self.territory.as_deref().map(member_state);
        let is_of =
            |territory: &String| by.countries.iter().any(|own| member_state(own) == *territory);
        if !territory.as_ref().is_none_or(is_of) {
            return Err(not_authentic("has a signer of another country than its SchemeTerritory"));
        }
        if !by.organizations.iter().any(|own| self.operators.contains(own)) {
            return Err(not_authentic("has a signer of another organization than its operator"));
        }
        Ok(())
    }

    /// Checks that the list is in force (ETSI TS 119 602 6.3.14, 6.3.15), and was not signed before
    /// it was issued.
    pub(super) fn check_dates(
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

const MONTH_MS: u64 = 2_629_746_000;

/// The texts of a multilingual member, the English ones first.
pub(super) fn texts(member: Option<Value<'_, '_>>) -> Vec<String> {
    multilingual(member, "value")
}

/// The URIs of a multilingual member, the English ones first.
pub(super) fn uris(member: Option<Value<'_, '_>>) -> Vec<String> {
    multilingual(member, "uriValue")
}

fn multilingual(member: Option<Value<'_, '_>>, value: &str) -> Vec<String> {
    let elements = member.and_then(Value::elements).into_iter().flatten();
    let mut found: Vec<(bool, String)> = elements
        .filter_map(|element| {
            let lang = element.get("lang").and_then(Value::as_str);
            let is_other = lang.as_deref() != Some("en");
            Some((is_other, element.get(value)?.as_str()?.into_owned()))
        })
        .collect();
    found.sort_by_key(|(is_other, _)| *is_other);
    found.into_iter().map(|(_, text)| text).collect()
}

/// Whether an extension is critical: all are unknown here.
pub(super) fn has_critical(extensions: Option<Value<'_, '_>>) -> bool {
    let is_critical = |extension: Value<'_, '_>| {
        let mut members = extension.members().into_iter().flatten();
        members.any(|(name, value)| {
            name.unescape().eq_ignore_ascii_case("critical")
                && value.as_bool() != Some(false)
                && value.as_str().as_deref() != Some("false")
        })
    };
    extensions.and_then(Value::elements).into_iter().flatten().any(is_critical)
}

pub(super) fn instant(
    member: Option<Value<'_, '_>>,
    name: &'static str,
) -> Result<UnixMillis, TrustedListError> {
    let text: Option<Cow<'_, str>> = member.and_then(Value::as_str);
    let at = text.and_then(|text| UnixMillis::parse_rfc3339(&text));
    at.ok_or_else(|| unusable(format!("has no {name} that is a date and time")))
}
