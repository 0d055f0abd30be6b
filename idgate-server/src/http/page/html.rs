//! Builds the HTML of a page. External text goes through [`Html::text`].

/// A page under construction.
pub struct Html(String);

impl Default for Html {
    /// An empty page.
    fn default() -> Self {
        Self(String::with_capacity(16 * 1024))
    }
}

impl Html {
    /// Adds trusted markup unchanged.
    pub fn raw(&mut self, markup: &str) -> &mut Self {
        self.0.push_str(markup);
        self
    }

    /// Adds text from any source, between tags or in a quoted attribute.
    pub fn text(&mut self, text: &str) -> &mut Self {
        for c in text.chars() {
            match c {
                '&' => self.0.push_str("&amp;"),
                '<' => self.0.push_str("&lt;"),
                '>' => self.0.push_str("&gt;"),
                '"' => self.0.push_str("&quot;"),
                '\'' => self.0.push_str("&#39;"),
                // Control characters are useless in a name, and bidirectional ones reverse the text
                // that follows.
                '\u{0}'..='\u{1f}' | '\u{7f}'..='\u{9f}' => self.0.push(' '),
                '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}' => {}
                c => self.0.push(c),
            }
        }
        self
    }

    /// The finished text.
    pub fn finish(self) -> String {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_escaped_and_cannot_reverse_the_text_direction() {
        let mut html = Html::default();
        html.raw("<p>").text("<script>\"'&amp;\u{202e}\u{0}\u{85}").raw("</p>");
        let expected = "<p>&lt;script&gt;&quot;&#39;&amp;amp;  </p>";
        assert_eq!(html.finish(), expected);
    }
}
