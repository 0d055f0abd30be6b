//! Special characters in text.

/// Whether the character changes the direction of the text around it (Unicode `Bidi_Control`).
pub fn is_bidi_control(c: char) -> bool {
    matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}
