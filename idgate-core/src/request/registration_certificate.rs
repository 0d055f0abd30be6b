//! A registration certificate: the registrar's statement of what a relying party may ask for.
//! Wallets compare it with the query, and warn or refuse if the query asks for more.

mod contacts;
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests;

use alloc::borrow::Cow;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

pub use self::contacts::Contacts;
use crate::codec::base64url;
use crate::codec::json::{Tape, Value};
use crate::ids::ClaimPath;
use crate::jose::{CompactJws, typ_is};
use crate::request::dcql::DcqlQuery;
use crate::request::presentation_request::PresentationRequest;
use crate::request::verifier_info::VerifierInfo;
use crate::time::UnixMillis;

/// The format of its entry in `verifier_info`, which is not its `typ`.
const FORMAT: &str = "registration_cert";
const TYP: &str = "rc-wrp+jwt";

/// A parsed registration certificate. Wallets verify its signature, because they know the
/// registrars.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct RegistrationCertificate {
    /// The compact JWT.
    pub text: String,
    /// The identifier of the relying party, the same as the organizationIdentifier of its access
    /// certificate.
    pub subject: String,
    /// When it was issued.
    pub issued_at: Option<UnixMillis>,
    /// When it expires.
    pub expires_at: Option<UnixMillis>,
    /// The service of the relying party that it is for, `srv_id` (ARF RPRC_04a).
    service: Option<String>,
    /// The registry's identifier of the intended use (ETSI TS 119 475 5.2.4, table 9).
    intended_use_id: Option<String>,
    contacts: Contacts,
    credentials: Vec<Registered>,
}

/// The registered claims of one kind of credential.
#[derive(Clone, Debug, Eq, PartialEq)]
struct Registered {
    format: String,
    types: Vec<String>,
    claims: Vec<ClaimPath>,
}

/// The reason why a registration certificate cannot be used.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum RegistrationError {
    /// The text is not a compact JWT of JSON objects.
    NotAJwt,
    /// Its `typ` is wrong.
    Typ,
    /// A member is missing or has the wrong form.
    Member(&'static str),
    /// It is not valid yet.
    NotYetValid,
    /// It has expired.
    Expired,
    /// Its `sub` is not the organizationIdentifier of the access certificate.
    OtherParty,
    /// Its `srv_id` is not a service of the access certificate.
    OtherService,
}

impl RegistrationCertificate {
    /// Reads a compact JWT and checks it for use at `now` with an access certificate that has this
    /// organizationIdentifier, if any.
    ///
    /// # Errors
    /// It cannot be used; see [`RegistrationError`].
    pub fn import(
        text: &str,
        organization_identifier: Option<&str>,
        now: UnixMillis,
    ) -> Result<Self, RegistrationError> {
        let certificate = Self::read(text.trim(), true)?;
        if certificate.issued_at.is_some_and(|at| now < at) {
            return Err(RegistrationError::NotYetValid);
        }
        if !certificate.is_valid_at(now) {
            return Err(RegistrationError::Expired);
        }
        match organization_identifier {
            Some(identifier) if identifier != certificate.subject => {
                Err(RegistrationError::OtherParty)
            }
            _ => Ok(certificate),
        }
    }

    /// Reads a compact JWT without checking its dates.
    ///
    /// # Errors
    /// It cannot be read; see [`RegistrationError`].
    pub fn parse(text: &str) -> Result<Self, RegistrationError> {
        Self::read(text, false)
    }

