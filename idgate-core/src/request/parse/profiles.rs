//! `profile` and `profiles`: the profiles of a session, and their requirements on the request.

use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use crate::error::{ErrorCode, Remedy, RequestError};
use crate::request::fields::Field;
use crate::request::profile::{Profile, SpokenProfiles};

/// The profiles of one session.
pub(super) struct Profiles {
    /// The profiles that the tenant listed; empty: the verifier chooses.
    pub(super) listed: Vec<Profile>,
    /// The profiles of the session, never empty.
    spoken: Vec<Profile>,
}

impl Profiles {
    /// Reads `profile` or `profiles`; otherwise takes the first enabled profile.
    pub(super) fn parse(
        root: &Field<'_, '_>,
        profiles: &SpokenProfiles,
    ) -> Result<Self, RequestError> {
        let (listed, path) = match (root.member("profile"), root.member("profiles")) {
            (Some(_), Some(field)) => {
                return Err(field.invalid("excludes profile; send one of them"));
            }
            (Some(field), None) => (vec![named(&field, profiles)?], field.path),
            (None, Some(field)) => (list(&field, profiles)?, field.path),
            (None, None) => (Vec::new(), String::from("profile")),
        };
        let spoken = match listed.as_slice() {
            [] => profiles.enabled().iter().copied().take(1).collect(),
            listed => listed.to_vec(),
        };
        Self::ready(listed, spoken, path, profiles)
    }

    /// The profiles of a request for the European age app that names none: only `1.0`.
    pub(super) fn of_age_app(profiles: &SpokenProfiles) -> Result<Self, RequestError> {
        if !profiles.enabled().contains(&Profile::V1_0) {
            let rule =
                "must be 1.0, because the request asks only for eu_age, but 1.0 is not enabled";
            let error = RequestError::new(ErrorCode::UnsupportedProfile, "profile", rule);
            return Err(error.with_remedy(Remedy::EnableProfile));
        }
        // Its request is not signed, so it needs no certificate.
        Ok(Self { listed: vec![Profile::V1_0], spoken: vec![Profile::V1_0] })
    }

    /// Whether `1.0` is the only profile.
    pub(super) fn speak_1_0_alone(&self) -> bool {
        self.spoken.iter().all(|profile| *profile == Profile::V1_0)
    }

    fn ready(
        listed: Vec<Profile>,
        spoken: Vec<Profile>,
        path: String,
        profiles: &SpokenProfiles,
    ) -> Result<Self, RequestError> {
        let missing =
            spoken.iter().find_map(|profile| Some((profile, profiles.unready(*profile)?)));
        if let Some((missing, remedy)) = missing {
            let why = match remedy {
                Remedy::RenewCertificate => ": the certificate for it has expired",
                _ => "",
            };
            let rule = format!("{missing} cannot be used now{why}");
            let error = RequestError::new(ErrorCode::UnsupportedProfile, path, rule);
            return Err(error.with_remedy(remedy.clone()));
        }
        Ok(Self { listed, spoken })
    }

    pub(super) fn speak(&self, profile: Profile) -> bool {
        self.spoken.contains(&profile)
    }

    /// Whether a wallet gets a DCQL query.
    pub(super) fn speak_dcql(&self) -> bool {
        self.spoken.iter().any(|profile| *profile != Profile::Draft)
    }

    /// Refuses a field that a presentation definition cannot express.
    pub(super) fn refuse_in_draft(&self, field: &Field<'_, '_>) -> Result<(), RequestError> {
        if self.speak(Profile::Draft) {
            return Err(field.invalid(self.needs_another()));
        }
        Ok(())
    }

    /// The error for a field that needs at least one profile other than `draft`.
    pub(super) const fn needs_another_too(&self) -> &'static str {
        match self.listed.as_slice() {
            [] => self.needs_another(),
            _ => "needs profile 1.0 or haip; add one to profiles, or leave this out",
        }
    }

    /// The error for a field that `draft` cannot express.
    pub(super) const fn needs_another(&self) -> &'static str {
        match self.listed.as_slice() {
            [] => "needs profile 1.0 or haip; add \"profiles\": [\"1.0\"] to the request",
            _ => {
                "needs profile 1.0 or haip; name them without draft in profiles, or leave this out"
            }
        }
    }
}

fn list(field: &Field<'_, '_>, profiles: &SpokenProfiles) -> Result<Vec<Profile>, RequestError> {
    let mut listed: Vec<Profile> = Vec::new();
    for element in field.elements()? {
        let profile = named(&element, profiles)?;
        if listed.contains(&profile) {
            return Err(element.invalid("must not repeat a profile"));
        }
        listed.push(profile);
    }
    if listed.is_empty() {
        return Err(field.invalid("must name at least one profile"));
    }
    Ok(listed)
}

fn named(field: &Field<'_, '_>, profiles: &SpokenProfiles) -> Result<Profile, RequestError> {
    let name = field.string()?;
    let known = Profile::from_name(&name).filter(|known| profiles.enabled().contains(known));
    known.ok_or_else(|| {
        let rule = "is not a profile of this verifier";
        RequestError::new(ErrorCode::UnsupportedProfile, field.path.clone(), rule)
            .with_remedy(Remedy::ChooseProfile(profiles.enabled().to_vec()))
    })
}

/// Reads `same_device`, and checks that `haip` has a URI to return to (HAIP 1.0, 5.1).
pub(super) fn parse_same_device(
    root: &Field<'_, '_>,
    profiles: &Profiles,
) -> Result<Option<bool>, RequestError> {
    let returns = root.has("redirect_uri");
    if profiles.speak(Profile::Haip) && !returns {
        let rule = "is required in the profile haip";
        return Err(RequestError::new(ErrorCode::InvalidRequest, "redirect_uri", rule));
    }
    let Some(field) = root.member("same_device") else { return Ok(None) };
    let same_device = field.value.as_bool().ok_or_else(|| field.invalid("must be a boolean"))?;
    if same_device && !returns {
        return Err(field.invalid("needs redirect_uri, which brings the code that releases claims"));
    }
    Ok(Some(same_device))
}
