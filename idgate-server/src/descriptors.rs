//! File descriptors: each connection needs one, and many systems give a program fewer than the
//! maximum that it may request.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use idgate_base::telemetry::Use;

/// Enough for all connections, and as many again for outgoing connections, files and the rest.
const WANTED: u64 = 20_000;

/// The number of descriptors in use, and the limit; `None` if the system does not report it.
pub(crate) fn used() -> Option<Use> {
    // One of them is the directory that is being read.
    let used = std::fs::read_dir("/dev/fd").ok()?.count().saturating_sub(1);
    Some(Use { limit: getrlimit(Resource::Nofile).current?, ..Use::of(used, 0) })
}

/// Raises the limit to the wanted number, or as far as the process may.
pub(crate) fn raise_limit() {
    let limit = getrlimit(Resource::Nofile);
    let wanted = limit.maximum.map_or(WANTED, |most| most.min(WANTED));
    if limit.current.is_some_and(|current| current < wanted) {
        // If this fails, the gateway serves fewer connections, and logs when it runs out.
        let _ = setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), ..limit });
    }
}
