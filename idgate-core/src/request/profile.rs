//! The profiles that a tenant may ask for.

use alloc::string::String;
use alloc::vec::Vec;

use crate::error::Remedy;

pub use crate::profile::Profile;

/// Whether a request may have the fields for a page, `retry_uri`, `purpose` and `handover`.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub enum PageFields {
    /// The program has no pages, so the fields are unknown.
    #[default]
    Unknown,
    /// Pages are switched off: the fields are refused, with the remedy.
    Off,
    /// The fields are allowed; an address is https, or of an application.
    On,
    /// The same, and addresses may be http: for development.
    OnWithHttp,
}

/// The profiles that a tenant may ask for.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct SpokenProfiles {
    /// The enabled profiles, never empty.
    enabled: Vec<Profile>,
    /// Profiles that cannot be used now, with the remedy.
    unready: Vec<(Profile, Remedy)>,
    /// Whether requests may go to browsers.
    dc_api: bool,
    /// Whether requests may have fields for pages.
    page_fields: PageFields,
    /// The names of the tenant's registration certificates; `None`: the program stores none, and
    /// `intended_use` is unknown.
    intended_uses: Option<Vec<String>>,
    /// The refusal if only `draft` is enabled and a tenant asks for another profile.
    why_draft_alone: &'static str,
}

impl SpokenProfiles {
    /// Enables these profiles, all of them ready. A request that names no profile uses the first.
    /// An empty list means `draft`.
    pub fn new(enabled: impl IntoIterator<Item = Profile>) -> Self {
        let mut enabled: Vec<Profile> = enabled.into_iter().collect();
        if enabled.is_empty() {
            enabled.push(Profile::Draft);
        }
        let why_draft_alone =
            "this verifier supports only draft; build it with the profile 1.0 or haip as well";
        Self {
            enabled,
            unready: Vec::new(),
            dc_api: false,
            page_fields: PageFields::Unknown,
            intended_uses: None,
            why_draft_alone,
        }
    }

    /// Marks an enabled profile as unusable now, for example without its certificate.
    #[must_use]
    pub fn without(mut self, profile: Profile) -> Self {
        self.unready.push((profile, Remedy::AddCertificate));
        self
    }

    /// Marks an enabled profile as unusable because its certificate has expired: wallets would
    /// refuse it.
    #[must_use]
    pub fn with_expired(mut self, profile: Profile) -> Self {
        self.unready.push((profile, Remedy::RenewCertificate));
        self
    }

    /// Allows requests to a page's browser, in any profile but `draft`: then `dc_api` is a known
    /// field.
    #[must_use]
    pub fn with_dc_api(mut self) -> Self {
        self.dc_api = true;
        self
    }

    /// Sets whether a request may have the fields for the program's own pages: `retry_uri`,
    /// `purpose` and `handover`.
    #[must_use]
    pub fn with_page_fields(mut self, fields: PageFields) -> Self {
        self.page_fields = fields;
        self
    }

    /// Sets the names of the tenant's registration certificates: then `intended_use` is a known
    /// field, and must be one of them.
    #[must_use]
    pub fn with_intended_uses(mut self, names: impl IntoIterator<Item = String>) -> Self {
        self.intended_uses = Some(names.into_iter().collect());
        self
    }

    /// Sets the text of refusals when `draft` is the only enabled profile. It must say so, and say
    /// how to enable other profiles.
    #[must_use]
    pub fn explaining_draft_alone(mut self, text: &'static str) -> Self {
        self.why_draft_alone = text;
        self
    }

    /// The enabled profiles; the first is for requests that name none.
    pub fn enabled(&self) -> &[Profile] {
        &self.enabled
    }

    /// Whether `profile` is enabled and can be used now.
    pub fn is_ready(&self, profile: Profile) -> bool {
        self.enabled.contains(&profile) && self.unready(profile).is_none()
    }

    /// The remedy for a profile that cannot be used now.
    pub(crate) fn unready(&self, profile: Profile) -> Option<&Remedy> {
        self.unready.iter().find(|(unready, _)| *unready == profile).map(|(_, remedy)| remedy)
    }

    /// Whether requests may go to browsers.
    pub(crate) fn has_dc_api(&self) -> bool {
        self.dc_api && !self.is_draft_alone()
    }

    /// Whether requests may have fields for pages.
    pub(crate) fn page_fields(&self) -> PageFields {
        self.page_fields
    }

    /// The names of intended uses; `None`: the field is unknown.
    pub(crate) fn intended_uses(&self) -> Option<&[String]> {
        self.intended_uses.as_deref()
    }

    /// The refusal if only `draft` is enabled.
    pub(crate) fn why_draft_alone(&self) -> &'static str {
        self.why_draft_alone
    }

    /// Whether `draft` is the only enabled profile: then a request has only the fields of `draft`.
    pub(crate) fn is_draft_alone(&self) -> bool {
        self.enabled.iter().all(|profile| *profile == Profile::Draft)
    }
}

impl Default for SpokenProfiles {
    fn default() -> Self {
        Self::new([Profile::Draft])
    }
}
