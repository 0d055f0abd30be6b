//! The reasons why a list in XML is refused.

use std::borrow::Cow;

use idgate_core::shell::{TrustedListError, TrustedListErrorKind};

pub(crate) fn unusable(why: impl Into<Cow<'static, str>>) -> TrustedListError {
    TrustedListError::new(TrustedListErrorKind::Unusable, why)
}

pub(crate) fn out_of_date(why: impl Into<Cow<'static, str>>) -> TrustedListError {
    TrustedListError::new(TrustedListErrorKind::OutOfDate, why)
}

pub(crate) fn not_authentic(why: impl Into<Cow<'static, str>>) -> TrustedListError {
    TrustedListError::new(TrustedListErrorKind::NotAuthentic, why)
}
