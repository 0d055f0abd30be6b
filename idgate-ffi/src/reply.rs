//! Answers to wallets over HTTP.

use idgate_core::HttpReply;

use crate::failure::Failure;
use crate::given::idgate_str;
use crate::sized;

/// An HTTP reply to a wallet. Set `size` before you ask for one. The texts belong to the step or the
/// error that the reply is from. Send `Cache-Control: no-store` with each reply.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[allow(non_camel_case_types)]
pub struct idgate_reply {
    /// `sizeof(idgate_reply)`
    pub size: usize,
    /// The status code, for example 200 or 409.
    pub status: u32,
    /// The `Retry-After` header in seconds; 0: send none.
    pub retry_after_s: u32,
    /// The `Content-Type` header.
    pub content_type: idgate_str,
    /// The body. It may have a response code or a nonce: keep it out of logs.
    pub body: idgate_str,
}

sized::sized!(idgate_reply, "the reply": u32, u32, idgate_str, idgate_str);

/// Writes a reply for the caller. Its texts are those of `reply`.
///
/// # Safety
/// As [`sized::write`].
#[allow(unsafe_code)]
pub(crate) unsafe fn write(out: *mut idgate_reply, reply: &HttpReply) -> Result<(), Failure> {
    let told = idgate_reply {
        size: size_of::<idgate_reply>(),
        status: reply.status.into(),
        retry_after_s: reply.retry_after.unwrap_or(0),
        content_type: idgate_str::of(reply.content_type),
        body: idgate_str::of(&reply.body),
    };
    // SAFETY: the caller's promise is the same.
    unsafe { sized::write(out, &told) }
}
