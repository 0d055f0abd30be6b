//! Writes JSON responses member by member. Texts are escaped; JSON texts are inserted unchanged, so
//! that claims are never parsed again or copied into a tree.

use bytes::Bytes;
use hyper::{Response, StatusCode};
use zeroize::Zeroizing;

pub(crate) use super::answer_body::Body;
use super::answer_body::{empty, of_type};

/// A JSON object under construction. It may contain claims, so its memory is wiped after sending.
pub(crate) struct Object(Zeroizing<Vec<u8>>);

impl Object {
    pub(crate) fn new() -> Self {
        Self::with_capacity(256)
    }

    /// With room for `bytes`: an object with claims must not grow, because growing leaves a copy
    /// behind.
    pub(crate) fn with_capacity(bytes: usize) -> Self {
        Self(Zeroizing::new(Vec::with_capacity(bytes)))
    }

    pub(crate) fn text(self, name: &str, value: &str) -> Self {
        let mut object = self.name(name);
        write_text(&mut object.0, value);
        object
    }

    pub(crate) fn boolean(self, name: &'static str, value: bool) -> Self {
        self.raw(name, if value { "true" } else { "false" })
    }

    /// `json` is a JSON text already.
    pub(crate) fn raw(self, name: &'static str, json: &str) -> Self {
        let mut object = self.name(name);
        object.0.extend_from_slice(json.as_bytes());
        object
    }

    pub(crate) fn object(self, name: &'static str, value: Self) -> Self {
        let mut object = self.name(name);
        object.0.extend_from_slice(&value.finish());
        object
    }

    pub(crate) fn text_or_null(self, name: &'static str, value: Option<&str>) -> Self {
        match value {
            Some(value) => self.text(name, value),
            None => self.raw(name, "null"),
        }
    }

    /// Adds the member if there is a value.
    pub(crate) fn text_if(self, name: &'static str, value: Option<&str>) -> Self {
        match value {
            Some(value) => self.text(name, value),
            None => self,
        }
    }

    /// Adds a JSON text if there is one.
    pub(crate) fn raw_if(self, name: &'static str, json: Option<&str>) -> Self {
        match json {
            Some(json) => self.raw(name, json),
            None => self,
        }
    }

    /// Adds a list of texts if there is one.
    pub(crate) fn texts_if(self, name: &'static str, values: Option<&[String]>) -> Self {
        self.raw_if(name, values.map(|values| serde_json::json!(values).to_string()).as_deref())
    }

    /// `elements` are JSON texts already.
    pub(crate) fn array(
        self,
        name: &'static str,
        elements: impl Iterator<Item = Zeroizing<Vec<u8>>>,
    ) -> Self {
        let mut object = self.name(name);
        object.0.push(b'[');
        for (n, element) in elements.enumerate() {
            if n > 0 {
                object.0.push(b',');
            }
            object.0.extend_from_slice(&element);
        }
        object.0.push(b']');
        object
    }

    /// The last members of a page of a list; a cursor means that there is more.
    pub(crate) fn page_end(self, next_cursor: Option<&str>) -> Self {
        self.boolean("has_more", next_cursor.is_some()).text_or_null("next_cursor", next_cursor)
    }

    pub(crate) fn finish(mut self) -> Zeroizing<Vec<u8>> {
        if self.0.is_empty() {
            self.0.push(b'{');
        }
        self.0.push(b'}');
        self.0
    }

    fn name(mut self, name: &str) -> Self {
        let opening = if self.0.is_empty() { b'{' } else { b',' };
        self.0.push(opening);
        write_text(&mut self.0, name);
        self.0.push(b':');
        self
    }
}

/// A response with a JSON body.
pub(crate) fn answer(status: StatusCode, body: Zeroizing<Vec<u8>>) -> Response<Body> {
    let mut response = of_type("application/json", Bytes::from_owner(body));
    *response.status_mut() = status;
    response
}

/// A response without content.
pub(crate) fn no_content() -> Response<Body> {
    empty(StatusCode::NO_CONTENT)
}

fn write_text(out: &mut Vec<u8>, text: &str) {
    // Writing to memory cannot fail.
    let _ = serde_json::to_writer(out, text);
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_escaped_and_json_is_inserted_unchanged() {
        let hostile = "\"},\n\u{0}\u{2028}";
        let inner = Object::new().boolean("yes", true);
        let bytes = Object::new()
            .text("text", hostile)
            .raw("claims", r#"{"a":[1]}"#)
            .object("inner", inner)
            .object("empty", Object::new())
            .text_or_null("none", None)
            .array("list", [Object::new(), Object::new()].into_iter().map(Object::finish))
            .array("nothing", std::iter::empty())
            .finish();
        let value: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
        let want = serde_json::json!({
            "text": hostile, "claims": {"a": [1]}, "inner": {"yes": true}, "empty": {},
            "none": null, "list": [{}, {}], "nothing": []
        });
        assert_eq!(value, want);
    }
}
