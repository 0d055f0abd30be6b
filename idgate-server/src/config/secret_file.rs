//! Files that hold a secret: who else may use them.

use std::fs::Metadata;
use std::io;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;

use zeroize::Zeroizing;

/// The file's text, and who else may use it, in words; `None`: only its owner and its group's readers may.
pub(super) fn read(path: &Path) -> io::Result<(Zeroizing<String>, Option<String>)> {
    let text = std::fs::read_to_string(path).map(Zeroizing::new)?;
    Ok((text, exposure(path)))
}

/// The others that may use the file, in words with the remedy. A file of root's may be read by its group, as orchestrators
/// mount secrets.
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
        return Some(format!("others may use it (mode {mode:04o}); chmod 600 it"));
    }
    None
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::fs::{self, Permissions};

    use super::*;

    #[test]
    fn a_secret_file_that_others_may_use_is_named_with_the_remedy() {
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
    fn a_secret_file_of_another_user_is_named_and_one_of_roots_is_not() {
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
