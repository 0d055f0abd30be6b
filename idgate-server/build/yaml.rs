//! YAML that means the same to readers of 1.1 and 1.2: a text that one of them could take for something else is
//! quoted as in JSON.

use yaml_rust2::Yaml;

use crate::json;

pub(crate) fn text(document: &Yaml) -> Result<String, String> {
    let mut yaml = String::new();
    write_block(&mut yaml, document, 0)?;
    Ok(yaml)
}

/// A mapping or a list that is not empty, each line of it indented.
fn write_block(yaml: &mut String, value: &Yaml, indent: usize) -> Result<(), String> {
    match value {
        Yaml::Hash(members) => {
            for (name, value) in members {
                let name = name.as_str().ok_or_else(|| format!("{name:?} is not a name"))?;
                yaml.push_str(&format!("{:indent$}{}:", "", one_line(name)?));
                write_member(yaml, value, indent)?;
            }
        }
        Yaml::Array(items) => {
            for item in items {
                write_item(yaml, item, indent)?;
            }
        }
        _ => return Err(format!("{value:?} is not a mapping or a list")),
    }
    Ok(())
}

/// Writes the value of a member after the colon.
fn write_member(yaml: &mut String, value: &Yaml, indent: usize) -> Result<(), String> {
    if is_block(value) {
        yaml.push('\n');
        return write_block(yaml, value, indent + 2);
    }
    yaml.push(' ');
    match value.as_str().and_then(chomping) {
        Some((header, text)) => {
            yaml.push_str(&format!("{header}\n"));
            write_lines(yaml, text, indent + 2);
        }
        None => yaml.push_str(&format!("{}\n", scalar(value)?)),
    }
    Ok(())
}

fn write_item(yaml: &mut String, item: &Yaml, indent: usize) -> Result<(), String> {
    yaml.push_str(&format!("{:indent$}- ", ""));
    if !is_block(item) {
        yaml.push_str(&format!("{}\n", scalar(item)?));
        return Ok(());
    }
    let mut block = String::new();
    write_block(&mut block, item, indent + 2)?;
    // Its first line is behind the dash.
    yaml.push_str(block.trim_start());
    Ok(())
}

fn is_block(value: &Yaml) -> bool {
    match value {
        Yaml::Hash(members) => !members.is_empty(),
        Yaml::Array(items) => !items.is_empty(),
        _ => false,
    }
}

/// The header of a literal, and its lines, where a text has several lines.
fn chomping(text: &str) -> Option<(&'static str, &str)> {
    let is_literal = text.contains('\n') && text.starts_with(|c: char| !c.is_whitespace());
    let (header, lines) = match text.strip_suffix('\n') {
        _ if !is_literal => return None,
        None => ("|-", text),
        Some(lines) if lines.ends_with('\n') => ("|+", lines),
        Some(lines) => ("|", lines),
    };
    Some((header, lines))
}

fn write_lines(yaml: &mut String, text: &str, indent: usize) {
    for line in text.split('\n') {
        let indent = if line.is_empty() { 0 } else { indent };
        yaml.push_str(&format!("{:indent$}{line}\n", ""));
    }
}

/// A value that fits in one line.
fn scalar(value: &Yaml) -> Result<String, String> {
    match value {
        Yaml::Hash(_) => Ok("{}".to_owned()),
        Yaml::Array(_) => Ok("[]".to_owned()),
        Yaml::String(text) => one_line(text),
        _ => json::scalar_text(value),
    }
}

fn one_line(text: &str) -> Result<String, String> {
    if is_plain(text) {
        Ok(text.to_owned())
    } else {
        json::scalar_text(&Yaml::String(text.to_owned()))
    }
}

/// Whether no reader of YAML takes it for anything but this text.
fn is_plain(text: &str) -> bool {
    const WORDS: [&str; 9] = ["y", "n", "yes", "no", "on", "off", "true", "false", "null"];
    let begins = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '/' || c == '$');
    let ends = text.ends_with(|c: char| c != ':' && !c.is_whitespace());
    let breaks = text.contains(": ") || text.contains(" #") || text.contains(char::is_control);
    begins && ends && !breaks && !WORDS.contains(&text.to_ascii_lowercase().as_str())
}
