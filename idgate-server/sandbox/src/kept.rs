//! The file that a sandbox keeps with its database. It lets a sandbox start again unchanged, and
//! lets `idgate sandbox wallet` find it and use its issuers.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::Write as _;
use std::net::SocketAddr;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use idgate_core::UnixMillis;
use serde::{Deserialize, Serialize};

use idgate_store::SANDBOX_FILE as FILE;

/// Prefix of temporary sandbox folders.
pub(super) const PREFIX: &str = "idgate-sandbox-";
/// The file's name until it is complete.
const NEW: &str = "sandbox.json.new";

/// The file that marks a folder as a sandbox's.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Kept {
    /// All keys of the sample issuers are derived from it.
    pub(super) seed: String,
    /// When their certificates were made, in milliseconds.
    pub(super) made_at: u64,
    pub(super) client_id: String,
    pub(super) api_key: String,
    pub(super) signing_secret: String,
    /// Whether the client's keys were shown.
    pub(super) shown: bool,
    /// The number of the last trusted list of each kind.
    pub(super) sequence: u64,
    /// The webhook URL that the sandbox itself last set.
    #[serde(default)]
    pub(super) receiver: Option<String>,
    /// Where it runs; `None` while it does not.
    pub(super) running: Option<Running>,
    /// Whether its issuers' roots have the marker of samples. Folders from older versions do not.
    #[serde(default)]
    pub(super) marked: bool,
}

/// Where a sandbox runs.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Running {
    /// The base URL of links.
    pub(super) base_url: String,
    /// The address on which the gateway listens.
    pub(super) gateway: SocketAddr,
    /// The base URL of status lists and CRLs.
    pub(super) lists: String,
}

impl Kept {
    /// The data of a new sandbox, still without a client.
    ///
    /// # Errors
    /// The system has no random bytes.
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

    /// The data that `folder` keeps. An empty or missing folder is marked as a sandbox's before
    /// anything else is put into it, so that a start that fails half-way can be repeated.
    ///
    /// # Errors
    /// The folder belongs to something else, or cannot be used.
    pub(super) fn of(folder: &Path, now: UnixMillis) -> Result<Self, String> {
        if let Some(kept) = Self::read(folder)? {
            return Ok(kept);
        }
        let cannot = |error: std::io::Error| format!("{}: {error}", folder.display());
        DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(cannot)?;
        for entry in fs::read_dir(folder).map_err(cannot)? {
            // The keys of the sample issuers are stored with the data, so other tenants must not
            // come to trust them.
            if entry.map_err(cannot)?.file_name() != NEW {
                return Err(format!(
                    "{} is not the folder of a sandbox: it is a gateway's data directory or holds \
                     something else, and a sandbox trusts sample issuers; choose a new directory, \
                     or omit --data-dir",
                    folder.display()
                ));
            }
        }
        let kept = Self::fresh(now)?;
        kept.write(folder)?;
        Ok(kept)
    }

    /// The data that `folder` keeps; `None` if it is not a sandbox's.
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

    /// Writes the file into `folder` atomically, readable by its owner only.
    ///
    /// # Errors
    /// It cannot be written.
    pub(super) fn write(&self, folder: &Path) -> Result<(), String> {
        let text = serde_json::to_vec_pretty(self).map_err(|error| error.to_string())?;
        write_private(folder, FILE, &text)
    }
}

/// Writes a file into `folder` atomically, readable by its owner only.
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

/// The running sandbox whose gateway is at `base_url` or `gateway`, or else the only one that runs.
/// If `named` is given, the one in that folder. `None` if there is none, or if there are several.
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
        let none = || format!("{}: no sandbox runs in this folder", folder.display());
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

/// The folder of the running sandbox, for commands that name no store; `None` if none runs.
///
/// # Errors
/// Several run; the text names them.
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
                "several sandboxes are running, in {}; choose one with --data-dir",
                named.join(" and ")
            ))
        }
    }
}

fn running_in(folder: PathBuf) -> Option<(Kept, Running)> {
    let kept = Kept::read(&folder).ok().flatten()?;
    let running = kept.running.clone()?;
    // A killed sandbox leaves its folder behind, so check that the gateway listens.
    let listens = std::net::TcpStream::connect(running.gateway).is_ok();
    listens.then_some((kept, running))
}

/// The sandbox folders that belong to this user: anyone can create a folder with such a name.
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
    fn the_file_is_private_to_its_owner_and_reads_back_unchanged() {
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
        assert!(refused.contains("no sandbox runs in this folder"), "{refused}");
    }
}
