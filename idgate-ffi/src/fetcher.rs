//! What fetches status lists and CRLs, so that the caller need not.

use std::ffi::c_char;

use idgate::{BlockingFetcher, Cidr, Egress};
use serde::Deserialize;

use crate::boundary::{boundary, put};
use crate::bytes::input;
use crate::failure::{Failure, idgate_error};
use crate::handles;
use crate::status::idgate_status::{self, IDGATE_CONFIG};

/// Fetches status lists and CRLs, and remembers them.
#[allow(non_camel_case_types)]
pub struct idgate_fetcher {
    _private: [u8; 0],
}

pub(crate) struct FetcherHandle(pub(crate) BlockingFetcher);

handles::named!(FetcherHandle => idgate_fetcher);

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Options {
    /// Ranges of addresses besides public ones.
    allow: Vec<String>,
    /// Certificates in PEM.
    roots: Option<String>,
}

impl Options {
    /// The options that this text names; without text the defaults.
    fn parse(json: &[u8]) -> Result<Self, Failure> {
        if json.is_empty() {
            return Ok(Self::default());
        }
        if !json.trim_ascii_start().starts_with(b"{") {
            return Err(Failure::config("the options are not a JSON object"));
        }
        let unreadable = |error| Failure::unreadable(IDGATE_CONFIG, "the options", &error);
        serde_json::from_slice(json).map_err(unreadable)
    }

    fn egress(&self) -> Result<Egress, Failure> {
        let allowed: Result<Vec<_>, _> = self.allow.iter().map(|text| Cidr::parse(text)).collect();
        let allowed = allowed.map_err(|why| Failure::config(format!("allow: {why}")))?;
        let roots = self.roots.as_ref().map(String::as_bytes);
        let egress = Egress::new(allowed, roots);
        let egress = egress.map_err(|why| Failure::config(format!("roots: {why}")))?;
        // Every credential with a status list would be refused, and nobody told why.
        egress.trusts_any().then_some(egress).ok_or_else(|| {
            Failure::config(
                "this system has no root certificates, so no https server can be trusted: install \
                 them (ca-certificates), or give them as `roots`",
            )
        })
    }
}

/// A fetcher for any number of verifications, and verifiers, at once: make one and keep it. A name is
/// resolved once, and the connection goes to an address that was checked: a public one, or one in a range
/// that you allow. Redirects are checked in the same way, three at most; bodies have 10 MiB; all fetches of
/// one answer have 5 s together. There is no proxy, whatever the environment says. A thread starts with the
/// first fetch and ends with the fetcher; a process that was forked has its own, and remembers nothing.
///
/// It remembers 1,024 lists, and 64 MiB. A source is asked again when it said that it wants to be (`ttl`,
/// `exp`, nextUpdate), and after a day at the latest. While it is down its last good copy serves on, up to
/// 24 hours beyond the time that it said and never past its own end (`exp`, nextUpdate): a CRL whose
/// source stays down serves to its nextUpdate, however distant that is.
///
/// `options`, JSON, NULL for none: `allow` (an array of ranges besides public ones, as "10.0.0.0/8"),
/// `roots` (text: certificates in PEM that vouch for https servers, besides those of the operating
/// system; IDGATE_CONFIG where neither has any).
///
/// # Safety
/// The pointers are as the head of the header says.
#[unsafe(no_mangle)]
#[allow(unsafe_code)]
pub unsafe extern "C" fn idgate_fetcher_new(
    options: *const c_char,
    options_len: usize,
    out: *mut *mut idgate_fetcher,
    err_out: *mut *mut idgate_error,
) -> idgate_status {
    boundary(err_out, || {
        // SAFETY: the caller's promise.
        let options = unsafe { input(options.cast(), options_len, "options")? };
        let fetcher = BlockingFetcher::over(Options::parse(options)?.egress()?);
        put(out, || Ok(handles::make(FetcherHandle(fetcher))))
    })
}

/// Frees a fetcher. What is under way with it goes on.
#[unsafe(no_mangle)]
#[allow(unsafe_code)] // the name is ours by its prefix
pub extern "C" fn idgate_fetcher_free(fetcher: *mut idgate_fetcher) -> idgate_status {
    boundary(core::ptr::null_mut(), || handles::free::<FetcherHandle>(fetcher))
}
