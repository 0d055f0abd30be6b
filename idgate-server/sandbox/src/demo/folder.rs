//! Where sample gateways keep their data: what a flag names, or a folder that goes away with them.

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt as _;

use super::plan::Said;

/// A data directory.
pub(crate) enum Folder {
    /// What a flag names, and what is left as it is.
    Named(String),
    /// One that goes away with whoever made it.
    ThrowAway(String),
}

impl Folder {
    /// What `said` names, else a new one below the system's temporary folder, which begins with
    /// `prefix`.
    ///
    /// # Errors
    /// It cannot be made.
    pub(crate) fn new(said: Said<'_>, prefix: &str) -> Result<Self, String> {
        if let Some(named) = said.flags.get("data_dir") {
            return Ok(Self::Named(named.clone()));
        }
        let mut random = [0; 8];
        getrandom::fill(&mut random).map_err(|error| format!("no random bytes: {error}"))?;
        let name = format!("{prefix}{:016x}", u64::from_be_bytes(random));
        let folder = std::env::temp_dir().join(name);
        let made = DirBuilder::new().mode(0o700).create(&folder);
        made.map_err(|error| format!("{}: {error}", folder.display()))?;
        Ok(Self::ThrowAway(folder.to_string_lossy().into_owned()))
    }

    /// Its path as settings have it.
    pub(crate) fn text(&self) -> &str {
        let (Self::Named(path) | Self::ThrowAway(path)) = self;
        path
    }

    /// Whether it goes away.
    pub(crate) const fn is_thrown_away(&self) -> bool {
        matches!(self, Self::ThrowAway(_))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if let Self::ThrowAway(path) = self {
            // Best effort: it holds sample data under the system's temporary folder.
            let _left_behind = std::fs::remove_dir_all(path);
        }
    }
}
