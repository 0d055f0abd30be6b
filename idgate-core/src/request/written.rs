//! A request as a tenant writes it: the body of `CreateSessionRequest`, read or built.

use alloc::string::{String, ToString};
use core::time::Duration;

use serde::Serialize;

use crate::codec::json::json_text;
use crate::error::RequestError;
use crate::request::asked::Credential;
use crate::request::object::{Object, text_of};
use crate::request::parse;
use crate::request::profile::Profile;
use crate::trust::UnknownRevocation;

/// A request as a tenant writes it, before a verifier resolves it. It is the JSON body of
/// `CreateSessionRequest` in the API description. The methods here write that body, and one parser
/// checks it, so that an error has the same code and path however the request was made.
///
/// ```
/// use std::time::Duration;
/// use idgate_core::{Credential, Profile, Request};
///
/// let built = Request::of([Credential::sd_jwt_vc("pid", "https://issuer.example")
///     .claims(["given_name"])
///     .claim_at("city", ["address", "locality"])])
/// .profiles([Profile::V1_0])
/// .ttl(Duration::from_secs(300));
/// assert!(built.check().is_ok());
///
/// let read = Request::from_json(built.to_json().as_bytes()).unwrap();
/// assert_eq!(read.to_json(), built.to_json());
///
/// let refused = built.redirect_uri("javascript:alert(1)").check().unwrap_err();
/// assert_eq!(refused.path, "redirect_uri");
/// ```
///
/// Profiles are values and not names, so a misspelled one does not compile:
///
/// ```compile_fail,E0271
/// # use idgate_core::{Credential, Request};
/// # fn example(asked: Credential) {
/// let request = Request::of([asked]).profiles(["1.0"]);
/// # }
/// ```
///
/// serde cannot create a request either, because that would skip the checks:
///
/// ```compile_fail,E0277
/// # use idgate_core::Request;
/// # fn example(stored: &str) {
/// let request = serde_json::from_str::<Request>(stored);
/// # }
/// ```
#[derive(Clone, Debug)]
#[must_use = "a request has no effect until a session is created for it"]
pub struct Request {
    body: Object,
    is_checked: bool,
}

impl Request {
    /// Creates a request for these credentials.
    pub fn of(credentials: impl IntoIterator<Item = Credential>) -> Self {
        let mut body = Object::default();
        body.extend("credentials", credentials.into_iter().map(|asked| asked.text()));
        Self { body, is_checked: false }
    }

    /// Reads a `CreateSessionRequest` body and checks everything that can be checked without trust,
    /// with all profiles.
    ///
    /// # Errors
    /// [`RequestError`] with the path of the first field that breaks a rule.
    pub fn from_json(body: &[u8]) -> Result<Self, RequestError> {
        let body = parse::check(body)?;
        Ok(Self { body, is_checked: true })
    }

    /// Makes the checks of [`Request::from_json`].
    /// [`Verifier::create_session`](crate::Verifier::create_session) makes them too.
    ///
    /// # Errors
    /// [`RequestError`] with the path of the first field that breaks a rule.
    pub fn check(&self) -> Result<(), RequestError> {
        if self.is_checked {
            return Ok(());
        }
        parse::check(self.to_json().as_bytes()).map(drop)
    }

    /// Returns the body as JSON text, which [`Request::from_json`] reads.
    pub fn to_json(&self) -> String {
        self.body.text()
    }

    /// Sets the profiles, each with its own request; by default the verifier's first profile.
    pub fn profiles(self, profiles: impl IntoIterator<Item = Profile>) -> Self {
        self.extended("profiles", profiles.into_iter().map(|profile| json_text(&profile)))
    }

    /// Sets the URI that the wallet sends the person to after the answer.
    pub fn redirect_uri(self, uri: &str) -> Self {
        self.with("redirect_uri", uri)
    }

