//! JSON (RFC 8259).

use yaml_rust2::Yaml;

pub(crate) fn text(value: &Yaml) -> Result<String, String> {
    let mut json = String::new();
    write_value(&mut json, value)?;
    Ok(json)
}

fn write_value(json: &mut String, value: &Yaml) -> Result<(), String> {
    match value {
        Yaml::Hash(members) => write_sequence(json, ['{', '}'], members, |json, (name, value)| {
            write_text(json, name.as_str().ok_or_else(|| format!("{name:?} is not a name"))?);
            json.push(':');
            write_value(json, value)
        }),
        Yaml::Array(items) => write_sequence(json, ['[', ']'], items, write_value),
        scalar => {
            json.push_str(&scalar_text(scalar)?);
            Ok(())
        }
    }
}

/// Neither an object nor an array.
pub(crate) fn scalar_text(value: &Yaml) -> Result<String, String> {
    match value {
        Yaml::String(text) => {
            let mut quoted = String::new();
            write_text(&mut quoted, text);
            Ok(quoted)
        }
        Yaml::Integer(number) => Ok(number.to_string()),
        Yaml::Real(number) => Ok(number.clone()),
        Yaml::Boolean(yes) => Ok(yes.to_string()),
        Yaml::Null => Ok("null".to_owned()),
        _ => Err(format!("{value:?} is not a scalar of JSON")),
    }
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
