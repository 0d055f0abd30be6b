//! Output to stdout and stderr that never blocks for long: a full pipe that nobody reads must not
//! stop the process.

use std::io::{self, Write};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use idgate_core::shell::is_bidi_control;

/// How long a line may take.
const PATIENCE: Duration = Duration::from_secs(1);

/// Writes `text` to stderr, or gives up. Errors are ignored, for example a closed pipe.
pub fn to_stderr(text: String) {
    soon(move || io::stderr().write_all(text.as_bytes()));
}

/// Writes `text` to stdout, or gives up. Errors are ignored, for example a closed pipe.
pub fn to_stdout(text: String) {
    soon(move || {
        let mut stdout = io::stdout().lock();
        stdout.write_all(text.as_bytes())?;
        stdout.flush()
    });
}

/// Makes output safe for terminals: names of certificates, issuers and clients cannot contain
/// terminal commands, nor change the direction of the text.
pub fn for_people(text: &str) -> String {
    without_orders(text, &['\n', '\t'])
}

/// The text with control characters and bidirectional controls escaped, except for those that are
/// `kept`.
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

/// Runs `write` on a separate thread, and waits for it for a bounded time.
fn soon(write: impl FnOnce() -> io::Result<()> + Send + 'static) {
    let (done, ended) = mpsc::channel();
    let work = move || {
        let _ = done.send(write());
    };
    // If there is no thread, the failure cannot be printed either.
    if thread::Builder::new().spawn(work).is_ok() {
        let _ = ended.recv_timeout(PATIENCE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn printed_text_contains_no_terminal_commands() {
        assert_eq!(
            for_people("a\tb\n\u{1b}]0;c\u{7}\r\u{202e}d\n"),
            "a\tb\n\\u{1b}]0;c\\u{7}\\r\\u{202e}d\n"
        );
    }
}
