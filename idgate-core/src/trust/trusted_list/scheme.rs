//! `ListAndSchemeInformation`: which list it is, its number and its dates (ETSI TS 119 602 6.3).

use alloc::borrow::Cow;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::ListRules;
use super::error::{TrustedListError, out_of_date, unusable};
use super::issue::Issue;
use super::signer::Authenticated;
use crate::codec::json::Value;
use crate::limits::MAX_LIST_SEQUENCE;
use crate::time::UnixMillis;
use crate::trust::listing::ListType;

/// The scheme of a list.
pub(super) struct Scheme {
    pub(super) list_type: ListType,
    pub(super) issue: Issue,
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
            issue: Issue {
                operators: texts(scheme.get("SchemeOperatorName")),
                issued_at: instant(scheme.get("ListIssueDateTime"), "ListIssueDateTime")?,
                sequence,
                territory,
                binds_country: true,
                next_update,
            },
            list_type,
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
        self.issue.check_publisher(by, rules)
    }
}

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
