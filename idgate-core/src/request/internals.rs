//! Requests that only the tests of this repository make.

use alloc::string::String;
use alloc::vec::Vec;

use crate::request::{DcApiPages, PresentationRequest, Profile};

impl PresentationRequest {
    /// The same request in these profiles, and for pages of these origins, without the parser's
    /// checks.
    #[must_use]
    pub fn forced_into(mut self, profiles: &[Profile], origins: &[&str]) -> Self {
        self.profiles = profiles.to_vec();
        let origins: Vec<_> = origins.iter().map(|origin| String::from(*origin)).collect();
        self.dc_api = (!origins.is_empty()).then(|| DcApiPages::new(origins));
        self
    }

    /// The same request without that of ISO/IEC TS 18013-7 Annex C.
    #[must_use]
    pub fn without_iso_mdoc(mut self) -> Self {
        self.dc_api.iter_mut().for_each(|pages| pages.iso_mdoc = false);
        self
    }
}
