//! One fuzz target for each parser, by name.

use std::cell::OnceCell;

pub use idgate_it::hostile::Target;
pub use libfuzzer_sys;

/// The body of a program that fuzzes the target of this name.
#[macro_export]
macro_rules! fuzz {
    ($name:literal) => {
        $crate::libfuzzer_sys::fuzz_target!(|input: &[u8]| $crate::check($name, input));
    };
}

/// Panics when the target says so.
///
/// # Panics
/// See there; or there is no target of this name.
pub fn check(name: &str, input: &[u8]) {
    thread_local! {
        static TARGET: OnceCell<Target> = const { OnceCell::new() };
    }
    TARGET.with(|target| {
        target.get_or_init(|| Target::named(name).expect("a target")).check(input);
    });
}
