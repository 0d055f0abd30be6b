//! The description of the HTTP API (specification 9), in OpenAPI 3.1.0 and 3.0.3. `build/` derives
//! it from `openapi.yaml`.

#[cfg(test)]
mod tests;

use std::sync::LazyLock;

use miniz_oxide::inflate::decompress_to_vec;

/// One description in all formats.
#[derive(Clone, Copy)]
pub struct Description {
    /// OpenAPI 3.1.0.
    pub yaml: Text,
    /// The same as JSON.
    pub json: Text,
    /// OpenAPI 3.0.3, for generators that read no later version.
    pub yaml_3_0: Text,
}

/// A text that is stored deflated, because all of them are 1.9 MB together, and inflated on the
/// first request.
pub type Text = &'static LazyLock<String>;

/// Descriptions of gateways that differ only in whether sessions have pages.
#[derive(Clone, Copy)]
pub struct Kinds {
    /// Sessions have no pages.
    pub without_pages: Description,
    /// Sessions have pages.
    pub with_pages: Description,
}

macro_rules! kinds {
    ($without:literal, $with:literal) => {
        Kinds { without_pages: description!($without), with_pages: description!($with) }
    };
}

macro_rules! description {
    ($name:literal) => {
        Description {
            yaml: text!($name, ".yaml.deflated"),
            json: text!($name, ".json.deflated"),
            yaml_3_0: text!($name, "-3.0.yaml.deflated"),
        }
    };
}

macro_rules! text {
    ($name:literal, $form:literal) => {{
        static TEXT: LazyLock<String> =
            LazyLock::new(|| inflated(include_bytes!(concat!(env!("OUT_DIR"), "/", $name, $form))));
        &TEXT
    }};
}

/// Inflates a text. A test inflates each of them.
fn inflated(deflated: &[u8]) -> String {
    let text = decompress_to_vec(deflated).unwrap_or_default();
    String::from_utf8(text).unwrap_or_default()
}

/// A gateway that speaks only `draft`: newer fields, which it would refuse, are left out (decisions
/// 20).
pub static DRAFT: Kinds = kinds!("draft", "draft-pages");

/// A gateway that speaks more profiles, without requests through browsers.
pub static PROFILES: Kinds = kinds!("profiles", "profiles-pages");

/// A gateway whose pages ask through their browser; with pages it has everything.
pub static BROWSERS: Kinds = kinds!("browsers", "browsers-pages");
