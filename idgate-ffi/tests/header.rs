//! The committed header declares exactly what the library exports, and follows its rules.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

mod declared;

use self::declared::{functions, sized_structs};

/// cbindgen cannot make macros with arguments. They are not in its configuration, because the Python package
/// generates its declarations from that, and these cannot have macros.
const MACROS: &str = r#"
// An idgate_str of a literal.
#ifdef __cplusplus
#define IDGATE_STR(literal) (idgate_str{"" literal, sizeof(literal) - 1})
#else
#define IDGATE_STR(literal) ((idgate_str){"" literal, sizeof(literal) - 1})
#endif
"#;
/// Each unsafe function has this section for readers of Rust. The head of the header says it once.
const SAFETY: &str = "//\n// # Safety\n// The pointers are as the head of the header says.\n";
const BEFORE_MACROS: &str = "} idgate_str;\n";

fn here() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn committed() -> String {
    std::fs::read_to_string(here().join("include/idgate.h")).unwrap()
}

/// The folder of this test's binary, which also has the library.
fn built() -> PathBuf {
    std::env::current_exe().unwrap().parent().unwrap().to_owned()
}

fn generated(config: cbindgen::Config) -> String {
    let bindings = cbindgen::Builder::new().with_crate(here()).with_config(config).generate();
    let mut made = Vec::new();
    bindings.unwrap().write(&mut made);
    String::from_utf8(made).unwrap()
}

fn config() -> cbindgen::Config {
    cbindgen::Config::from_file(here().join("cbindgen.toml")).unwrap()
}

#[test]
fn the_committed_header_is_the_one_of_the_code() {
    let made = generated(config());
    assert_eq!(made.matches(BEFORE_MACROS).count(), 1);
    let made = made.replace(BEFORE_MACROS, &[BEFORE_MACROS, MACROS].concat()).replace(SAFETY, "");
    if made != committed() {
        let fresh = built().join("idgate.h");
        std::fs::write(&fresh, made).unwrap();
        panic!("include/idgate.h is out of date; the new one is {}", fresh.display());
    }
}

/// maturin makes them with this configuration, and cffi accepts only macros that name a number.
#[test]
fn the_declarations_for_python_define_nothing_but_numbers() {
    let mut config = config();
    config.include_guard = None;
    config.cpp_compat = false;
    let made = generated(config);
    let defined: Vec<_> = made.lines().filter_map(|line| line.strip_prefix("#define ")).collect();
    assert!(defined.len() >= 4, "{defined:?}");
    let is_number = |line: &&str| {
        let mut words = line.split_whitespace();
        words.nth(1).is_some_and(|number| number.parse::<u64>().is_ok()) && words.next().is_none()
    };
    assert!(defined.iter().all(is_number), "{defined:?}");
}

#[test]
fn the_library_exports_what_the_header_declares_and_nothing_else() {
    let header = committed();
    let declared: BTreeSet<String> = functions(&header).into_iter().map(|it| it.name).collect();
    assert!(declared.len() > 50, "{declared:?}");
    let library = built().join("libidgate_ffi.so");
    let symbols = Command::new("nm").args(["-D", "--defined-only"]).arg(&library).output().unwrap();
    assert!(symbols.status.success(), "nm {}", library.display());
    let symbols = String::from_utf8(symbols.stdout).unwrap();
    let exported = symbols.lines().filter_map(|line| line.split(' ').nth(2));
    let exported: BTreeSet<String> = exported.map(String::from).collect();
    assert_eq!(exported, declared);
    let foreign: Vec<_> = exported.iter().filter(|name| !name.starts_with("idgate_")).collect();
    assert!(foreign.is_empty(), "{foreign:?}");
}

#[test]
fn no_function_has_more_than_six_parameters() {
    let wide = functions(&committed()).into_iter().filter(|it| it.parameters.len() > 6);
    let wide: Vec<_> = wide.map(|it| (it.name, it.parameters)).collect();
    assert!(wide.is_empty(), "{wide:#?}");
}

#[test]
fn text_goes_in_by_value() {
    let split = |it: &&declared::Function| {
        it.parameters.iter().any(|one| one.contains("char") || one.contains("uint8_t"))
    };
    let functions = functions(&committed());
    let split: Vec<_> = functions.iter().filter(split).map(|it| &it.name).collect();
    assert!(split.is_empty(), "{split:?}");
}

#[test]
fn a_struct_that_is_given_says_its_size_or_is_the_result() {
    let header = committed();
    let sized = sized_structs(&header);
    assert!(sized.len() >= 8, "{sized:?}");
    for function in functions(&header) {
        for parameter in function.parameters.iter().filter(|it| it.starts_with("const struct ")) {
            let name = parameter.split_whitespace().nth(2).unwrap();
            let is_handle = header.contains(&format!("typedef struct {name} {name};"));
            assert!(is_handle || sized.contains(name), "{}: {parameter}", function.name);
        }
    }
}

/// The rules for the header's prose, and for every message that reaches a caller.
#[test]
fn the_header_is_in_plain_english() {
    for word in ["whoever", "Whoever", "nobody", "anew", "for good", "vouch", "beside", " stands "]
    {
        let lines = committed();
        let found: Vec<_> = lines.lines().filter(|line| line.contains(word)).collect();
        assert!(found.is_empty(), "{word}: {found:?}");
    }
}
