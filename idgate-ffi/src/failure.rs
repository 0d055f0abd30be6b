//! Failures: a status, a stable code, a text for people, and details for programs. Texts never carry claim values,
//! tokens, keys or nonces.

use core::fmt;

use idgate_core::ErrorCode;
use idgate_core::HttpReply;
use idgate_core::Refused;
use idgate_core::error::{
    Check, ConfigError, CreateError, NotAnAnswer, NotFetched, Remedy, RequestError,
};
use idgate_core::session::Withheld;
use idgate_core::verify::Hint;

use crate::status::idgate_status::{self, *};

/// An error: free it with idgate_error_free.
#[allow(non_camel_case_types)]
pub struct idgate_error {
    _private: [u8; 0],
}

/// A failed call.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) status: idgate_status,
    pub(crate) code: &'static str,
    pub(crate) message: String,
    pub(crate) details: Box<Details>,
}

/// Details for programs.
#[derive(Debug)]
pub(crate) struct Details {
    /// The field of a request or of an issuer; else empty.
    pub(crate) path: String,
    /// The field of an issuer, without an index.
    pub(crate) field: String,
    pub(crate) issuer: String,
    /// The check that a presentation failed.
    pub(crate) check: Option<Check>,
    /// The remedy: its name, and its text.
    pub(crate) remedy: Option<(&'static str, String)>,
    /// The reply to the wallet that caused it.
    pub(crate) reply: HttpReply,
}

impl Failure {
    pub(crate) fn new(
        status: idgate_status,
        code: &'static str,
        message: impl fmt::Display,
    ) -> Self {
        let reply = match status {
            IDGATE_UNAVAILABLE => HttpReply::try_again(),
            _ => HttpReply::refusal(ErrorCode::InternalError, "the verifier failed"),
        };
        let details = Details {
            path: String::new(),
            field: String::new(),
            issuer: String::new(),
            check: None,
            remedy: None,
            reply,
        };
        Self { status, code, message: message.to_string(), details: Box::new(details) }
    }

    pub(crate) fn misuse(message: impl fmt::Display) -> Self {
        Self::new(IDGATE_MISUSE, "misuse", message)
    }

    pub(crate) fn config(message: impl fmt::Display) -> Self {
        Self::new(IDGATE_CONFIG, "config", message)
    }

    pub(crate) fn unavailable(message: impl fmt::Display) -> Self {
        Self::new(IDGATE_UNAVAILABLE, "unavailable", message)
    }

    pub(crate) fn nothing(message: impl fmt::Display) -> Self {
        Self::new(IDGATE_NOTHING, "nothing", message)
    }

    pub(crate) fn internal(message: impl fmt::Display) -> Self {
        Self::new(IDGATE_INTERNAL, "internal_error", message)
    }

    /// Trust that cannot be built: the issuer, the field, the index of its value, and why.
    pub(crate) fn of_issuer(
        issuer: &str,
        field: &str,
        index: Option<usize>,
        why: impl fmt::Display,
    ) -> Self {
        let place = index.map(|index| format!("[{index}]")).unwrap_or_default();
        let path = [field, &place].concat();
        let mut failure = Self::config(format_args!("{issuer}: {path}: {why}"));
        let details = &mut failure.details;
        (details.path, details.field, details.issuer) = (path, field.into(), issuer.into());
        failure
    }

    fn with_reply(mut self, reply: HttpReply) -> Self {
        self.details.reply = reply;
        self
    }
}

impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Self {
        Self::config(error)
    }
}

impl From<RequestError> for Failure {
    fn from(error: RequestError) -> Self {
        let mut failure = Self::new(IDGATE_BAD_REQUEST, error.code.as_str(), &error);
        failure.details.remedy = error.remedy.map(|remedy| (name_of(&remedy), remedy.to_string()));
        failure.details.path = error.path;
        failure
    }
}

impl From<CreateError> for Failure {
    fn from(error: CreateError) -> Self {
        match error {
            CreateError::Request(error) => error.into(),
            other => Self::unavailable(other),
        }
    }
}

impl From<NotAnAnswer> for Failure {
    fn from(error: NotAnAnswer) -> Self {
        let reply = error.reply();
        let failure = match &error {
            NotAnAnswer::Entropy(_) => Self::unavailable(error),
            _ => Self::new(IDGATE_BAD_RESPONSE, error.code().as_str(), error),
        };
        failure.with_reply(reply)
    }
}

impl From<NotFetched> for Failure {
    fn from(error: NotFetched) -> Self {
        let reply = error.reply();
        let failure = match &error {
            NotFetched::Signer(_) => Self::unavailable(error),
            _ => Self::new(IDGATE_BAD_RESPONSE, error.code().as_str(), error),
        };
        failure.with_reply(reply)
    }
}

impl From<Refused> for Failure {
    fn from(refused: Refused) -> Self {
        let mut failure = Self::new(IDGATE_REFUSED, refused.reason().as_str(), &refused);
        failure.details.check = Some(refused.check());
        failure.details.remedy = refused.hint().map(|hint| (name_of_hint(hint), hint.to_string()));
        let reply =
            HttpReply::refusal(ErrorCode::InvalidPresentation, "the presentation was refused");
        failure.with_reply(reply)
    }
}

impl From<Withheld> for Failure {
    fn from(why: Withheld) -> Self {
        Self::new(IDGATE_NOTHING, why.as_str(), why)
    }
}

/// The stable name of a remedy.
fn name_of(remedy: &Remedy) -> &'static str {
    match remedy {
        Remedy::AddVct => "add_vct",
        Remedy::AddDocType => "add_doc_type",
        Remedy::UpdateTrustedList => "update_trusted_list",
        Remedy::AddCertificate => "add_certificate",
        Remedy::RenewCertificate => "renew_certificate",
        Remedy::AddSigner => "add_signer",
        Remedy::AddReaderCertificate => "add_reader_certificate",
        Remedy::ChooseProfile(_) => "choose_profile",
        Remedy::EnableProfile => "enable_profile",
        Remedy::EnableDcApi => "enable_dc_api",
        _ => "other",
    }
}

fn name_of_hint(hint: Hint) -> &'static str {
    match hint {
        Hint::AddIssuer => "add_issuer",
        Hint::SupplyStatus => "supply_status",
        Hint::TryAgain => "try_again",
        _ => "other",
    }
}
