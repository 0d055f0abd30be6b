//! Errors as owned handles, and their texts.

use std::ptr;

use crate::boundary::boundary;
use crate::failure::{Failure, idgate_error};
use crate::given::idgate_str;
use crate::handles;
use crate::reply::{self, idgate_reply};
use crate::status::idgate_status::{self, IDGATE_MISUSE};

/// The status that the error came with. IDGATE_MISUSE for a handle that is not an error.
#[unsafe(no_mangle)]
#[allow(unsafe_code)] // the name is ours by its prefix
pub extern "C" fn idgate_error_kind(error: *const idgate_error) -> idgate_status {
    handles::find::<Failure>(error).map_or(IDGATE_MISUSE, |failure| failure.status)
}

/// The stable code, for example `nonce_mismatch`. The gateway uses the same codes.
#[unsafe(no_mangle)]
#[allow(unsafe_code)] // the name is ours by its prefix
pub extern "C" fn idgate_error_code(error: *const idgate_error) -> idgate_str {
    text(error, |failure| failure.code)
}

/// The message for people: the fault, its place, and the remedy. It never has claims, tokens, keys or nonces.
#[unsafe(no_mangle)]
#[allow(unsafe_code)] // the name is ours by its prefix
pub extern "C" fn idgate_error_message(error: *const idgate_error) -> idgate_str {
    text(error, |failure| &failure.message)
}

/// The field that breaks a rule: of a request, for example `credentials[0].claims[2]`, or of an issuer, for
/// example `iaca_roots[1]`. Empty for other errors.
#[unsafe(no_mangle)]
#[allow(unsafe_code)] // the name is ours by its prefix
pub extern "C" fn idgate_error_path(error: *const idgate_error) -> idgate_str {
    text(error, |failure| &failure.details.path)
}

/// The issuer whose field or material cannot be used, by its `issuer_id`. Empty for other errors.
#[unsafe(no_mangle)]
#[allow(unsafe_code)] // the name is ours by its prefix
pub extern "C" fn idgate_error_issuer(error: *const idgate_error) -> idgate_str {
    text(error, |failure| &failure.details.issuer)
}

/// The field of that issuer without an index, for example `iaca_roots`: the name of a material in lower case, or
/// a member of idgate_trust_add_issuer. Empty for other errors.
#[unsafe(no_mangle)]
#[allow(unsafe_code)] // the name is ours by its prefix
pub extern "C" fn idgate_error_field(error: *const idgate_error) -> idgate_str {
    text(error, |failure| &failure.details.field)
}

/// The check that a presentation failed, in a few words. Empty for other errors.
#[unsafe(no_mangle)]
#[allow(unsafe_code)] // the name is ours by its prefix
pub extern "C" fn idgate_error_check(error: *const idgate_error) -> idgate_str {
    text(error, |failure| failure.details.check.map_or("", |check| check.title()))
}

/// The clause of the standard behind that check, for example `RFC 9901 7.3`. Empty for other errors.
#[unsafe(no_mangle)]
#[allow(unsafe_code)] // the name is ours by its prefix
pub extern "C" fn idgate_error_clause(error: *const idgate_error) -> idgate_str {
    text(error, |failure| failure.details.check.map_or("", |check| check.clause()))
}

/// What you can do about it, in a sentence. Empty if that is not known.
#[unsafe(no_mangle)]
#[allow(unsafe_code)] // the name is ours by its prefix
pub extern "C" fn idgate_error_hint(error: *const idgate_error) -> idgate_str {
    text(error, |failure| failure.details.remedy.as_ref().map_or("", |(_, hint)| hint))
}

/// The stable name of that hint. For a request: `add_vct`, `add_doc_type`, `update_trusted_list`,
/// `add_certificate`, `renew_certificate`, `add_signer`, `add_reader_certificate`, `choose_profile`,
/// `enable_profile`, `enable_dc_api`. For a presentation: `add_issuer`, `supply_status`, `try_again`. Later versions
/// may have more.
#[unsafe(no_mangle)]
#[allow(unsafe_code)] // the name is ours by its prefix
pub extern "C" fn idgate_error_remedy(error: *const idgate_error) -> idgate_str {
    text(error, |failure| failure.details.remedy.as_ref().map_or("", |(name, _)| name))
}

/// The reply to the wallet whose answer or fetch caused this error: 4xx with IDGATE_BAD_RESPONSE, 503 with
/// IDGATE_UNAVAILABLE, 500 with others. It reveals nothing about your configuration.
///
/// # Safety
/// The pointers are as the head of the header says.
#[unsafe(no_mangle)]
#[allow(unsafe_code)]
pub unsafe extern "C" fn idgate_error_reply(
    error: *const idgate_error,
    out: *mut idgate_reply,
) -> idgate_status {
    boundary(ptr::null_mut(), || {
        let failure = handles::find::<Failure>(error)?;
        // SAFETY: the caller's promise.
        unsafe { reply::write(out, &failure.details.reply) }
    })
}

/// Frees an error.
#[unsafe(no_mangle)]
#[allow(unsafe_code)] // the name is ours by its prefix
pub extern "C" fn idgate_error_free(error: *mut idgate_error) -> idgate_status {
    boundary(ptr::null_mut(), || handles::free::<Failure>(error))
}

/// A text of an error, which lives as long as its handle does.
fn text(error: *const idgate_error, part: impl FnOnce(&Failure) -> &str) -> idgate_str {
    handles::find::<Failure>(error)
        .map_or(idgate_str::NONE, |failure| idgate_str::of(part(&failure)))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, unsafe_code)]
mod tests {
    use super::*;

    fn read<'a>(text: idgate_str) -> &'a [u8] {
        // SAFETY: the error that it belongs to lives to the end of the test.
        unsafe { std::slice::from_raw_parts(text.ptr.cast(), text.len) }
    }

    #[test]
    fn texts_and_the_reply_live_as_long_as_the_error() {
        let failure = Failure::of_issuer("https://dmv.example", "crls", Some(1), "is not signed");
        let error = handles::make(failure);
        let mut reply = idgate_reply {
            size: size_of::<idgate_reply>(),
            status: 0,
            retry_after_s: 7,
            content_type: idgate_str::NONE,
            body: idgate_str::NONE,
        };
        // SAFETY: a place of its own.
        let told = unsafe { idgate_error_reply(error, &mut reply) };
        assert_eq!((told, reply.status, reply.retry_after_s), (idgate_status::IDGATE_OK, 500, 0));
        assert!(read(reply.body).starts_with(b"{\"error\":\"internal_error\""));
        assert_eq!(read(idgate_error_path(error)), b"crls[1]");
        assert_eq!(read(idgate_error_field(error)), b"crls");
        assert_eq!(read(idgate_error_issuer(error)), b"https://dmv.example");
        let message: &[u8] = b"https://dmv.example: crls[1]: is not signed";
        assert_eq!(read(idgate_error_message(error)), message);
        assert!(idgate_error_hint(error).len == 0 && idgate_error_clause(error).len == 0);
        handles::free::<Failure>(error).unwrap();
        assert!(idgate_error_code(error).ptr.is_null());
    }
}
