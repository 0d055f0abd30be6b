//! Words to stdout and stderr that nobody may wait for: a pipe that is full and never read would
//! hold up the process for ever.

use std::io::{self, Write};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// For a line to leave the process.
const PATIENCE: Duration = Duration::from_secs(1);

/// Writes `text` to stderr, or gives up. Whether somebody reads it is not our concern.
pub(crate) fn to_stderr(text: String) {
    soon(move || io::stderr().write_all(text.as_bytes()));
}

/// Writes `text` to stdout, or gives up. Whether somebody reads it is not our concern.
pub(crate) fn to_stdout(text: String) {
    soon(move || {
        let mut stdout = io::stdout().lock();
        stdout.write_all(text.as_bytes())?;
        stdout.flush()
    });
}

/// Waits for `write` on a thread of its own, for a bounded time.
fn soon(write: impl FnOnce() -> io::Result<()> + Send + 'static) {
    let (done, ended) = mpsc::channel();
    let work = move || {
        let _ = done.send(write());
    };
    // Without a thread there is no way to say so, either.
    if thread::Builder::new().spawn(work).is_ok() {
        let _ = ended.recv_timeout(PATIENCE);
    }
}
