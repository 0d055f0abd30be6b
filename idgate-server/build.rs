//! Renders the interface description as YAML and JSON, for gateways that speak `draft` alone, for those
//! that speak more, and for those that also ask browsers; each without pages and with them, and deflated. Its one source is `openapi.yaml`.

use std::error::Error;
use std::path::PathBuf;
use std::{env, fs};

use miniz_oxide::deflate::{CompressionLevel, compress_to_vec};
use yaml_rust2::{Yaml, YamlLoader};

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed=openapi.yaml");
    let out = PathBuf::from(env::var_os("OUT_DIR").ok_or("OUT_DIR is not set")?);
    let source = fs::read_to_string("openapi.yaml")?;
    let kinds =
        [("draft", &[UNASKED][..]), ("profiles", &[NEWER, UNASKED]), ("browsers", &[NEWER, ASKED])];
    let described = kinds.iter().flat_map(|(name, kept)| {
        [((*name).to_owned(), kept.to_vec()), (format!("{name}-pages"), [*kept, &[PAGED]].concat())]
    });
    for (name, kept) in described {
        let (name, kept) = (&*name, &*kept);
        let yaml = description(&source, kept)?;
        let documents = YamlLoader::load_from_str(&yaml)?;
        let [document] = documents.as_slice() else {
            return Err("openapi.yaml must hold exactly one document".into());
        };
        let mut json = String::new();
        write_value(&mut json, document)?;
        for (text, form) in [(yaml, "yaml"), (json, "json")] {
            let deflated =
                compress_to_vec(text.as_bytes(), CompressionLevel::BestCompression as u8);
            fs::write(out.join(format!("{name}.{form}.deflated")), deflated)?;
        }
    }
    Ok(())
}

/// What begins a part of `openapi.yaml` that is for some gateways alone; `# end` ends it.
const NEWER: &str = "# where more than draft is spoken";
const ASKED: &str = "# where browsers are asked";
const PAGED: &str = "# where sessions have pages";
const UNASKED: &str = "# where browsers are not asked";

/// The description with the parts under these marks, and without the others.
fn description(source: &str, kept: &[&str]) -> Result<String, String> {
    let (mut text, mut part) = (String::new(), None);
    for line in source.lines() {
        match (line, part) {
            (NEWER | ASKED | UNASKED | PAGED, None) => part = Some(line),
            ("# end", Some(_)) => part = None,
            (NEWER | ASKED | UNASKED | PAGED, Some(_)) | ("# end", None) => {
                return Err("openapi.yaml: a mark without its counterpart".into());
            }
            (_, Some(mark)) if !kept.contains(&mark) => {}
            _ => text.extend([line, "\n"]),
        }
    }
    if part.is_some() {
        Err("openapi.yaml: a mark without its counterpart".into())
    } else {
        Ok(text)
    }
}

fn write_value(json: &mut String, value: &Yaml) -> Result<(), String> {
    match value {
        Yaml::Hash(members) => {
            return write_sequence(json, ['{', '}'], members, |json, (name, value)| {
                write_text(json, name.as_str().ok_or_else(|| format!("{name:?} is not a name"))?);
                json.push(':');
                write_value(json, value)
            });
        }
        Yaml::Array(items) => return write_sequence(json, ['[', ']'], items, write_value),
        Yaml::String(text) => write_text(json, text),
        Yaml::Integer(number) => json.push_str(&number.to_string()),
        Yaml::Real(number) => json.push_str(number),
        Yaml::Boolean(yes) => json.push_str(&yes.to_string()),
        Yaml::Null => json.push_str("null"),
        Yaml::Alias(_) | Yaml::BadValue => return Err(format!("{value:?} has no form in JSON")),
    }
    Ok(())
}

fn write_sequence<T>(
    json: &mut String,
    [open, close]: [char; 2],
    items: impl IntoIterator<Item = T>,
    write: impl Fn(&mut String, T) -> Result<(), String>,
) -> Result<(), String> {
    json.push(open);
    for (at, item) in items.into_iter().enumerate() {
        if at > 0 {
            json.push(',');
        }
        write(json, item)?;
    }
    json.push(close);
    Ok(())
}

/// RFC 8259 7.
fn write_text(json: &mut String, text: &str) {
    json.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => json.extend(['\\', c]),
            '\n' => json.push_str("\\n"),
            c if c.is_control() => json.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => json.push(c),
        }
    }
    json.push('"');
}
