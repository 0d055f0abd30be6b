//! Structs with a size can grow. These tests run programs of another version, made by changing the header,
//! with the current library.

#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};
use std::process::Command;

mod declared;
mod material;

use self::declared::sized_structs;

fn header() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("include/idgate.h");
    std::fs::read_to_string(path).unwrap()
}

/// Compiles tests/c/`name`.c with that header and runs it; `version` names the files of this test.
fn run(name: &str, header: &str, version: &str) {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(version);
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("idgate.h"), header).unwrap();
    let program = folder.join(name);
    let built: PathBuf = std::env::current_exe().unwrap().parent().unwrap().to_owned();
    succeed(
        Command::new("cc")
            .args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-pedantic", "-g", "-pthread"])
            .args(["-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-I"])
            .arg(&folder)
            .arg(here.join("tests/c").join(format!("{name}.c")))
            .arg(built.join("libidgate_ffi.a"))
            .args(["-lm", "-ldl", "-o"])
            .arg(&program),
    );
    succeed(Command::new(program).arg(material::write(version)));
}

fn succeed(command: &mut Command) {
    let output = command.output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    assert!(output.status.success(), "{command:?}\n{}", String::from_utf8_lossy(&text));
}

/// The header of a later version: an additional field at the end of every struct with a size.
fn newer() -> String {
    sized_structs(&header()).iter().fold(header(), |text, name| {
        let end = format!("\n}} {name};");
        assert_eq!(text.matches(&end).count(), 1, "{name}");
        text.replace(&end, &format!("\n  uint64_t added_later;{end}"))
    })
}

/// The header of an earlier version: without the last field of every input struct.
fn older() -> String {
    let given = sized_structs(&header()).into_iter().filter(|name| name != "idgate_reply");
    given.fold(header(), |text, name| {
        let (before, after) = text.split_once(&format!("\n}} {name};")).unwrap();
        // The field, and the comment before it.
        let mut lines: Vec<&str> = before.lines().collect();
        assert!(lines.pop().is_some_and(|field| field.ends_with(';')), "{name}");
        while lines.last().is_some_and(|line| line.trim_start().starts_with("//")) {
            lines.pop();
        }
        [&lines.join("\n"), "\n} ", &name, ";", after].concat()
    })
}

#[test]
fn a_program_of_a_later_version_works_if_it_leaves_its_new_fields_at_zero() {
    for name in ["newer", "smoke", "jar", "offers", "registration"] {
        run(name, &newer(), "newer");
    }
}

#[test]
fn a_program_of_an_earlier_version_works_as_before() {
    let older = older();
    assert!(!older.contains("from_page;") && older.contains("content_type;"));
    for name in ["smoke", "threads"] {
        run(name, &older, "older");
    }
}
