//! The description of the HTTP interface (specification 9): OpenAPI 3.1.0 in both of its forms.

/// One description in both forms.
#[derive(Clone, Copy)]
pub struct Description {
    /// As it is kept by hand.
    pub yaml: &'static str,
    /// The same, rendered when this crate is built.
    pub json: &'static str,
}

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
        Description {
            yaml: include_str!(concat!(env!("OUT_DIR"), "/", $name, ".yaml")),
            json: include_str!(concat!(env!("OUT_DIR"), "/", $name, ".json")),
        }
    };
}

/// Of one that speaks `draft` alone: the newer fields, which it would refuse, are not in it
/// (decisions 20).
pub const DRAFT: Kinds = kinds!("draft", "draft-pages");

/// Of one that speaks more, and asks no browsers.
pub const PROFILES: Kinds = kinds!("profiles", "profiles-pages");

/// Of one whose pages ask through their browser; with pages it has everything.
pub const BROWSERS: Kinds = kinds!("browsers", "browsers-pages");
