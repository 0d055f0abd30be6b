//! Whether processes are idle, by the context switches of their threads.

use std::ffi::OsString;
use std::fs;
use std::process::{Child, ExitStatus};
use std::time::Duration;

use idgate_testkit::patience::eventually_some;

use crate::machine::Machine;
use crate::stores;

/// Whether all threads of a process are asleep, and none ran between two checks.
pub(crate) fn is_at_rest(pid: u32) -> bool {
    are_at_rest(&[pid])
}

/// The same for several processes: bytes that one sent to another were read.
pub(crate) fn are_at_rest(pids: &[u32]) -> bool {
    let look = || pids.iter().map(|pid| switches_at_rest(*pid)).collect::<Option<Vec<_>>>();
    let before = look();
    before.is_some() && look() == before
}

/// Whether a process is idle and, according to `elsewhere`, others do no work for it.
pub(crate) fn is_at_rest_and(pid: u32, elsewhere: impl FnOnce() -> bool) -> bool {
    let before = switches_at_rest(pid);
    // Equal counts show that it asked for nothing in between.
    before.is_some() && elsewhere() && switches_at_rest(pid) == before
}

/// Whether a process is idle and, if it has a database, waits for no statement.
pub(crate) fn does_nothing(pid: u32, database: Option<&str>) -> bool {
    is_at_rest_and(pid, || database.is_none_or(stores::is_idle))
}

/// Whether a process has ended. Its parent need not have waited for it.
pub(crate) fn has_ended(pid: u32) -> bool {
    fs::read_to_string(format!("/proc/{pid}/status"))
        .map_or(true, |status| status.lines().any(|line| line.starts_with("State:\tZ")))
}

/// Waits for the end of a process on a machine whose clocks are stopped. At most this much time
/// passes there, and only while the process and its database do nothing: slow work does not count
/// as late.
#[track_caller]
pub(crate) fn ends_within(
    child: &mut Child,
    database: Option<&str>,
    machine: &Machine,
    time: Duration,
) -> ExitStatus {
    let mut left = time;
    eventually_some("it ends in time", || {
        let ended = child.try_wait().unwrap();
        if ended.is_none() && !left.is_zero() && does_nothing(child.id(), database) {
            let step = left.min(Duration::from_millis(100));
            machine.jump(step);
            left -= step;
        }
        ended
    })
}

/// How often each thread of a process has gone to sleep, if all of them are asleep.
fn switches_at_rest(pid: u32) -> Option<Vec<(OsString, String)>> {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).ok()?;
    let mut switches = threads
        .map(|thread| {
            let thread = thread.ok()?;
            let status = fs::read_to_string(thread.path().join("status")).ok()?;
            let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name));
            field("State:\tS")?;
            Some((thread.file_name(), field("voluntary_ctxt_switches:")?.to_owned()))
        })
        .collect::<Option<Vec<_>>>()?;
    switches.sort();
    Some(switches)
}
