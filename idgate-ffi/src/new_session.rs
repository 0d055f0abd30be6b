//! The mode and the owner of a new session, with the owner's registration certificate.

use idgate_core::TenantId;
use idgate_core::{Mode, NewSession};
use idgate_core::{RegistrationCertificate, RegistrationError};

use crate::choice::idgate_mode;
use crate::failure::Failure;
use crate::given::{idgate_str, optional_text, text};
use crate::sized;

/// A session to create.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[allow(non_camel_case_types)]
pub struct idgate_new_session {
    /// `sizeof(idgate_new_session)`
    pub size: usize,
    /// An idgate_mode.
    pub mode: i32,
    /// 1: a request that asks for more than is registered, or whose certificate has expired, is
    /// IDGATE_BAD_REQUEST. 0: wallets warn the person, or refuse.
    pub strict: u32,
    /// Your name for the owner. A program with one tenant needs none.
    pub tenant: idgate_str,
    /// A registration certificate (a JWT, `rc-wrp+jwt`), if the tenant has one. It goes to wallets as
    /// `verifier_info` where idgate_registration_compare says `sent`.
    pub registration: idgate_str,
}

sized::sized!(idgate_new_session, "the new session": i32, u32, idgate_str, idgate_str);

/// The same with its texts read.
pub(crate) struct Wanted<'a> {
    pub(crate) mode: Mode,
    tenant: &'a str,
    strict: bool,
    pub(crate) registration: Option<RegistrationCertificate>,
}

impl<'a> Wanted<'a> {
    /// Reads a caller's struct.
    ///
    /// # Safety
    /// As [`sized::read`], and its texts as [`crate::given::input`].
    #[allow(unsafe_code)]
    pub(crate) unsafe fn read(new: *const idgate_new_session) -> Result<Self, Failure> {
        // SAFETY: the caller's promise is the same, for each.
        let (new, tenant, registration) = unsafe {
            let new = sized::read(new)?;
            (new, text(new.tenant, "tenant")?, optional_text(new.registration, "registration")?)
        };
        let mode = idgate_mode::of(new.mode, "mode")?.into();
        if new.strict > 1 {
            return Err(Failure::misuse("strict must be 0 or 1"));
        }
        let registration = registration.map(RegistrationCertificate::parse).transpose();
        let registration = registration.map_err(unusable)?;
        Ok(Self { mode, tenant, strict: new.strict == 1, registration })
    }

    /// The same in the type of the core.
    pub(crate) fn session(&self) -> NewSession {
        let new = NewSession::of(self.mode).tenant(TenantId::new(self.tenant));
        match &self.registration {
            Some(certificate) if self.strict => new.strict_registration(certificate),
            Some(certificate) => new.registration(certificate),
            None => new,
        }
    }
}

pub(crate) fn unusable(why: RegistrationError) -> Failure {
    Failure::config(format!("the registration certificate {why}"))
}
