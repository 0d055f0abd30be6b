//! The addresses of a page and of its parts.

use super::{Language, ROOT};

/// The addresses of a page and its resources.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Addresses<'a> {
    pub(crate) token: &'a str,
    /// Whether it is shown in a frame.
    pub(crate) framed: bool,
    /// The language that the person chose on the page.
    pub(crate) chosen: Option<Language>,
    /// Whether the person wants to see the code again after a wallet has fetched the request.
    pub(crate) shows_code: bool,
    /// For the page that a phone opened in order to take another page over.
    pub(crate) opening: Option<Opening<'a>>,
}

/// A handover address that was opened.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Opening<'a> {
    /// The changing part.
    pub(crate) part: &'a str,
    /// Proof that it was opened in time; empty if there is none.
    pub(crate) seen: &'a str,
}

impl Addresses<'_> {
    /// The path of a resource below the page.
    pub(crate) fn of(self, name: &str) -> String {
        self.with(name, "")
    }

    /// The same with another query parameter.
    pub(crate) fn with(self, name: &str, parameter: &str) -> String {
        let path = [ROOT, self.token, "/", name].concat();
        self.queried(path, self.chosen, parameter)
    }

    /// The path of the page.
    pub(crate) fn page(self) -> String {
        self.queried([ROOT, self.token].concat(), self.chosen, "")
    }

    /// The page with its code, even after a wallet has fetched the request.
    pub(super) fn page_with_code(self) -> String {
        Self { shows_code: true, ..self }.page()
    }

    /// The page in another language.
    pub(super) fn page_in(self, language: Language) -> String {
        match self.opening {
            Some(opening) => self.queried(self.path_of(opening), Some(language), &opening.proof()),
            None => self.queried([ROOT, self.token].concat(), Some(language), ""),
        }
    }

    /// The target of the button on a page that a phone opened.
    pub(super) fn press(self, opening: Opening<'_>) -> String {
        self.queried(self.path_of(opening), self.chosen, &opening.proof())
    }

    fn path_of(self, opening: Opening<'_>) -> String {
        [ROOT, self.token, "/on/", opening.part].concat()
    }

    fn queried(self, path: String, language: Option<Language>, parameter: &str) -> String {
        let language = language.map(|one| ["lang=", one.words().code].concat());
        let parts = [
            Some("frame").filter(|_| self.framed),
            language.as_deref(),
            Some("code").filter(|_| self.shows_code),
            Some(parameter),
        ];
        let parts = parts.into_iter().flatten().filter(|part| !part.is_empty());
        parts
            .fold((path, '?'), |(path, separator), part| (format!("{path}{separator}{part}"), '&'))
            .0
    }
}

impl Opening<'_> {
    fn proof(self) -> String {
        if self.seen.is_empty() { String::new() } else { ["seen=", self.seen].concat() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_keep_the_frame_and_the_chosen_language() {
        let own =
            Addresses { token: "t", framed: false, chosen: None, shows_code: false, opening: None };
        assert_eq!((own.page(), own.of("take")), ("/v/t".into(), "/v/t/take".into()));
        let own = Addresses { framed: true, chosen: Language::named("de"), ..own };
        assert_eq!(own.page(), "/v/t?frame&lang=de");
        assert_eq!(own.with("open", "scheme=haip"), "/v/t/open?frame&lang=de&scheme=haip");
        assert_eq!(own.page_in(Language::of(None)), "/v/t?frame&lang=en");
        assert_eq!(own.page_with_code(), "/v/t?frame&lang=de&code");
    }

    #[test]
    fn a_page_opened_on_a_phone_keeps_its_part_in_every_language() {
        let opening = Opening { part: "1.a", seen: "2.b" };
        let own = Addresses {
            token: "t",
            framed: false,
            chosen: Language::named("de"),
            shows_code: false,
            opening: Some(opening),
        };
        assert_eq!(own.press(opening), "/v/t/on/1.a?lang=de&seen=2.b");
        assert_eq!(own.page_in(Language::of(None)), "/v/t/on/1.a?lang=en&seen=2.b");
        let own = Addresses { opening: Some(Opening { seen: "", ..opening }), ..own };
        assert_eq!(own.page_in(Language::of(None)), "/v/t/on/1.a?lang=en");
        assert_eq!(own.page(), "/v/t?lang=de");
    }
}
