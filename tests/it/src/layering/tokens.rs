//! Splits Rust into words and signs, without comments, strings and lifetimes.

use std::iter::Peekable;
use std::str::Chars;

/// An identifier, a number, `::`, or one sign.
pub(super) type Token = String;

pub(super) fn tokens(text: &str) -> Vec<Token> {
    let mut found: Vec<Token> = Vec::new();
    let mut rest = text.chars().peekable();
    while let Some(first) = rest.next() {
        match first {
            '/' if rest.peek() == Some(&'/') => {
                rest.by_ref().take_while(|c| *c != '\n').for_each(drop)
            }
            '/' if rest.peek() == Some(&'*') => skip_comment(&mut rest),
            '"' => skip_text(&mut rest),
            '\'' => skip_character_or_lifetime(&mut rest),
            'r' | 'b' if matches!(rest.peek(), Some('"' | '#' | 'r' | '\'')) => {
                skip_prefixed(first, &mut rest, &mut found);
            }
            first if is_word(first) => found.push(word(first, &mut rest)),
            ':' if rest.next_if_eq(&':').is_some() => found.push("::".into()),
            first if first.is_whitespace() => {}
            first => found.push(first.into()),
        }
    }
    found
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn word(first: char, rest: &mut Peekable<Chars<'_>>) -> Token {
    let mut word = String::from(first);
    while let Some(next) = rest.next_if(|c| is_word(*c)) {
        word.push(next);
    }
    word
}

/// Comments nest.
fn skip_comment(rest: &mut Peekable<Chars<'_>>) {
    rest.next();
    let mut depth = 1;
    while depth > 0 {
        match rest.next() {
            Some('*') if rest.next_if_eq(&'/').is_some() => depth -= 1,
            Some('/') if rest.next_if_eq(&'*').is_some() => depth += 1,
            Some(_) => {}
            None => return,
        }
    }
}

fn skip_text(rest: &mut Peekable<Chars<'_>>) {
    while let Some(next) = rest.next() {
        match next {
            '\\' => drop(rest.next()),
            '"' => return,
            _ => {}
        }
    }
}

fn skip_character_or_lifetime(rest: &mut Peekable<Chars<'_>>) {
    let Some(first) = rest.next() else { return };
    if first == '\\' {
        rest.next();
        rest.by_ref().take_while(|c| *c != '\'').for_each(drop);
    } else if rest.next_if_eq(&'\'').is_none() {
        while rest.next_if(|c| is_word(*c)).is_some() {}
    }
}

/// `r"…"`, `r#"…"#`, `b"…"`, `br"…"`, `b'…'`, or an ordinary word.
fn skip_prefixed(first: char, rest: &mut Peekable<Chars<'_>>, found: &mut Vec<Token>) {
    let raw = first == 'r' || rest.peek() == Some(&'r');
    if first == 'b' && raw {
        let mut ahead = rest.clone();
        ahead.next();
        if !matches!(ahead.peek(), Some('"' | '#')) {
            found.push(word(first, rest));
            return;
        }
        rest.next();
    }
    match rest.peek() {
        Some('\'') => {
            rest.next();
            skip_character_or_lifetime(rest);
        }
        Some('"') if !raw => {
            rest.next();
            skip_text(rest);
        }
        Some('"' | '#') if raw => skip_raw(rest, found),
        _ => found.push(word(first, rest)),
    }
}

/// Ends with as many hashes as it began with. A word with one hash is an identifier.
fn skip_raw(rest: &mut Peekable<Chars<'_>>, found: &mut Vec<Token>) {
    let mut hashes = 0;
    while rest.next_if_eq(&'#').is_some() {
        hashes += 1;
    }
    match rest.next() {
        Some('"') => {}
        Some(first) => return found.push(word(first, rest)),
        None => return,
    }
    while let Some(next) = rest.next() {
        let mut closing = 0;
        while next == '"' && closing < hashes && rest.next_if_eq(&'#').is_some() {
            closing += 1;
        }
        if next == '"' && closing == hashes {
            return;
        }
    }
}
