//! The shared library says which ABI it has.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("linux") {
        // The number is IDGATE_ABI_VERSION; a test compares them.
        println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libidgate_ffi.so.1");
        // Threads of the caller keep destructors of ours: whoever unloads the library while they
        // live, as Node does when it ends, must not unmap the code of these.
        println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
    }
}
