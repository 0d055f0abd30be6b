//! Text of a page under construction. What comes from outside goes through [`Html::text`].

/// A page under construction.
pub struct Html(String);

impl Default for Html {
    /// An empty page.
    fn default() -> Self {
        Self(String::with_capacity(16 * 1024))
    }
}

impl Html {
    /// Markup of this program, as it is.
    pub fn raw(&mut self, markup: &str) -> &mut Self {
        self.0.push_str(markup);
        self
    }

    /// Text from anywhere, between tags or in a quoted attribute.
    pub fn text(&mut self, text: &str) -> &mut Self {
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

    /// The text.
    pub fn finish(self) -> String {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_becomes_markup_or_turns_what_follows_around() {
        let mut html = Html::default();
        html.raw("<p>").text("<script>\"'&amp;\u{202e}\u{0}\u{85}").raw("</p>");
        let expected = "<p>&lt;script&gt;&quot;&#39;&amp;amp;  </p>";
        assert_eq!(html.finish(), expected);
    }
}
