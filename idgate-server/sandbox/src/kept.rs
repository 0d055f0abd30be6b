//! What a sandbox keeps beside its database: it is the same one when it starts again, and `idgate sandbox
//! wallet` finds it and issues what it issues.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::Write as _;
use std::net::SocketAddr;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use idgate_core::UnixMillis;
use serde::{Deserialize, Serialize};

use idgate_store::SANDBOX_FILE as FILE;

/// What the folder of a sandbox that goes away with it begins with.
pub(super) const PREFIX: &str = "idgate-sandbox-";
/// What it is written as before it is whole.
const NEW: &str = "sandbox.json.new";

/// The file that makes a folder a sandbox's.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Kept {
    /// Every key of the sample issuers comes from it.
    pub(super) seed: String,
    /// When their certificates were made, in milliseconds.
    pub(super) made_at: u64,
    pub(super) client_id: String,
    pub(super) api_key: String,
    pub(super) signing_secret: String,
    /// Whether its keys were shown.
    pub(super) shown: bool,
    /// The number of the last trusted list of each kind.
    pub(super) sequence: u64,
    /// Where the sandbox itself last had its tenant notified.
    #[serde(default)]
    pub(super) receiver: Option<String>,
    /// Where it runs, while it does.
    pub(super) running: Option<Running>,
    /// Whether its issuers' roots have the mark of samples. Those of a folder from before have not.
    #[serde(default)]
    pub(super) marked: bool,
}

/// Where a sandbox runs.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Running {
    /// Where links lead.
    pub(super) base_url: String,
    /// Where the gateway listens.
    pub(super) gateway: SocketAddr,
    /// Where status lists and CRLs are.
    pub(super) lists: String,
}

impl Kept {
    /// Of a new sandbox; the client is not made yet.
    ///
    /// # Errors
    /// There are no random bytes.
    pub(super) fn fresh(now: UnixMillis) -> Result<Self, String> {
        let mut random = [0; 32];
        getrandom::fill(&mut random).map_err(|error| format!("no random bytes: {error}"))?;
        let seed = random.iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(Self {
            seed,
            made_at: now.0,
            client_id: String::new(),
            api_key: String::new(),
            signing_secret: String::new(),
            shown: false,
            sequence: 0,
            receiver: None,
            running: None,
            marked: true,
        })
    }

    /// What `folder` keeps. One that is empty, or not there, becomes a sandbox's before anything else is
    /// put into it, so that a start that fails half-way can be made again.
    ///
    /// # Errors
    /// The folder is somebody else's, or cannot be used.
    pub(super) fn of(folder: &Path, now: UnixMillis) -> Result<Self, String> {
        if let Some(kept) = Self::read(folder)? {
            return Ok(kept);
        }
        let cannot = |error: std::io::Error| format!("{}: {error}", folder.display());
        DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(cannot)?;
        for entry in fs::read_dir(folder).map_err(cannot)? {
            // The keys of the sample issuers lie beside the data: nobody else's tenants may trust them.
            if entry.map_err(cannot)?.file_name() != NEW {
                return Err(format!(
                    "{} is a gateway's data directory or holds something else, and is not a sandbox's, \
                     which trusts issuers that vouch for nobody; choose a new directory, or leave \
                     --data-dir away",
                    folder.display()
                ));
            }
        }
        let kept = Self::fresh(now)?;
        kept.write(folder)?;
        Ok(kept)
    }

    /// What `folder` keeps; `None`: it is not a sandbox's.
    ///
    /// # Errors
    /// The file cannot be used.
    pub(super) fn read(folder: &Path) -> Result<Option<Self>, String> {
        let path = folder.join(FILE);
        if !path.exists() {
            return Ok(None);
        }
        let text = fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        let kept = serde_json::from_slice(&text);
        kept.map(Some).map_err(|error| format!("{}: {error}", path.display()))
    }

    /// Puts it into `folder`, for its owner alone, all of it or nothing.
    ///
    /// # Errors
    /// It cannot be written.
    pub(super) fn write(&self, folder: &Path) -> Result<(), String> {
        let text = serde_json::to_vec_pretty(self).map_err(|error| error.to_string())?;
        write_private(folder, FILE, &text)
    }
}

