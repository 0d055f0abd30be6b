//! The description of the HTTP interface (specification 9): OpenAPI 3.1.0 in both of its forms.

use std::sync::LazyLock;

use miniz_oxide::inflate::decompress_to_vec;

/// One description in both forms.
#[derive(Clone, Copy)]
pub struct Description {
    /// As it is kept by hand.
    pub yaml: Text,
    /// The same, rendered when this crate is built.
    pub json: Text,
}

/// A text that is deflated in the program, as the twelve hardly differ and are 1.1 MB together, and inflated once, by
/// who asks for it first.
pub type Text = &'static LazyLock<String>;

/// Of gateways that differ in whether sessions have pages.
#[derive(Clone, Copy)]
pub struct Kinds {
    /// They have none.
    pub without_pages: Description,
    /// They have.
    pub with_pages: Description,
}

macro_rules! kinds {
    ($without:literal, $with:literal) => {
        Kinds { without_pages: description!($without), with_pages: description!($with) }
    };
}

macro_rules! description {
    ($name:literal) => {
        Description { yaml: text!($name, ".yaml.deflated"), json: text!($name, ".json.deflated") }
    };
}

macro_rules! text {
    ($name:literal, $form:literal) => {{
        static TEXT: LazyLock<String> =
            LazyLock::new(|| inflated(include_bytes!(concat!(env!("OUT_DIR"), "/", $name, $form))));
        &TEXT
    }};
}

/// What `build.rs` deflated; a test inflates each.
fn inflated(deflated: &[u8]) -> String {
    let text = decompress_to_vec(deflated).unwrap_or_default();
    String::from_utf8(text).unwrap_or_default()
}

/// Of one that speaks `draft` alone: the newer fields, which it would refuse, are not in it
/// (decisions 20).
pub static DRAFT: Kinds = kinds!("draft", "draft-pages");

/// Of one that speaks more, and asks no browsers.
pub static PROFILES: Kinds = kinds!("profiles", "profiles-pages");

/// Of one whose pages ask through their browser; with pages it has everything.
pub static BROWSERS: Kinds = kinds!("browsers", "browsers-pages");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_text_is_inflated_to_its_end() {
        for Kinds { without_pages, with_pages } in [DRAFT, PROFILES, BROWSERS] {
            for Description { yaml, json } in [without_pages, with_pages] {
                assert!(yaml.contains("\nopenapi: 3.1.0\n") && yaml.ends_with('\n'));
                assert!(json.starts_with(r#"{"openapi":"3.1.0","#) && json.ends_with('}'));
                assert!(yaml.len() > 80_000 && json.len() > 70_000);
            }
        }
    }
}