    /// Sets the time for the wallet's answer, from [`MIN_TTL_MS`](crate::limits::MIN_TTL_MS) to
    /// [`MAX_TTL_MS`](crate::limits::MAX_TTL_MS); by default
    /// [`DEFAULT_TTL_MS`](crate::limits::DEFAULT_TTL_MS).
    pub fn ttl(self, ttl: Duration) -> Self {
        self.with("ttl_ms", &ttl.as_millis())
    }

    /// Requires that the credentials with these ids are about the same person. Each call adds a
    /// group.
    pub fn same_subject<'i>(self, ids: impl IntoIterator<Item = &'i str>) -> Self {
        self.extended("same_subject_groups", [array(ids)])
    }

    /// Requires one of these options, each a list of ids of credentials that belong together. Each
    /// call adds a set; the profile `draft` does not support sets (OpenID4VP 6.2).
    pub fn one_of<'i, O: IntoIterator<Item = &'i str>>(
        self,
        options: impl IntoIterator<Item = O>,
    ) -> Self {
        self.credential_set(options, true)
    }

    /// Adds an optional set of options, as [`Request::one_of`] does, which the wallet may leave
    /// out.
    pub fn one_of_or_none<'i, O: IntoIterator<Item = &'i str>>(
        self,
        options: impl IntoIterator<Item = O>,
    ) -> Self {
        self.credential_set(options, false)
    }

    /// Sets the origins of the pages that may pass the request to their browser (Digital
    /// Credentials API).
    pub fn dc_api<'i>(mut self, origins: impl IntoIterator<Item = &'i str>) -> Self {
        let origins: alloc::vec::Vec<_> = origins.into_iter().collect();
        self.body.put("dc_api", "origins", &origins);
        self.changed()
    }

    /// Sets whether those pages also get the request of ISO/IEC TS 18013-7 Annex C, where possible;
    /// by default they do.
    pub fn iso_mdoc(mut self, offered: bool) -> Self {
        self.body.put("dc_api", "iso_mdoc", &offered);
        self.changed()
    }

    /// Asks the holder to approve a transaction: an object with `type`, `credential_ids` and
    /// further members that its type defines (OpenID4VP 5.1). Each call adds one.
    pub fn transaction_data(self, data: impl Serialize) -> Self {
        self.extended("transaction_data", [text_of(&data)])
    }

    /// Sets whether claims are released only to a browser that returns with the response code; by
    /// default only if the session offers `haip`.
    pub fn same_device(self, same_device: bool) -> Self {
        self.with("same_device", &same_device)
    }

    /// Requires a different credential for every query, and not only for queries for the same
    /// claims.
    pub fn distinct_credentials(self) -> Self {
        self.with("distinct_credentials", &true)
    }

    /// Sets the treatment of credentials whose status list cannot be fetched; by default their
    /// trust entries decide. [`UnknownRevocation::Accept`] works only if the trust entry leaves the
    /// choice to the request.
    pub fn on_unknown_revocation(self, choice: UnknownRevocation) -> Self {
        self.with("on_unknown_revocation", &choice)
    }

    fn credential_set<'i, O: IntoIterator<Item = &'i str>>(
        self,
        options: impl IntoIterator<Item = O>,
        required: bool,
    ) -> Self {
        let mut set = Object::default();
        set.extend("options", options.into_iter().map(array));
        if !required {
            set.set("required", &false);
        }
        self.extended("credential_sets", [set.text()])
    }

    fn with(mut self, name: &str, value: &(impl Serialize + ?Sized)) -> Self {
        self.body.set(name, value);
        self.changed()
    }

    fn extended(mut self, name: &str, elements: impl IntoIterator<Item = String>) -> Self {
        self.body.extend(name, elements);
        self.changed()
    }

    fn changed(mut self) -> Self {
        self.is_checked = false;
        self
    }
}

fn array<'i>(texts: impl IntoIterator<Item = &'i str>) -> String {
    let texts: alloc::vec::Vec<_> = texts.into_iter().map(ToString::to_string).collect();
    json_text(&texts)
}

#[cfg(test)]
mod tests;
