//! The man pages and the completions cover the whole command line.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use std::collections::BTreeMap;
use std::fs;

use clap::Command;
use idgate_server::admin::manual::{ManualOptions, PACKAGED, write};
use idgate_server::config::SETTINGS;

use super::command;

/// Every command by its words, but for those that are hidden, with the flags of its own.
fn commands(command: &Command, words: &str, found: &mut BTreeMap<String, Vec<String>>) {
    let shown = command.get_arguments().filter(|argument| !argument.is_hide_set());
    let flags = shown.filter_map(|argument| argument.get_long()).map(str::to_owned);
    found.insert(words.to_owned(), flags.collect());
    for below in command.get_subcommands().filter(|below| !below.is_hide_set()) {
        if below.get_name() != "help" {
            commands(below, &format!("{words} {}", below.get_name()), found);
        }
    }
}

fn written() -> (BTreeMap<String, Vec<String>>, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let options = ManualOptions { folder: folder.path().join("made") };
    write(&options, &command()).unwrap();
    let mut found = BTreeMap::new();
    let mut built = command();
    built.build();
    commands(&built, "idgate", &mut found);
    assert!(found.len() > 50 && found["idgate doctor"].contains(&"live".to_owned()));
    (found, folder)
}

#[test]
fn each_command_has_a_page_that_names_its_flags_and_no_other_page_is_made() {
    let (commands, folder) = written();
    for (words, flags) in &commands {
        let name = format!("made/man/{}.1", words.replace(' ', "-"));
        let page = fs::read_to_string(folder.path().join(&name)).unwrap();
        let page = ["\\fB", "\\fR"].iter().fold(page, |page, font| page.replace(font, ""));
        let page = page.replace("\\-", "-");
        assert!(page.contains(&format!("SYNOPSIS\n{words} ")), "{name}");
        for flag in flags {
            assert!(page.contains(&format!("--{flag}")), "{name} lacks --{flag}");
        }
    }
    let made = fs::read_dir(folder.path().join("made/man")).unwrap().count();
    assert_eq!(made, commands.len() + 1);
}

#[test]
fn each_shell_completes_every_command_and_every_flag() {
    let (commands, folder) = written();
    for (_, name) in PACKAGED {
        let text = fs::read_to_string(folder.path().join("made/completions").join(name)).unwrap();
        // Of a command three below the program clap's fish completes no flags.
        let deep = |words: &str| name.ends_with(".fish") && words.matches(' ').count() > 2;
        for (words, flags) in commands.iter().filter(|(words, _)| !deep(words)) {
            let last = words.rsplit(' ').next().unwrap();
            assert!(text.contains(last), "{name}: {words}");
            for flag in flags {
                assert!(
                    text.contains(&format!("--{flag}")) || text.contains(&format!("-l {flag}")),
                    "{name}: {words} --{flag}"
                );
            }
        }
        for setting in SETTINGS {
            let flag = setting.flag_key().replace('_', "-");
            assert!(text.contains(&flag), "{name}: --{flag}");
        }
    }
}
