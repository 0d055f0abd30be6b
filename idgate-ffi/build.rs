//! Sets the soname of the shared library, which names its ABI.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("linux") {
        // The number is IDGATE_ABI_VERSION; a test compares them.
        println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libidgate_ffi.so.1");
        // The caller's threads hold destructors of this library. Their code must stay mapped when a
        // program unloads the library while these threads live, as Node does when it ends.
        println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
    }
}
