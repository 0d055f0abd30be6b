//! Commands on the registration certificates of clients.

use idgate_core::{RegistrationCertificate, UnixMillis};

use super::OperatorStore;
use crate::certificates::raise_version;
use crate::gateway_key::Registration;
use crate::limits::MAX_REGISTRATIONS;
use crate::registrations::{self, Kept};
use crate::types::StoreError;

/// A registration certificate to store for a client.
#[derive(Clone, Copy, Debug)]
#[allow(clippy::exhaustive_structs)] // callers set every field
pub struct NewRegistration<'r> {
    /// The client.
    pub client_id: &'r str,
    /// The name of its intended use in sessions. `None`: the name of the default, or `default`.
    pub intended_use: Option<&'r str>,
    /// Whether it applies to sessions that name no intended use. The first one always does.
    pub as_default: bool,
    /// The registrar's certificate.
    pub certificate: &'r RegistrationCertificate,
    /// Whether a session that asks for more is rejected.
    pub strict: bool,
}

/// The outcome of [`OperatorStore::keep_registration`].
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum KeptRegistration {
    /// It was stored under that name.
    Yes {
        /// The name.
        intended_use: String,
        /// Whether it applies to sessions that name no intended use.
        is_default: bool,
    },
    /// The client has [`MAX_REGISTRATIONS`] already.
    TooMany,
}

/// The outcome of [`OperatorStore::remove_registration`].
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum RemovedRegistration {
    /// It was removed; this was its name.
    Yes(String),
    /// The client has no registration, or none of that name.
    NotThere,
    /// The client has several, and no name was given. These are the names.
    Several(Vec<String>),
    /// It is the default, and there are others. These are their names.
    IsDefault(Vec<String>),
}

/// Commands about registration certificates of clients.
impl OperatorStore {
    /// The registration certificates of all clients, each client's default first.
    ///
    /// # Errors
    /// The database failed.
    pub fn registrations(&self) -> Result<Vec<Registration>, StoreError> {
        self.read(async |db| registrations::read(db).await)
    }

    /// Stores a registration certificate of a client. It replaces one of the same name.
    ///
    /// # Errors
    /// The database failed.
    pub fn keep_registration(
        &mut self,
        new: &NewRegistration<'_>,
        now: UnixMillis,
    ) -> Result<KeptRegistration, StoreError> {
        let NewRegistration { client_id, certificate, strict, .. } = *new;
        self.change(async |db| {
            // Concurrent commands must not create two defaults.
            db.lock("LOCK TABLE registrations IN SHARE ROW EXCLUSIVE MODE").await?;
            let default = registrations::default_name(db, client_id).await?;
            let further = registrations::further_names(db, client_id).await?;
            let intended_use = registrations::name_of(new.intended_use, default.as_deref());
            let is_new = default.as_deref() != Some(intended_use)
                && !further.iter().any(|name| name == intended_use);
            let count = further.len().saturating_add(usize::from(default.is_some()));
            if is_new && count >= MAX_REGISTRATIONS {
                return Ok(KeptRegistration::TooMany);
            }
            let is_default =
                new.as_default || default.as_deref().is_none_or(|name| name == intended_use);
            let kept = Kept { client_id, intended_use, certificate, strict, now };
            match is_default {
                true => kept.as_default(db).await?,
                false => kept.as_further(db).await?,
            }
            raise_version(db).await?;
            Ok(KeptRegistration::Yes { intended_use: intended_use.to_owned(), is_default })
        })
    }

    /// Removes the registration certificate of this client for that intended use, or the only one
    /// if no name is given. The default can only be removed last: sessions that name no intended
    /// use would otherwise fall under another registration.
    ///
    /// # Errors
    /// The database failed.
    pub fn remove_registration(
        &mut self,
        client_id: &str,
        intended_use: Option<&str>,
    ) -> Result<RemovedRegistration, StoreError> {
        use RemovedRegistration::{IsDefault, NotThere, Several, Yes};
        self.change(async |db| {
            db.lock("LOCK TABLE registrations IN SHARE ROW EXCLUSIVE MODE").await?;
            let default = registrations::default_name(db, client_id).await?;
            let further = registrations::further_names(db, client_id).await?;
            let removed = match (default, intended_use) {
                (Some(default), None) if !further.is_empty() => {
                    Several([vec![default], further].concat())
                }
                (None, None) if !further.is_empty() => Several(further),
                (Some(default), Some(name)) if default == name && !further.is_empty() => {
                    IsDefault(further)
                }
                (Some(default), name) if name.is_none_or(|name| name == default) => {
                    registrations::forget(db, client_id).await?;
                    Yes(default)
                }
                (_, Some(name)) if further.iter().any(|own| own == name) => {
                    registrations::remove_further(db, client_id, name).await?;
                    Yes(name.to_owned())
                }
                _ => NotThere,
            };
            if matches!(removed, Yes(_)) {
                raise_version(db).await?;
            }
            Ok(removed)
        })
    }
}
