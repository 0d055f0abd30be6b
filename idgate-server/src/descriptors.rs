//! File descriptors: each connection takes one, and many systems give a program fewer than it may have
//! if it asks.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use idgate_base::telemetry::Use;

/// For all connections, and as many again for what is asked of others, files and the rest.
const WANTED: u64 = 20_000;

/// How many this process has, and how many it may have; `None`: the system does not tell.
pub(crate) fn used() -> Option<Use> {
    // One of them is the folder that is read.
    let used = std::fs::read_dir("/dev/fd").ok()?.count().saturating_sub(1);
    Some(Use { limit: getrlimit(Resource::Nofile).current?, ..Use::of(used, 0) })
}

/// Takes as many as are wanted, or as this process may have.
pub(crate) fn raise_limit() {
    let limit = getrlimit(Resource::Nofile);
    let wanted = limit.maximum.map_or(WANTED, |most| most.min(WANTED));
    if limit.current.is_some_and(|current| current < wanted) {
        // Without them it serves fewer, and says so when it comes to that.
        let _ = setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), ..limit });
    }
}
