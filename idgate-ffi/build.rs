//! The shared library says which ABI it has.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("linux") {
        // The number is IDGATE_ABI_VERSION; a test compares them.
        println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libidgate_ffi.so.1");
    }
}
