//! Derives from `openapi.yaml`, which describes a gateway with everything on, the descriptions that gateways serve:
//! one for each kind of gateway, as JSON and YAML of OpenAPI 3.1 and as YAML of 3.0. They are deflated.

mod json;
mod older;
mod parts;
mod yaml;

use std::error::Error;
use std::path::{Path, PathBuf};
use std::{env, fs};

use miniz_oxide::deflate::{CompressionLevel, compress_to_vec};
use yaml_rust2::{Yaml, YamlLoader};

/// The kinds of gateways by name, each with the parts that it has.
const KINDS: [(&str, &[&str]); 6] = [
    ("draft", &[]),
    ("draft-pages", &["pages"]),
    ("profiles", &["profiles"]),
    ("profiles-pages", &["profiles", "pages"]),
    ("browsers", &["profiles", "browsers"]),
    ("browsers-pages", &["profiles", "browsers", "pages"]),
];

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed=openapi.yaml");
    let out = PathBuf::from(env::var_os("OUT_DIR").ok_or("OUT_DIR is not set")?);
    let everything = read("openapi.yaml")?;
    for (name, has) in KINDS {
        let described = parts::of_gateway(&everything, has)?;
        let older = older::in_3_0(&described)?;
        write(&out, &format!("{name}.json"), &json::text(&described)?)?;
        write(&out, &format!("{name}.yaml"), &yaml::text(&described)?)?;
        write(&out, &format!("{name}-3.0.yaml"), &yaml::text(&older)?)?;
    }
    Ok(())
}

/// The one document of a file. A mapping that has a key twice is an error.
fn read(file: &str) -> Result<Yaml, Box<dyn Error>> {
    let mut documents = YamlLoader::load_from_str(&fs::read_to_string(file)?)?;
    match (documents.pop(), documents.is_empty()) {
        (Some(document), true) => Ok(document),
        _ => Err(format!("{file} must hold exactly one document").into()),
    }
}

fn write(folder: &Path, name: &str, text: &str) -> std::io::Result<()> {
    let deflated = compress_to_vec(text.as_bytes(), CompressionLevel::BestCompression as u8);
    fs::write(folder.join(format!("{name}.deflated")), deflated)
}
