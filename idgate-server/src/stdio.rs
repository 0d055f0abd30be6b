//! Words to stdout and stderr that nobody may wait for: a pipe that is full and never read would
//! hold up the process for ever.

use std::io::{self, Write};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use idgate_core::shell::is_bidi_control;

/// For a line to leave the process.
const PATIENCE: Duration = Duration::from_secs(1);

/// Writes `text` to stderr, or gives up. Whether somebody reads it is not our concern.
pub fn to_stderr(text: String) {
    soon(move || io::stderr().write_all(text.as_bytes()));
}

/// Writes `text` to stdout, or gives up. Whether somebody reads it is not our concern.
pub fn to_stdout(text: String) {
    soon(move || {
        let mut stdout = io::stdout().lock();
        stdout.write_all(text.as_bytes())?;
        stdout.flush()
    });
}

/// The text that a command prints for people: names of certificates, issuers and clients in it cannot give orders to the
/// terminal, nor change the direction of the text.
pub fn for_people(text: &str) -> String {
    without_orders(text, &['\n', '\t'])
}

/// The text with control characters and those of direction escaped, but for those that are `kept`.
pub fn without_orders(text: &str, kept: &[char]) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        if (c.is_control() || is_bidi_control(c)) && !kept.contains(&c) {
            shown.extend(c.escape_default());
        } else {
            shown.push(c);
        }
    }
    shown
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_people_read_gives_no_orders_to_their_terminal() {
        assert_eq!(
            for_people("a\tb\n\u{1b}]0;c\u{7}\r\u{202e}d\n"),
            "a\tb\n\\u{1b}]0;c\\u{7}\\r\\u{202e}d\n"
        );
    }
}
