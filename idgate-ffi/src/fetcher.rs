//! The fetcher of status lists and CRLs.

use idgate::{BlockingFetcher, Cidr, Egress};

use crate::boundary::{boundary, put};
use crate::failure::{Failure, idgate_error};
use crate::given::{idgate_str, input, texts};
use crate::handles;
use crate::sized;
use crate::status::idgate_status;

/// Fetches status lists and CRLs, and caches them.
#[allow(non_camel_case_types)]
pub struct idgate_fetcher {
    _private: [u8; 0],
}

pub(crate) struct FetcherHandle(pub(crate) BlockingFetcher);

handles::named!(FetcherHandle => idgate_fetcher, "fetcher");

/// Choices for a fetcher.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[allow(non_camel_case_types)]
pub struct idgate_fetch_options {
    /// `sizeof(idgate_fetch_options)`
    pub size: usize,
    /// Address ranges that the fetcher may reach in addition to public addresses, for example "10.0.0.0/8".
    pub allow: *const idgate_str,
    /// How many ranges there are.
    pub allow_len: usize,
    /// Certificates in PEM that https servers may be signed below, in addition to those of the operating system.
    pub roots: idgate_str,
}

sized::sized!(idgate_fetch_options, "the fetch options": *const idgate_str, usize, idgate_str);

fn egress(allow: &[&str], roots: Option<&[u8]>) -> Result<Egress, Failure> {
    let allowed = allow.iter().enumerate().map(|(at, range)| {
        Cidr::parse(range).map_err(|why| Failure::config(format!("allow[{at}]: {why}")))
    });
    let egress = Egress::new(allowed.collect::<Result<_, _>>()?, roots);
    let egress = egress.map_err(|why| Failure::config(format!("roots: {why}")))?;
    // Without roots, every credential with a status list would be refused for an unhelpful reason.
    egress.trusts_any().then_some(egress).ok_or_else(|| {
        Failure::config(
            "this system has no root certificates, so no https server can be trusted: install them \
             (ca-certificates), or give them as `roots`",
        )
    })
}

/// Makes a fetcher. Make one and keep it: it serves any number of verifications and verifiers at the same time.
/// `options` may be NULL.
///
/// The fetcher resolves a name once and connects to an address that it checked: a public one, or one in a range
/// that you allow. It follows at most three redirects, each checked in the same way. A body may have 10 MiB, and
/// all fetches for one answer take 5 s together. It uses no proxy, whatever the environment says. Its thread
/// starts with the first fetch and ends with the fetcher. A forked process has a fetcher of its own, with an
/// empty cache.
///
/// It caches up to 1,024 lists in 64 MiB. It asks a source again when the source says so (`ttl`, `exp`,
/// nextUpdate), and after a day at the latest. While a source is down, its last good copy serves up to 24 hours
/// longer, and never past its own end (`exp`, nextUpdate). A CRL therefore serves to its nextUpdate.
///
/// IDGATE_CONFIG: a range or a root cannot be used, or there are no roots from you or the operating system.
///
/// # Safety
/// The pointers are as the head of the header says.
#[unsafe(no_mangle)]
#[allow(unsafe_code)]
pub unsafe extern "C" fn idgate_fetcher_new(
    options: *const idgate_fetch_options,
    out: *mut *mut idgate_fetcher,
    err_out: *mut *mut idgate_error,
) -> idgate_status {
    boundary(err_out, || {
        // SAFETY: the caller's promise.
        let options = unsafe { sized::optional(options)? };
        let (allow, roots) = match options {
            None => (Vec::new(), None),
            // SAFETY: the caller's promise, for both.
            Some(it) => unsafe {
                let roots = input(it.roots, "roots")?;
                (
                    texts(it.allow, it.allow_len, "allow")?,
                    (!it.roots.ptr.is_null()).then_some(roots),
                )
            },
        };
        let fetcher = BlockingFetcher::over(egress(&allow, roots)?);
        put(out, || Ok(handles::make(FetcherHandle(fetcher))))
    })
}

/// Frees a fetcher. Fetches in progress continue.
#[unsafe(no_mangle)]
#[allow(unsafe_code)] // the name is ours by its prefix
pub extern "C" fn idgate_fetcher_free(fetcher: *mut idgate_fetcher) -> idgate_status {
    boundary(core::ptr::null_mut(), || handles::free::<FetcherHandle>(fetcher))
}
