//! The C programs in tests/c, compiled with warnings as errors and run under AddressSanitizer.

#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};
use std::process::Command;

mod material;

const PROGRAMS: [&str; 8] =
    ["smoke", "jar", "offers", "browser", "iso_mdoc", "registration", "misuse", "threads"];

/// The folder of this test's binary, which also has the library.
fn built() -> PathBuf {
    std::env::current_exe().unwrap().parent().unwrap().to_owned()
}

/// Compiles tests/c/`name`.c against the static library.
fn compile(name: &str, flags: &[&str]) -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    // Tests run in parallel, so each way to compile has its own files.
    let program =
        Path::new(env!("CARGO_TARGET_TMPDIR")).join([name, flags.concat().as_str()].concat());
    let output = Command::new("cc")
        .args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-pedantic", "-g", "-pthread"])
        .args(flags)
        .arg("-I")
        .arg(here.join("include"))
        .arg(here.join("tests/c").join(format!("{name}.c")))
        .arg(built().join("libidgate_ffi.a"))
        .args(["-lm", "-ldl", "-o"])
        .arg(&program)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    program
}

fn run(command: &mut Command) {
    let output = command.output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    assert!(output.status.success(), "{:?}\n{}", command, String::from_utf8_lossy(&text));
}

fn run_under_address_sanitizer(name: &str) {
    let program = compile(name, &["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]);
    let material = material::write(name);
    run(Command::new(program).arg(material).env("ASAN_OPTIONS", "detect_leaks=1"));
}

#[test]
fn an_sd_jwt_and_an_mdoc_are_verified_and_forgeries_refused() {
    run_under_address_sanitizer("smoke");
}

#[test]
fn signed_requests_encrypted_answers_and_webhooks() {
    run_under_address_sanitizer("jar");
}

#[test]
fn a_certified_verifier_makes_offers_and_an_answer_to_one_settles_the_session() {
    run_under_address_sanitizer("offers");
}

#[test]
fn an_answer_from_a_browser_settles_the_session() {
    run_under_address_sanitizer("browser");
}

#[test]
fn a_page_asks_its_browser_for_an_mdoc_by_annex_c() {
    run_under_address_sanitizer("iso_mdoc");
}

#[test]
fn a_registration_certificate_goes_to_wallets_and_excess_claims_are_reported_or_refused() {
    run_under_address_sanitizer("registration");
}

#[test]
fn misuse_is_a_code_never_a_crash_or_a_leak() {
    run_under_address_sanitizer("misuse");
}

#[test]
fn threads_share_handles() {
    run_under_address_sanitizer("threads");
}

#[test]
fn an_installed_library_links_by_its_pkg_config_file_and_says_its_abi() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let prefix = Path::new(env!("CARGO_TARGET_TMPDIR")).join("prefix");
    run(Command::new(here.join("pkg-config.sh")).args([&prefix, &built()]));
    let pc = std::fs::read_to_string(prefix.join("lib/pkgconfig/idgate.pc")).unwrap();
    let flags = |key: &str| {
        let line = pc.lines().find_map(|line| line.strip_prefix(key)).unwrap();
        let path = prefix.display().to_string();
        let line = line.replace("${includedir}", &format!("{path}/include"));
        let line = line.replace("${libdir}", &format!("{path}/lib"));
        line.split_whitespace().map(String::from).collect::<Vec<_>>()
    };
    let material = material::write("prefix");
    for name in PROGRAMS {
        let program = prefix.join(name);
        run(Command::new("cc")
            .args(flags("Cflags:"))
            .arg(here.join("tests/c").join(format!("{name}.c")))
            .args(flags("Libs:"))
            .args(["-pthread", "-o"])
            .arg(&program));
        run(Command::new(program).arg(&material).env("LD_LIBRARY_PATH", prefix.join("lib")));
    }
    let name = format!("libidgate_ffi.so.{}", idgate_ffi::IDGATE_ABI_VERSION);
    assert!(prefix.join("lib").join(name).exists());
}

/// Runs the example on the sample presentation with this nonce. Returns its exit code and its output.
fn example(program: &Path, nonce: &str) -> (Option<i32>, String) {
    // Two ways to build it run in parallel, so each has its own files.
    let way = program.parent().unwrap().file_name().unwrap().to_str().unwrap();
    let material = material::presentation(&format!("example-{way}"));
    let file = |name: &str| material.join(name);
    let output = Command::new(program)
        .arg(file("key.json"))
        .args([idgate_testkit::samples::ISSUER, "redirect_uri:https://shop.example/answer", nonce])
        .arg(file("presentation"))
        .arg("given_name")
        .env("LD_LIBRARY_PATH", program.parent().unwrap().join("lib"))
        .output()
        .unwrap();
    let text = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8(text).unwrap())
}

