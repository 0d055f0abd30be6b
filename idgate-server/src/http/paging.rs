//! The query of a list: `limit` and `cursor` (specification 4, decisions 17).

use std::borrow::Cow;

use idgate_core::ErrorCode;

use super::error::HttpError;
use super::query;
use crate::limits::{DEFAULT_PAGE, MAX_PAGE};

/// The requested part of a list.
pub(crate) struct Page<'q> {
    pub(crate) limit: usize,
    pub(crate) cursor: Option<Cow<'q, str>>,
}

/// Reads it from a query.
pub(crate) fn page(query: Option<&str>) -> Result<Page<'_>, HttpError> {
    let limit = query::single(query, "limit")?;
    let cursor = query::single(query, "cursor")?;
    let limit = limit.map_or(Some(DEFAULT_PAGE), |text| whole_number(&text, MAX_PAGE));
    let limit = limit.ok_or_else(|| {
        HttpError::new(ErrorCode::InvalidLimit, "limit must be a whole number from 1 to 100")
    })?;
    Ok(Page { limit, cursor })
}

/// For a list that can also be read without paging; `None` if no page is requested.
pub(crate) fn page_if_asked(query: Option<&str>) -> Result<Option<Page<'_>>, HttpError> {
    let asked =
        query::single(query, "limit")?.is_some() || query::single(query, "cursor")?.is_some();
    if asked { page(query).map(Some) } else { Ok(None) }
}

/// A whole number from 1 to `largest`, in digits only.
pub(crate) fn whole_number(text: &str, largest: usize) -> Option<usize> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let number = digits.then(|| text.parse().ok()).flatten()?;
    (1..=largest).contains(&number).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limit(query: Option<&str>) -> Option<usize> {
        page(query).ok().map(|page| page.limit)
    }

    #[test]
    fn a_limit_is_1_to_100_and_50_by_default() {
        assert_eq!(limit(None), Some(50));
        assert_eq!(limit(Some("cursor=x")), Some(50));
        for (text, number) in [("1", 1), ("100", 100), ("007", 7)] {
            assert_eq!(limit(Some(&format!("limit={text}"))), Some(number));
        }
        for bad in ["", "0", "101", "-1", "%2B5", "5.0", "1e1", "ten", "99999999999999999999999"] {
            assert_eq!(limit(Some(&format!("limit={bad}"))), None, "{bad}");
        }
        assert_eq!(limit(Some("limit=5&limit=5")), None);
        assert_eq!(limit(Some("cursor=a&cursor=b")), None);
    }
}
