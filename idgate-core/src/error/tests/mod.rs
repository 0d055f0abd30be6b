//! Texts for the caller of this library, a program in Rust, Python, Node or C: they mention only
//! things that such a program has.

mod material;
mod requests;

use alloc::string::ToString;
use core::fmt;

/// Words of a command line, of C, of JSON that the program never saw, and of a gateway with an
/// operator.
const FOREIGN: [&str; 7] =
    ["--", "IDGATE_", "idgate_", "NULL", "line 1 column", "the operator", "gateway"];

/// Checks that the text of this refusal is neutral.
#[track_caller]
fn assert_neutral(refused: impl fmt::Display) {
    let text = refused.to_string();
    assert!(!text.is_empty());
    for foreign in FOREIGN {
        assert!(!text.contains(foreign), "{foreign}: {text}");
    }
}