fn expect_example_to_verify(program: &Path) {
    let (code, text) = example(program, material::NONCE);
    assert!(code == Some(0) && text.contains(r#""claims":{"given_name":"Erika"}"#), "{text}");
    let (code, text) = example(program, "of another request");
    assert!(code == Some(3) && text.contains("nonce_mismatch") && text.contains("see "), "{text}");
    let (code, text) = example(program, "with \" a quotation mark");
    assert!(code == Some(3) && text.contains("nonce_mismatch"), "{text}");
}

#[test]
fn the_example_is_built_by_pkg_config_and_verifies() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let prefix = Path::new(env!("CARGO_TARGET_TMPDIR")).join("by-pkg-config");
    run(Command::new(here.join("pkg-config.sh")).args([&prefix, &built()]));
    let told = Command::new("pkg-config")
        .args(["--cflags", "--libs", "idgate"])
        .env("PKG_CONFIG_PATH", prefix.join("lib/pkgconfig"))
        .output();
    let Ok(told) = told else { return eprintln!("skipped: pkg-config is not installed") };
    let flags = String::from_utf8(told.stdout).unwrap();
    run(Command::new("cc")
        .args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-pedantic"])
        .arg(here.join("example/verify.c"))
        .args(flags.split_whitespace())
        .arg("-o")
        .arg(prefix.join("verify")));
    expect_example_to_verify(&prefix.join("verify"));
}

#[test]
fn the_example_is_built_by_cmake_and_verifies() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let prefix = Path::new(env!("CARGO_TARGET_TMPDIR")).join("by-cmake");
    run(Command::new(here.join("pkg-config.sh")).args([&prefix, &built()]));
    let found = format!("-DCMAKE_PREFIX_PATH={}", prefix.display());
    let configure = Command::new("cmake")
        .arg("-S")
        .arg(here.join("example"))
        .arg("-B")
        .arg(&prefix)
        .arg(found)
        .output();
    let Ok(configured) = configure else { return eprintln!("skipped: cmake is not installed") };
    assert!(configured.status.success(), "{}", String::from_utf8_lossy(&configured.stderr));
    run(Command::new("cmake").arg("--build").arg(&prefix));
    expect_example_to_verify(&prefix.join("verify"));
}

#[test]
fn the_header_is_cpp_as_well() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    for standard in ["-std=c++11", "-std=c++20"] {
        let flags = ["-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-pedantic"];
        let mut compiler = Command::new("c++");
        compiler.arg(standard).args(flags).arg("-I").arg(here.join("include"));
        match compiler.arg(here.join("tests/c/header.cpp")).output() {
            Ok(output) => {
                assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            }
            Err(error) => eprintln!("skipped: no c++ ({error})"),
        }
    }
}

#[test]
fn valgrind_finds_nothing() {
    if std::env::var_os("IDGATE_LONG").is_none() {
        eprintln!("skipped: set IDGATE_LONG=1 (tests/run.sh --long)");
        return;
    }
    for name in PROGRAMS {
        let program = compile(name, &[]);
        let material = material::write(&format!("valgrind-{name}"));
        // Possibly lost: memory that a static table of Rust's standard library points into.
        let leaks = ["--leak-check=full", "--errors-for-leak-kinds=definite,indirect"];
        let check = [&leaks[..], &["--error-exitcode=9", "--quiet"]].concat();
        run(Command::new("valgrind").args(check).arg(program).arg(material));
    }
}
