//! The audit log as hashes and signatures: entries, chains, checkpoints. It contains no SQL and no
//! HTTP (decisions 13).
//!
//! ```text
//! genesis <── entry 1 <── entry 2 <── … <── entry n <── head, MACed with the instance key
//!                 each hash covers its predecessor's       checkpoints, signed, every so often
//! ```

mod checkpoint;
mod entry;
mod keys;
mod removal;
mod walk;

pub use self::checkpoint::{Checkpoint, SignedCheckpoint};
pub use self::entry::{
    AuditEntry, AuditEvent, AuditStatus, ListChange, OPERATOR, OPERATOR_CHAIN, PERSON, SYSTEM,
    WALLET, entry_hash, genesis,
};
pub use self::keys::AuditKeys;
pub use self::removal::{Removal, SignedRemoval};
pub use self::walk::{Breach, ChainWalk, Damage, StoredEntry};

/// A SHA-256.
pub type Hash = [u8; 32];

/// Prefix of everything that an entry's hash covers.
const PREFIX: &[u8] = b"idgate-audit-v1\n";

/// Lower-case hex.
pub fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |nibble: u8| DIGITS.get(usize::from(nibble)).copied().unwrap_or(b'?');
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).map(char::from).collect()
}

/// The SHA-256 of these parts, one after the other.
fn sha256(parts: &[&[u8]]) -> Hash {
    let mut context = aws_lc_rs::digest::Context::new(&aws_lc_rs::digest::SHA256);
    parts.iter().for_each(|part| context.update(part));
    let mut hash = [0; 32];
    hash.copy_from_slice(context.finish().as_ref());
    hash
}
