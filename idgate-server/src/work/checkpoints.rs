//! Signs checkpoints of the audit log every hour and appends them to the checkpoint file, which
//! should be on another volume (decisions 13).

use std::fs::{File, OpenOptions};
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::MissedTickBehavior;

use super::stop::stopped;
use idgate_base::clock::Clock;
use idgate_store::{Store, StoreError, UnwrittenCheckpoint};

/// The maximum delay before a checkpoint is signed or written.
const TICK: Duration = Duration::from_secs(1);
/// The pause after a failure: the log reports it once a minute.
const PAUSE: Duration = Duration::from_secs(60);
/// The maximum age of entries without a checkpoint.
const EVERY_MS: u64 = 60 * 60 * 1000;
/// Checkpoints per tick, so that requests can write in between.
const BATCH: usize = 256;

/// Signs and writes the checkpoints of one gateway.
#[derive(Clone)]
pub struct Checkpoints {
    store: Arc<Store>,
    clock: Arc<dyn Clock>,
    file: Option<PathBuf>,
}

impl Checkpoints {
    /// Checkpoints for `store`, using `clock`, into `file` if there is one.
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
                    "IDGATE_AUDIT_CHECKPOINT_FILE: cannot write to {}: {error}; choose a \
                     file in a directory that exists",
                    path.display()
                )
            })?;
        }
        Ok(Self { store, clock, file: file.map(Path::to_owned) })
    }

    /// Runs until `stop` says so or its sender is gone. Checkpoints signed by then are written.
    pub async fn run(self, mut stop: watch::Receiver<bool>) {
        let mut ticks = tokio::time::interval(TICK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let stopping = tokio::select! {
                () = stopped(&mut stop) => true,
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

    /// Signs due checkpoints, and writes signed ones.
    ///
    /// # Errors
    /// The store or the file failed; unfinished work remains due.
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
        // If the process is killed before this, the lines are written again, which is harmless.
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

/// Appends `lines` durably. If the last line was cut by a crash, it is ended first.
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
    fn lines_are_appended_even_after_a_truncated_line() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("checkpoints");
        for (before, after) in [("", "b\n"), ("a\n", "a\nb\n"), ("a\n{\"cu", "a\n{\"cu\nb\n")] {
            std::fs::write(&path, before).unwrap();
            append(&path, "b\n").unwrap();
            assert_eq!(std::fs::read_to_string(&path).unwrap(), after);
        }
    }
}
