//! Files with a secret, and whether other users may use them.

use std::fs::Metadata;
use std::io;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;

use zeroize::Zeroizing;

/// The file's text, and in words whether other users may use it; `None`: only its owner and readers
/// in its group may.
pub(super) fn read(path: &Path) -> io::Result<(Zeroizing<String>, Option<String>)> {
    let text = std::fs::read_to_string(path).map(Zeroizing::new)?;
    Ok((text, exposure(path)))
}

/// Says, with the remedy, that other users may use the file. Its group may read it, because
/// orchestrators mount secrets this way.
pub(super) fn exposure(path: &Path) -> Option<String> {
    let metadata = std::fs::metadata(path).ok()?;
    let why = rule_broken(&metadata, rustix::process::geteuid().as_raw())?;
    Some(format!("{} holds a secret and {why}", path.display()))
}

fn rule_broken(metadata: &Metadata, own_user: u32) -> Option<String> {
    let (mode, owner) = (metadata.permissions().mode() & 0o777, metadata.uid());
    if owner != own_user && owner != 0 {
        return Some(format!("belongs to another user (id {owner}); chown it"));
    }
    if mode & 0o027 != 0 {
        return Some(format!("other users may use it (mode {mode:04o}); chmod 600 it"));
    }
    None
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::fs::{self, Permissions};

    use super::*;

    #[test]
    fn a_secret_file_that_other_users_may_use_is_named_with_the_remedy() {
        let folder = tempfile::TempDir::new().unwrap();
        let path = folder.path().join("key");
        fs::write(&path, "secret").unwrap();
        for (mode, is_exposed) in [
            (0o600, false),
            (0o400, false),
            (0o440, false),
            (0o640, false),
            (0o644, true),
            (0o604, true),
            (0o602, true),
            (0o601, true),
            (0o620, true),
            (0o666, true),
        ] {
            fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            let (text, exposure) = read(&path).unwrap();
            assert_eq!(text.as_str(), "secret");
            assert_eq!(exposure.is_some(), is_exposed, "{mode:o}");
            if let Some(why) = exposure {
                assert!(why.contains("chmod 600") && !why.contains("secret\""), "{why}");
            }
        }
    }

    #[test]
    fn a_secret_file_of_another_user_is_named_unless_that_is_root() {
        let folder = tempfile::TempDir::new().unwrap();
        let path = folder.path().join("key");
        fs::write(&path, "secret").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
        let metadata = fs::metadata(&path).unwrap();
        let owner = metadata.uid();
        let why = rule_broken(&metadata, owner + 1);
        match owner {
            0 => assert_eq!(why, None),
            _ => assert!(why.unwrap().contains("another user")),
        }
        assert_eq!(rule_broken(&metadata, owner), None);
    }
}
