//! The data directory of sample gateways: the one that a flag names, or a temporary one.

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt as _;

use super::plan::Said;

/// A data directory.
pub(crate) enum Folder {
    /// Named by a flag; left in place.
    Named(String),
    /// Temporary; removed when dropped.
    ThrowAway(String),
}

impl Folder {
    /// The folder that `said` names, or else a new one in the system's temporary folder whose name
    /// begins with `prefix`.
    ///
    /// # Errors
    /// It cannot be created.
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

    /// Its path, as a setting.
    pub(crate) fn text(&self) -> &str {
        let (Self::Named(path) | Self::ThrowAway(path)) = self;
        path
    }

    /// Whether it is removed at the end.
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
