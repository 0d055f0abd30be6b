//! The contacts in the request's registration certificate (ARF RPRC_11): the client's, for deleting
//! data, and the supervisory authority's.

use std::borrow::Cow;

use idgate_core::Session;
use idgate_core::shell::Contacts;

use super::html::Html;
use super::named;
use super::words::Words;
use idgate_store::Face;

/// Writes the contacts for people. A contact that cannot be a link is shown as text.
pub(super) fn write(html: &mut Html, session: &Session, face: &Face, words: &Words) {
    let Some(registration) = session.registration() else { return };
    let contacts = registration.contacts();
    let authority = authority(contacts);
    let labels = [named(words.text("erase"), face), words.text("authority").to_owned()];
    for (contact, label) in [contacts.deletion.as_deref(), authority].into_iter().zip(labels) {
        let Some(contact) = contact else { continue };
        match target(contact) {
            Some(target) => {
                html.raw("<a href=\"").text(&target).raw("\" rel=\"noreferrer\" target=\"_top\">");
                html.text(&label).raw("</a> ");
            }
            None => {
                html.raw("<span>").text(&label).raw(": ").text(contact).raw("</span> ");
            }
        }
    }
}

/// The first of the authority's contacts that can be a link, or else the first.
fn authority(contacts: &Contacts) -> Option<&str> {
    let ways = [&contacts.authority_uri, &contacts.authority_email, &contacts.authority_phone];
    let ways = || ways.into_iter().flatten().map(String::as_str);
    ways().find(|way| target(way).is_some()).or_else(|| ways().next())
}

/// The link target for a contact: an https address, an e-mail address or a phone number.
fn target(contact: &str) -> Option<Cow<'_, str>> {
    if contact.starts_with("https://") {
        return (!contact.contains(char::is_whitespace)).then_some(Cow::Borrowed(contact));
    }
    let mail = contact.strip_prefix("mailto:").unwrap_or(contact);
    if is_mail(mail) {
        return Some(Cow::Owned(["mailto:", mail].concat()));
    }
    let number = contact.strip_prefix("tel:").unwrap_or(contact);
    let digits: String = number.chars().filter(|c| c.is_ascii_digit() || *c == '+').collect();
    let is_number = |c: char| c.is_ascii_digit() || " +-()./".contains(c);
    let is_long = digits.len() >= 3 && number.chars().all(is_number);
    is_long.then(|| Cow::Owned(["tel:", &digits].concat()))
}

/// Only a few characters are allowed, so that a link cannot fill in other parts of an e-mail.
fn is_mail(text: &str) -> bool {
    let is_part = |part: &str| {
        let is_good = |byte: u8| byte.is_ascii_alphanumeric() || b"._+-".contains(&byte);
        !part.is_empty() && part.bytes().all(is_good)
    };
    text.split_once('@').is_some_and(|(local, host)| is_part(local) && is_part(host))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn https_mail_and_phone_contacts_are_links() {
        for (contact, expected) in [
            ("https://shop.example/delete?a=b", Some("https://shop.example/delete?a=b")),
            ("data@shop.example", Some("mailto:data@shop.example")),
            ("mailto:data@shop.example", Some("mailto:data@shop.example")),
            ("+43 (1) 52152-0", Some("tel:+431521520")),
            ("tel:+431521520", Some("tel:+431521520")),
            ("http://shop.example", None),
            ("javascript:alert(1)", None),
            ("https://shop.example/ a", None),
            ("data@shop.example?bcc=other@shop.example", None),
            ("a@b@c", None),
            ("@shop.example", None),
            ("Street 1, Vienna", None),
            ("+1", None),
        ] {
            assert_eq!(target(contact).as_deref(), expected, "{contact}");
        }
    }

    #[test]
    fn the_authoritys_first_contact_that_can_be_a_link_is_used() {
        let mut contacts = Contacts::default();
        assert_eq!(authority(&contacts), None);
        contacts.authority_uri = Some("www.authority.example".into());
        assert_eq!(authority(&contacts), Some("www.authority.example"));
        contacts.authority_phone = Some("+43 1 52152".into());
        assert_eq!(authority(&contacts), Some("+43 1 52152"));
        contacts.authority_email = Some("post@authority.example".into());
        assert_eq!(authority(&contacts), Some("post@authority.example"));
        contacts.authority_uri = Some("https://authority.example".into());
        assert_eq!(authority(&contacts), Some("https://authority.example"));
    }
}