/// Puts a file into `folder`, for its owner alone, all of it or nothing.
///
/// # Errors
/// It cannot be written.
pub(super) fn write_private(folder: &Path, name: &str, text: &[u8]) -> Result<(), String> {
    let (path, new) = (folder.join(name), folder.join(format!("{name}.new")));
    let written = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&new)
        .and_then(|mut file| file.write_all(text).and_then(|()| file.sync_all()))
        .and_then(|()| fs::rename(&new, &path));
    written.map_err(|error| format!("{}: {error}", path.display()))
}

/// The sandbox whose gateway is reached at `base_url` or `gateway`, else the only one that runs; the one
/// in `named`, if a folder is named. `None`: there is none, or there are several.
///
/// # Errors
/// The named folder is not a sandbox's.
pub(super) fn find(
    named: Option<&Path>,
    leads_to: impl Fn(&Running) -> bool,
) -> Result<Option<(Kept, Running)>, String> {
    if let Some(folder) = named {
        let kept = Kept::read(folder)?;
        let running = kept.and_then(|kept| kept.running.clone().map(|running| (kept, running)));
        let none = || format!("{}: no sandbox runs on this folder", folder.display());
        return running.map(Some).ok_or_else(none);
    }
    let mut found: Vec<(Kept, Running)> = folders().into_iter().filter_map(running_in).collect();
    if let Some(at) = found.iter().position(|(_, running)| leads_to(running)) {
        return Ok(Some(found.swap_remove(at)));
    }
    match found.len() {
        1 => Ok(found.pop()),
        _ => Ok(None),
    }
}

/// The folder of the sandbox that runs, for commands that name no store; `None`: none runs.
///
/// # Errors
/// Two run; the text names them.
pub fn running_folder() -> Result<Option<PathBuf>, String> {
    let mut running: Vec<PathBuf> =
        folders().into_iter().filter(|folder| running_in(folder.clone()).is_some()).collect();
    running.sort();
    match running.as_slice() {
        [] => Ok(None),
        [one] => Ok(Some(one.clone())),
        several => {
            let named: Vec<_> = several.iter().map(|one| one.display().to_string()).collect();
            Err(format!(
                "several sandboxes run, in {}; name one with --data-dir",
                named.join(" and ")
            ))
        }
    }
}

fn running_in(folder: PathBuf) -> Option<(Kept, Running)> {
    let kept = Kept::read(&folder).ok().flatten()?;
    let running = kept.running.clone()?;
    // A sandbox that was killed leaves its folder.
    let listens = std::net::TcpStream::connect(running.gateway).is_ok();
    listens.then_some((kept, running))
}

/// The folders of sandboxes that are this user's: anybody may make one of that name.
fn folders() -> Vec<PathBuf> {
    let own = rustix::process::geteuid().as_raw();
    let entries = fs::read_dir(std::env::temp_dir()).into_iter().flatten().flatten();
    let is_ours = |path: &PathBuf| {
        fs::symlink_metadata(path)
            .is_ok_and(|it| it.is_dir() && it.uid() == own && it.mode() & 0o077 == 0)
    };
    let named = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(PREFIX));
    named.map(|entry| entry.path()).filter(is_ours).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn what_is_kept_is_for_its_owner_alone_and_comes_back_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        assert!(Kept::read(folder.path()).unwrap().is_none());
        let mut kept = Kept::fresh(UnixMillis(7)).unwrap();
        kept.api_key = "sk_test_x".into();
        kept.write(folder.path()).unwrap();
        let mode = fs::metadata(folder.path().join(FILE)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let read = Kept::read(folder.path()).unwrap().unwrap();
        assert_eq!((read.seed, read.made_at, read.api_key), (kept.seed, 7, kept.api_key));
        fs::write(folder.path().join(FILE), "{}").unwrap();
        assert!(Kept::read(folder.path()).is_err());
    }

    #[test]
    fn a_folder_where_no_sandbox_runs_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let refused = find(Some(folder.path()), |_| true).unwrap_err();
        assert!(refused.contains("no sandbox runs on this folder"), "{refused}");
    }
}
