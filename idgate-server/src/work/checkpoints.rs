//! Signs checkpoints of the audit log every hour, and appends all of them to the checkpoint file,
//! which is meant to lie on another volume (decisions 13).

use std::fs::{File, OpenOptions};
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::MissedTickBehavior;

use idgate_base::clock::Clock;
use idgate_store::{Store, StoreError, UnwrittenCheckpoint};

/// How late a checkpoint may be signed or written.
const TICK: Duration = Duration::from_secs(1);
/// The pause after a failure, so that the log says it once a minute.
const PAUSE: Duration = Duration::from_secs(60);
/// How long entries wait for a checkpoint.
const EVERY_MS: u64 = 60 * 60 * 1000;
/// Checkpoints per tick, so that a backlog leaves the writer to requests in between.
const BATCH: usize = 256;

/// Signs and writes the checkpoints of one gateway.
#[derive(Clone)]
pub struct Checkpoints {
    store: Arc<Store>,
    clock: Arc<dyn Clock>,
    file: Option<PathBuf>,
}

impl Checkpoints {
    /// Of `store`, by `clock`, into `file` if there is one.
    ///
    /// # Errors
    /// The file cannot be written to; the text says what to do.
    pub fn new(
        store: Arc<Store>,
        clock: Arc<dyn Clock>,
        file: Option<&Path>,
    ) -> Result<Self, String> {
        if let Some(path) = file {
            open(path).map_err(|error| {
                format!(
                    "IDGATE_AUDIT_CHECKPOINT_FILE: {} cannot be written to: {error}; choose a \
                     file in a directory that exists",
                    path.display()
                )
            })?;
        }
        Ok(Self { store, clock, file: file.map(Path::to_owned) })
    }

    /// Runs until `stop` says so or its sender is gone. What is signed by then is written.
    pub async fn run(self, mut stop: watch::Receiver<bool>) {
        let mut ticks = tokio::time::interval(TICK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let stopping = tokio::select! {
                _ = stop.wait_for(|stop| *stop) => true,
                _ = ticks.tick() => false,
            };
            match self.work().await {
                Ok(()) | Err(StoreError::Busy) => {}
                Err(cause) => {
                    tracing::error!(%cause, "audit checkpoints failed");
                    ticks.reset_after(PAUSE);
                }
            }
            if stopping {
                return;
            }
        }
    }

    /// Signs what is due and writes what is signed.
    ///
    /// # Errors
    /// The store or the file failed; what is not done is still due.
    pub async fn work(&self) -> Result<(), StoreError> {
        let now = self.clock.now();
        let signed = self.store.sign_checkpoints(now.minus(EVERY_MS), BATCH, now).await;
        if let Some(path) = &self.file {
            self.write(path).await?;
        }
        signed?.all().map(drop)
    }

    async fn write(&self, path: &Path) -> Result<(), StoreError> {
        let unwritten = self.store.unwritten_checkpoints(BATCH).await?;
        if unwritten.is_empty() {
            return Ok(());
        }
        let (path, lines) = (path.to_owned(), to_lines(&unwritten));
        let appended = tokio::task::spawn_blocking(move || append(&path, &lines)).await;
        appended
            .map_err(std::io::Error::other)
            .and_then(|written| written)
            .map_err(|error| StoreError::Failed(format!("the checkpoint file: {error}")))?;
        // Killed before this, they are written again: the same line twice says nothing else.
        self.store.checkpoints_written(unwritten).await
    }
}

fn to_lines(checkpoints: &[UnwrittenCheckpoint]) -> String {
    let mut lines = String::new();
    for checkpoint in checkpoints {
        lines.push_str(&checkpoint.line);
        lines.push('\n');
    }
    lines
}

fn open(path: &Path) -> std::io::Result<File> {
    OpenOptions::new().read(true).append(true).create(true).mode(0o600).open(path)
}

/// Appends `lines` for good, behind the end of a line that was cut by a crash.
fn append(path: &Path, lines: &str) -> std::io::Result<()> {
    let mut file = open(path)?;
    let mut last = [b'\n'];
    if file.metadata()?.len() > 0 {
        file.seek(SeekFrom::End(-1))?;
        file.read_exact(&mut last)?;
    }
    let gap = if last == *b"\n" { "" } else { "\n" };
    file.write_all(format!("{gap}{lines}").as_bytes())?;
    file.sync_data()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_appended_behind_what_is_there_even_when_that_was_cut() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("checkpoints");
        for (before, after) in [("", "b\n"), ("a\n", "a\nb\n"), ("a\n{\"cu", "a\n{\"cu\nb\n")] {
            std::fs::write(&path, before).unwrap();
            append(&path, "b\n").unwrap();
            assert_eq!(std::fs::read_to_string(&path).unwrap(), after);
        }
    }
}
