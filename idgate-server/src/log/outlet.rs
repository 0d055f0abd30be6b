//! The log output. Callers put lines into memory and continue; a separate thread writes them, and
//! may block for as long as it likes. Lines that do not fit into memory meanwhile, or cannot be
//! written, are dropped and counted.

use crate::limits::MAX_WAITING_LOG_BYTES;
use std::io::{self, ErrorKind, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// Pause after a failed write, for example on a full volume, so that the loop does not spin.
const PAUSE: Duration = Duration::from_millis(100);
/// Pause between attempts on a full output that another process made non-blocking.
const NAP: Duration = Duration::from_millis(10);

/// Accepts lines without ever blocking or failing. Clones lead to the same output.
#[derive(Clone)]
pub(crate) struct Outlet(Arc<Shared>);

struct Shared {
    waiting: Mutex<Waiting>,
    /// There is something to write.
    filled: Condvar,
    /// Everything is written.
    emptied: Condvar,
    lost: AtomicU64,
    /// Lost lines that the log does not mention yet.
    untold: AtomicU64,
}

#[derive(Default)]
struct Waiting {
    lines: Vec<u8>,
    /// The thread holds lines that are not written yet.
    writing: bool,
}

impl Outlet {
    /// Starts writing to `output`. `tell` formats the line with the number of lost lines.
    pub(crate) fn to(
        output: impl Write + Send + 'static,
        tell: impl Fn(u64) -> Vec<u8> + Send + 'static,
    ) -> io::Result<Self> {
        let shared = Arc::new(Shared {
            waiting: Mutex::default(),
            filled: Condvar::new(),
            emptied: Condvar::new(),
            lost: AtomicU64::new(0),
            untold: AtomicU64::new(0),
        });
        let outlet = Self(shared.clone());
        let work = move || shared.write_for_ever(output, &tell);
        thread::Builder::new().name("log".into()).spawn(work)?;
        Ok(outlet)
    }

    /// Queues one line, which ends in a newline.
    pub(crate) fn line(&self, line: &[u8]) {
        let mut waiting = self.0.lock();
        if waiting.lines.len().saturating_add(line.len()) > MAX_WAITING_LOG_BYTES {
            drop(waiting);
            return self.0.lose(1);
        }
        waiting.lines.extend_from_slice(line);
        drop(waiting);
        self.0.filled.notify_one();
    }

    /// Lines lost so far.
    pub(crate) fn lost(&self) -> u64 {
        self.0.lost.load(Ordering::Relaxed)
    }

    /// Waits until everything is written, at most `time`.
    pub(crate) fn flush(&self, time: Duration) {
        let unwritten = |waiting: &mut Waiting| waiting.writing || !waiting.lines.is_empty();
        // Whether all was written in time does not matter to the caller.
        drop(self.0.emptied.wait_timeout_while(self.0.lock(), time, unwritten));
    }
}

/// For tracing, which writes each line with one call.
impl Write for Outlet {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.line(line);
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Shared {
    fn write_for_ever(&self, mut output: impl Write, tell: &dyn Fn(u64) -> Vec<u8>) {
        let mut lines = Vec::new();
        loop {
            self.await_lines(&mut lines);
            let untold = self.untold.swap(0, Ordering::Relaxed);
            let told = if untold == 0 { Ok(()) } else { write(&mut output, &tell(untold)) };
            if told.is_err() {
                self.untold.fetch_add(untold, Ordering::Relaxed);
            }
            let written = if told.is_ok() { write(&mut output, &lines) } else { Err(0) };
            if let Err(at) = written {
                let rest = lines.get(at..).unwrap_or_default();
                self.lose(rest.iter().filter(|byte| **byte == b'\n').count());
                thread::sleep(PAUSE);
            }
        }
    }

    /// Waits for lines, and swaps them for an empty buffer.
    fn await_lines(&self, lines: &mut Vec<u8>) {
        lines.clear();
        let mut waiting = self.lock();
        waiting.writing = false;
        if waiting.lines.is_empty() {
            self.emptied.notify_all();
        }
        let mut waiting = self
            .filled
            .wait_while(waiting, |waiting| waiting.lines.is_empty())
            .unwrap_or_else(PoisonError::into_inner);
        std::mem::swap(&mut waiting.lines, lines);
        waiting.writing = true;
    }

    fn lose(&self, lines: usize) {
        let lines = u64::try_from(lines).unwrap_or(u64::MAX);
        self.lost.fetch_add(lines, Ordering::Relaxed);
        self.untold.fetch_add(lines, Ordering::Relaxed);
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Writes all of `bytes`, or returns how many were written.
fn write(output: &mut impl Write, bytes: &[u8]) -> Result<(), usize> {
    let mut at = 0_usize;
    while let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty()) {
        match output.write(rest) {
            Ok(0) => return Err(at),
            Ok(length) => at = at.saturating_add(length),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => thread::sleep(NAP),
            Err(_) => return Err(at),
        }
    }
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    /// An output whose writes each wait for a result.
    struct Reluctant {
        outcomes: mpsc::Receiver<io::Result<()>>,
        written: Arc<Mutex<String>>,
    }

    impl Write for Reluctant {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.outcomes.recv().unwrap_or(Ok(()))?;
            self.written.lock().unwrap().push_str(str::from_utf8(bytes).unwrap());
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn reluctant() -> (Outlet, mpsc::Sender<io::Result<()>>, Arc<Mutex<String>>) {
        let (decide, outcomes) = mpsc::channel();
        let written = Arc::new(Mutex::default());
        let output = Reluctant { outcomes, written: written.clone() };
        let tell = |lost| format!("{lost} lost\n").into_bytes();
        (Outlet::to(output, tell).unwrap(), decide, written)
    }

    const LONG: Duration = Duration::from_secs(20);

    #[test]
    fn an_output_that_is_not_read_blocks_no_caller_and_dropped_lines_are_counted() {
        let (outlet, decide, written) = reluctant();
        let line = [&[b'x'; 1023][..], b"\n"].concat();
        for _ in 0..4096 {
            outlet.line(&line);
        }
        // One buffer is being written, one waits.
        assert!((2048..4096).contains(&outlet.lost()), "{}", outlet.lost());
        outlet.flush(Duration::from_millis(10));
        assert_eq!(*written.lock().unwrap(), "");
        drop(decide);
        outlet.flush(LONG);
        // The thread may have begun with a count of its own before all lines were there.
        let written = written.lock().unwrap();
        let told =
            written.lines().filter_map(|line| line.strip_suffix(" lost")?.parse::<u64>().ok());
        assert_eq!(told.sum::<u64>(), outlet.lost());
    }

    #[test]
    fn lines_that_cannot_be_written_are_counted_and_reported_once_writing_works() {
        let (outlet, decide, written) = reluctant();
        decide.send(Err(ErrorKind::StorageFull.into())).unwrap();
        outlet.line(b"one\n");
        outlet.flush(LONG);
        assert_eq!(outlet.lost(), 1);
        drop(decide);
        outlet.line(b"two\n");
        outlet.flush(LONG);
        assert_eq!(*written.lock().unwrap(), "1 lost\ntwo\n");
    }
}