    /// `is_new`: members that earlier programs ignored must also have the right form. Otherwise
    /// they are omitted if they do not, so that a certificate that was accepted before is not lost.
    fn read(text: &str, is_new: bool) -> Result<Self, RegistrationError> {
        use RegistrationError::{Member, NotAJwt, Typ};
        let jws = CompactJws::split(text).map_err(|_| NotAJwt)?;
        let decode = |part: &str| base64url::decode(part).map_err(|_| NotAJwt);
        let (header, payload) = (decode(jws.header)?, decode(jws.payload)?);
        let mut tape = Tape::default();
        let header = tape.parse(&header).map_err(|_| NotAJwt)?;
        let typ = tape.value(header).get("typ").and_then(Value::as_str).ok_or(Typ)?;
        if !typ_is(&typ, &[TYP]) {
            return Err(Typ);
        }
        let mut tape = Tape::default();
        let payload = tape.parse(&payload).map_err(|_| NotAJwt)?;
        let payload = tape.value(payload);
        let time = |name: &'static str| match payload.get(name) {
            None => Ok(None),
            Some(value) => value.as_u64().map(UnixMillis::from_secs).map(Some).ok_or(Member(name)),
        };
        let optional = |name: &'static str| match payload.get(name) {
            None => Ok(None),
            Some(value) => match text_of(value) {
                None if is_new => Err(Member(name)),
                text => Ok(text),
            },
        };
        let contacts = match Contacts::checked(payload) {
            Err(error) if is_new => return Err(error),
            contacts => contacts.unwrap_or_default(),
        };
        let credentials = payload.get("credentials").and_then(Value::elements);
        let credentials = credentials.ok_or(Member("credentials"))?.map(Registered::read);
        Ok(Self {
            text: text.into(),
            subject: payload.get("sub").and_then(Value::as_str).ok_or(Member("sub"))?.into_owned(),
            issued_at: time("iat")?,
            expires_at: time("exp")?,
            service: optional("srv_id")?,
            intended_use_id: optional("intended_use_id")?,
            contacts,
            credentials: credentials.collect::<Option<_>>().ok_or(Member("credentials"))?,
        })
    }

    /// Whether it has not expired.
    pub fn is_valid_at(&self, now: UnixMillis) -> bool {
        self.expires_at.is_none_or(|end| now < end)
    }

    /// The service of the relying party that it is for.
    #[cfg_attr(feature = "shell", visibility::make(pub))]
    pub(crate) fn service(&self) -> Option<&str> {
        self.service.as_deref()
    }

    /// The registry's identifier of the intended use.
    #[cfg_attr(feature = "shell", visibility::make(pub))]
    pub(crate) fn intended_use_id(&self) -> Option<&str> {
        self.intended_use_id.as_deref()
    }

    /// The contacts for people.
    #[cfg_attr(feature = "shell", visibility::make(pub))]
    pub(crate) fn contacts(&self) -> &Contacts {
        &self.contacts
    }

    /// The text of the registration certificate among these attestations.
    pub(crate) fn among(attestations: &[VerifierInfo]) -> Option<&str> {
        let mut own = attestations.iter().filter(|one| one.format == FORMAT);
        own.next().map(|one| one.data.as_str())
    }

    /// Checks that it is for one of these services, those of the access certificate, if both name
    /// any (ARF RPRC_17a).
    ///
    /// # Errors
    /// [`RegistrationError::OtherService`]: it is for another service.
    #[cfg_attr(feature = "shell", visibility::make(pub))]
    pub(crate) fn check_service(&self, services: &[String]) -> Result<(), RegistrationError> {
        match &self.service {
            Some(own) if !services.is_empty() && !services.contains(own) => {
                Err(RegistrationError::OtherService)
            }
            _ => Ok(()),
        }
    }

    /// Returns it as an entry of `verifier_info`.
    #[cfg_attr(feature = "shell", visibility::make(pub))]
    pub(crate) fn verifier_info(&self) -> VerifierInfo {
        VerifierInfo::new(FORMAT, self.text.as_str())
    }

    /// The parts of `request` that it does not cover, one text for each: unregistered types, and
    /// unregistered claims of registered types. A registered claim covers everything inside it.
    #[cfg_attr(feature = "shell", visibility::make(pub))]
    pub(crate) fn exceeded_by(&self, request: &PresentationRequest) -> Vec<String> {
        let mut beyond = Vec::new();
        for asked in DcqlQuery::without_values(request).asked() {
            for ty in asked.types {
                let registered = || {
                    self.credentials.iter().filter(|own| {
                        own.format == asked.format && own.types.iter().any(|own| own == ty)
                    })
                };
                if registered().next().is_none() {
                    beyond.push(format!("the type {ty}"));
                    continue;
                }
                let covers = |path: &ClaimPath| {
                    registered().flat_map(|own| &own.claims).any(|own| is_prefix(own, path))
                };
                let claims = asked.claims.iter().filter(|path| !covers(path));
                beyond.extend(claims.map(|path| format!("{} of {ty}", shown(path))));
            }
        }
        beyond
    }
}

impl Registered {
    /// Reads an entry, which resembles a credential query. Its claims are in `claim` (ETSI TS 119
    /// 475 B.2.9), in `claims`, or in both.
    fn read(entry: Value<'_, '_>) -> Option<Self> {
        let meta = entry.get("meta")?;
        let types = match (meta.get("vct_values"), meta.get("doctype_value")) {
            (Some(values), _) => values.elements()?.map(text_of).collect::<Option<_>>()?,
            (None, Some(value)) => Vec::from([text_of(value)?]),
            (None, None) => return None,
        };
        let mut claims = Vec::new();
        for named in ["claim", "claims"].into_iter().filter_map(|name| entry.get(name)) {
            for claim in named.elements()? {
                claims.push(ClaimPath::from_value(claim.get("path")?).ok()?);
            }
        }
        Some(Self { format: text_of(entry.get("format")?)?, types, claims })
    }
}

fn text_of(value: Value<'_, '_>) -> Option<String> {
    value.as_str().map(Cow::into_owned)
}

fn is_prefix(outer: &ClaimPath, inner: &ClaimPath) -> bool {
    let mut rest = inner.components();
    outer.components().all(|component| rest.next() == Some(component))
}

fn shown(path: &ClaimPath) -> String {
    let names: Vec<&str> = path.components().map(|name| name.unwrap_or("[]")).collect();
    names.join(".")
}

impl fmt::Display for RegistrationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAJwt => f.write_str("is not a compact JWT of JSON objects"),
            Self::Typ => f.write_str(
                "is not of type rc-wrp+jwt (ETSI TS 119 475 5.2.2); give a registration certificate",
            ),
            Self::Member(name) => write!(
                f,
                "has no valid {name} (ETSI TS 119 475 5.2.4); ask the registrar"
            ),
            Self::NotYetValid => f.write_str("is not valid yet; wait, or check the clock"),
            Self::Expired => f.write_str("has expired; ask the registrar for a new one"),
            Self::OtherParty => f.write_str(
                "is another party's: its sub is not the organizationIdentifier of the access \
                 certificate (ARF RPRC_17a)",
            ),
            Self::OtherService => f.write_str(
                "is another service's: its srv_id is not an organizational unit of the access \
                 certificate (ARF RPRC_17a)",
            ),
        }
    }
}

impl core::error::Error for RegistrationError {}
