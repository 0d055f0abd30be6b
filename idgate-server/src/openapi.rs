//! The description of the HTTP interface (specification 9): OpenAPI 3.1.0 in both of its forms.

/// One description in both forms.
pub struct Description {
    /// As it is kept by hand.
    pub yaml: &'static str,
    /// The same, rendered when this crate is built.
    pub json: &'static str,
}

/// Of a gateway that speaks `draft` alone: the newer fields, which it would refuse, are not in it
/// (decisions 20).
pub const DRAFT: Description = Description {
    yaml: include_str!(concat!(env!("OUT_DIR"), "/draft.yaml")),
    json: include_str!(concat!(env!("OUT_DIR"), "/draft.json")),
};

/// Of one that speaks more, and asks no browsers.
pub const PROFILES: Description = Description {
    yaml: include_str!(concat!(env!("OUT_DIR"), "/profiles.yaml")),
    json: include_str!(concat!(env!("OUT_DIR"), "/profiles.json")),
};

/// Of one whose pages ask through their browser: it has everything.
pub const BROWSERS: Description = Description {
    yaml: include_str!(concat!(env!("OUT_DIR"), "/browsers.yaml")),
    json: include_str!(concat!(env!("OUT_DIR"), "/browsers.json")),
};
