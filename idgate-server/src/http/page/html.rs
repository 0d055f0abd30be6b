//! Text of a page under construction. What comes from outside goes through [`Html::text`].

/// A page under construction.
pub(crate) struct Html(String);

impl Html {
    pub(crate) fn new() -> Self {
        Self(String::with_capacity(16 * 1024))
    }

    /// Markup of this program, as it is.
    pub(crate) fn raw(&mut self, markup: &str) -> &mut Self {
        self.0.push_str(markup);
        self
    }

    /// Text from anywhere, between tags or in a quoted attribute.
    pub(crate) fn text(&mut self, text: &str) -> &mut Self {
        for c in text.chars() {
            match c {
                '&' => self.0.push_str("&amp;"),
                '<' => self.0.push_str("&lt;"),
                '>' => self.0.push_str("&gt;"),
                '"' => self.0.push_str("&quot;"),
                '\'' => self.0.push_str("&#39;"),
                // They turn text around, or end nothing: nobody needs them in a name.
                '\u{0}'..='\u{1f}' | '\u{7f}'..='\u{9f}' => self.0.push(' '),
                '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}' => {}
                c => self.0.push(c),
            }
        }
        self
    }

    pub(crate) fn finish(self) -> String {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_becomes_markup_or_turns_what_follows_around() {
        let mut html = Html::new();
        html.raw("<p>").text("<script>\"'&amp;\u{202e}\u{0}\u{85}").raw("</p>");
        let expected = "<p>&lt;script&gt;&quot;&#39;&amp;amp;  </p>";
        assert_eq!(html.finish(), expected);
    }
}
