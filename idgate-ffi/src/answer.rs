//! A wallet's answer as it came in.

use zeroize::Zeroizing;

use crate::failure::Failure;
use crate::given::{idgate_str, input, optional_text};
use crate::sized;

/// A wallet's answer: a POST to `{base_url}/v1/oid4vp/response/{handle}`, or a credential that a page of yours got from
/// its browser.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[allow(non_camel_case_types)]
pub struct idgate_answer {
    /// `sizeof(idgate_answer)`
    pub size: usize,
    /// The path that the wallet posted to, or its last segment: the handle of an offer, see idgate_session_info.
    pub to: idgate_str,
    /// The `Content-Type` header, if there was one.
    pub content_type: idgate_str,
    /// The body.
    pub body: idgate_str,
    /// 1: a page of yours brings what its browser gave it (Digital Credentials API). `body` is then the JSON text of
    /// the credential, an object with `protocol` and `data`; leave `to` and `content_type` out. An answer counts for
    /// a page from one of the origins that the request named, and `verification_details` say which. 0: a wallet
    /// posted it.
    pub from_page: u64,
}

sized::sized!(idgate_answer, "the answer": idgate_str, idgate_str, idgate_str, u64);

/// An answer whose data the library has copied.
pub(crate) struct Owned {
    pub(crate) way: Way,
    /// The body may contain claims, so it is wiped.
    pub(crate) body: Zeroizing<Vec<u8>>,
}

/// How an answer came.
pub(crate) enum Way {
    /// A wallet posted it.
    Posted { to: String, content_type: Option<String> },
    /// A page got it from its browser.
    Page,
}

impl Owned {
    /// Copies a caller's answer.
    ///
    /// # Safety
    /// The struct as for [`sized::read`], and its texts as for [`input`].
    #[allow(unsafe_code)]
    pub(crate) unsafe fn read(answer: *const idgate_answer) -> Result<Self, Failure> {
        // SAFETY: the caller's promise is the same, for each.
        let (to, content_type, body, from_page) = unsafe {
            let answer = sized::read(answer)?;
            (
                optional_text(answer.to, "to")?,
                optional_text(answer.content_type, "content_type")?,
                input(answer.body, "body")?,
                answer.from_page,
            )
        };
        let way = match from_page {
            0 => {
                let content_type = content_type.map(str::to_owned);
                Way::Posted { to: handle_of(to)?.to_owned(), content_type }
            }
            1 if to.is_none() && content_type.is_none() => Way::Page,
            1 => {
                return Err(Failure::misuse(
                    "an answer from a page must not have `to` or `content_type`",
                ));
            }
            _ => return Err(Failure::misuse("from_page must be 0 or 1")),
        };
        Ok(Self { way, body: Zeroizing::new(body.to_vec()) })
    }
}

/// The last segment of a path, without a query.
pub(crate) fn handle_of(to: Option<&str>) -> Result<&str, Failure> {
    let missing = || {
        Failure::misuse("`to` is missing: give the path that the wallet used, or its last segment")
    };
    let to = to.ok_or_else(missing)?;
    let path = to.split('?').next().unwrap_or(to);
    Ok(path.rsplit('/').next().unwrap_or(path))
}
