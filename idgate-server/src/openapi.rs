//! The description of the HTTP interface (specification 9), in OpenAPI 3.1.0 and 3.0.3. `build/`
//! derives it from `openapi.yaml`.

#[cfg(test)]
mod tests;

use std::sync::LazyLock;

use miniz_oxide::inflate::decompress_to_vec;

/// A description in all its forms.
#[derive(Clone, Copy)]
pub struct Description {
    /// OpenAPI 3.1.0.
    pub yaml: Text,
    /// The same as JSON.
    pub json: Text,
    /// OpenAPI 3.0.3, for generators that do not read 3.1.
    pub yaml_3_0: Text,
}

/// A text that the program holds deflated and inflates once, for the first request. All texts
/// together are 1.9 MB.
pub type Text = &'static LazyLock<String>;

/// The descriptions of a gateway without and with pages.
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

/// Inflates a text that the build deflated. An error gives an empty text; a test inflates each.
fn inflated(deflated: &[u8]) -> String {
    let text = decompress_to_vec(deflated).unwrap_or_default();
    String::from_utf8(text).unwrap_or_default()
}

/// For a gateway that speaks only `draft`. It leaves out the newer fields, which that gateway
/// refuses (decisions 20).
pub static DRAFT: Kinds = kinds!("draft", "draft-pages");

/// For a gateway that speaks more than `draft`, without the Digital Credentials API.
pub static PROFILES: Kinds = kinds!("profiles", "profiles-pages");

/// For a gateway with the Digital Credentials API. With pages, it describes everything.
pub static BROWSERS: Kinds = kinds!("browsers", "browsers-pages");
