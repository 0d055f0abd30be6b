//! `idgate completions` and `idgate manual`: shell completions and man pages. Both are generated
//! from the command line itself, so they are always up to date.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use clap::{Arg, Args, Command};
use clap_complete::{Shell, generate};
use clap_mangen::Man;
use serde_json::json;

use crate::admin::Output;
use crate::config::SETTINGS;
use crate::failure::Failure;

mod pages;

/// The options of `idgate completions`.
#[derive(Args, Debug)]
pub struct CompletionsOptions {
    /// The shell
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

/// The options of `idgate manual`.
#[derive(Args, Debug)]
pub struct ManualOptions {
    /// The folder, which is created: `man/` and `completions/` are written into it
    #[arg(value_name = "FOLDER")]
    pub folder: PathBuf,
}

/// The shells whose completions a package has, each with the name of its file.
pub const PACKAGED: [(Shell, &str); 3] =
    [(Shell::Bash, "idgate"), (Shell::Zsh, "_idgate"), (Shell::Fish, "idgate.fish")];
/// The commands whose completions list the settings. Under the others, these would hide the
/// command's own flags.
const TAKE_SETTINGS: [&str; 4] = ["serve", "demo", "sandbox", "doctor"];

/// The completions of `command` for a shell.
pub fn completions(options: &CompletionsOptions, command: Command) -> Output {
    let text = of_shell(options.shell, command);
    Output::new(json!({ "completions": text }), text)
}

/// Writes man pages and completions of `command`.
///
/// # Errors
/// A file cannot be written; the text says which one.
pub fn write(options: &ManualOptions, command: &Command) -> Result<Output, Failure> {
    let mut files = Vec::new();
    for (shell, name) in PACKAGED {
        let text = of_shell(shell, command.clone());
        files.push((PathBuf::from("completions").join(name), text.into_bytes()));
    }
    for (name, page) in man_pages(command.clone())? {
        files.push((PathBuf::from("man").join(name), page));
    }
    for (name, bytes) in &files {
        write_file(&options.folder.join(name), bytes)?;
    }
    let count = files.len();
    let text = format!("{count} files in {}\n", options.folder.display());
    Ok(Output::new(json!({ "files": count }), text))
}

fn write_file(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let folder = path.parent().unwrap_or(path);
    fs::create_dir_all(folder)
        .and_then(|()| fs::write(path, bytes))
        .map_err(|error| Failure::Error(format!("{} cannot be written: {error}", path.display())))
}

fn of_shell(shell: Shell, command: Command) -> String {
    let mut command = with_settings(command);
    for name in TAKE_SETTINGS {
        if command.find_subcommand(name).is_some() {
            command = command.mut_subcommand(name, with_settings);
        }
    }
    command = command.mut_subcommand("config", |it| it.mut_subcommand("check", with_settings));
    let mut text = Vec::new();
    generate(shell, &mut command, "idgate", &mut text);
    String::from_utf8_lossy(&text).into_owned()
}

/// Adds the settings as visible flags, except those that the command has itself.
fn with_settings(command: Command) -> Command {
    SETTINGS.iter().fold(command, |command, setting| {
        let id = setting.flag_key();
        if command.get_arguments().any(|argument| argument.get_id() == id.as_str()) {
            return command;
        }
        let name = if setting.secret { "FILE" } else { "VALUE" };
        command.arg(
            Arg::new(id.clone()).long(id.replace('_', "-")).value_name(name).help(setting.help),
        )
    })
}

/// A page for each command, by its file name, and the page of the settings file.
fn man_pages(command: Command) -> Result<Vec<(OsString, Vec<u8>)>, Failure> {
    let mut command = command.disable_help_subcommand(true);
    command.build();
    let mut files = vec![(OsString::from("idgate.toml.5"), pages::settings().into_bytes())];
    add_pages(&command, "idgate", &mut files)?;
    Ok(files)
}

fn add_pages(
    command: &Command,
    name: &str,
    files: &mut Vec<(OsString, Vec<u8>)>,
) -> Result<(), Failure> {
    let mut page = Vec::new();
    // Subcommands have the names of their pages.
    let named = command.clone().name(name.to_owned()).display_name(name.to_owned());
    let rendered = Man::new(named).title(name).manual("idgate").render(&mut page);
    rendered.map_err(|error| Failure::Error(format!("{name}(1) cannot be made: {error}")))?;
    page.extend_from_slice(pages::after(name).as_bytes());
    files.push((format!("{name}.1").into(), page));
    for below in command.get_subcommands().filter(|below| !below.is_hide_set()) {
        add_pages(below, &format!("{name}-{}", below.get_name()), files)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_of_the_settings_file_has_each_setting() {
        let page = pages::settings().replace("\\-", "-");
        for setting in SETTINGS {
            let key = setting.flag_key();
            for text in [format!("\\fB{key}\\fR"), setting.variable.into(), setting.help.into()] {
                assert!(page.contains(&text), "{text}");
            }
        }
    }
}
