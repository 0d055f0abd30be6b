//! Proofs that pages make: the changing part of a request address, and the code of the browser that
//! comes back. Both are derived from the page's own secret.

use aws_lc_rs::constant_time::verify_slices_are_equal;
use aws_lc_rs::hmac;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use idgate_core::UnixMillis;

use idgate_store::PageRecord;

/// How often the address changes.
const TURN_MS: u64 = 10_000;
/// How long the previous address stays valid; also the largest tolerated difference between the
/// clocks of two gateways.
const GRACE_MS: u64 = 5_000;
/// How long the button stays valid on a page that a phone opened in time.
const SEEN_MS: u64 = 60_000;
/// Bytes of an HMAC: 96 bits cannot be guessed within a turn.
const MAC_BYTES: usize = 12;
/// 128 bits.
const CODE_BYTES: usize = 16;
/// Enough to distinguish the wallets of one session.
const WALLET_BYTES: usize = 6;

/// A request to an address of a session.
#[derive(Clone, Copy, Debug)]
pub struct Visit<'a> {
    /// The changing part of the address.
    pub part: Option<&'a str>,
    /// The network that the request comes from.
    pub network: &'a str,
    /// Whether the visit is remembered.
    pub counts: bool,
}

/// The result of checking a visit.
#[derive(Debug, Eq, PartialEq)]
pub(super) enum Judgement {
    /// The address is current; the text is to be remembered.
    Fresh(String),
    /// The same wallet followed this address while it was current.
    Known,
    /// Neither.
    Stale,
}

/// Milliseconds until the address changes.
pub(super) const fn turns_in_ms(now: UnixMillis) -> u64 {
    TURN_MS.saturating_sub(now.0 % TURN_MS)
}

/// The part that is valid now.
pub(super) fn part(page: &PageRecord, now: UnixMillis) -> String {
    let turn = now.0 / TURN_MS;
    format!("{turn}.{}", mac_of(page, turn))
}

pub(super) fn judge(page: &PageRecord, visit: &Visit<'_>, now: UnixMillis) -> Judgement {
    let Some(turn) = visit.part.and_then(|part| turn_of(part, |turn| mac_of(page, turn))) else {
        return Judgement::Stale;
    };
    let note = format!("{turn}.{}", tag(page, "wallet", visit.network, WALLET_BYTES));
    if is_within(turn, GRACE_MS, now) {
        Judgement::Fresh(note)
    } else if page.notes.contains(&note) {
        Judgement::Known
    } else {
        Judgement::Stale
    }
}

/// The changing part of the handover address, valid now. It works only once, because using it moves
/// the page.
pub(in crate::app) fn handover_part(page: &PageRecord, now: UnixMillis) -> String {
    stamped(page, "handover", "", now)
}

/// A part of the same length that does not work: its QR code has the same size.
pub(in crate::app) fn sample_part(now: UnixMillis) -> String {
    let mac = MAC_BYTES.div_ceil(3).saturating_mul(4);
    format!("{}.{}", now.0 / TURN_MS, "A".repeat(mac))
}

/// Whether the page showed this part a moment ago and has not moved since.
pub(in crate::app) fn is_fresh_handover(page: &PageRecord, part: &str, now: UnixMillis) -> bool {
    is_stamped(page, "handover", "", part, GRACE_MS, now)
}

/// Proof that the browser with this key opened the address with `part` in time.
pub(in crate::app) fn seen(page: &PageRecord, part: &str, key: &str, now: UnixMillis) -> String {
    stamped(page, "seen", &[part, "\n", key].concat(), now)
}

/// Whether the proof is less than a minute old and the page has not moved since.
pub(in crate::app) fn is_seen(
    page: &PageRecord,
    part: &str,
    key: &str,
    shown: &str,
    now: UnixMillis,
) -> bool {
    is_stamped(page, "seen", &[part, "\n", key].concat(), shown, SEEN_MS, now)
}

/// The current turn with an HMAC over it, valid until the page moves.
fn stamped(page: &PageRecord, purpose: &str, about: &str, now: UnixMillis) -> String {
    let turn = now.0 / TURN_MS;
    format!("{turn}.{}", tag(page, purpose, &stamp(page, about, turn), MAC_BYTES))
}

fn is_stamped(
    page: &PageRecord,
    purpose: &str,
    about: &str,
    shown: &str,
    grace_ms: u64,
    now: UnixMillis,
) -> bool {
    let expected = |turn| tag(page, purpose, &stamp(page, about, turn), MAC_BYTES);
    turn_of(shown, expected).is_some_and(|turn| is_within(turn, grace_ms, now))
}

fn stamp(page: &PageRecord, about: &str, turn: u64) -> String {
    format!("{turn}.{}\n{about}", page.moves)
}

/// Whether this turn is current, or was at most `grace_ms` ago, allowing for clocks that differ by
/// [`GRACE_MS`].
fn is_within(turn: u64, grace_ms: u64, now: UnixMillis) -> bool {
    let begins = turn.saturating_mul(TURN_MS);
    let ends = begins.saturating_add(TURN_MS).saturating_add(grace_ms);
    now.0 < ends && now.0.saturating_add(GRACE_MS) >= begins
}

/// The link with this part in its request address. A link that carries the request itself is
/// returned unchanged.
pub(super) fn with_part(link: &str, part: &str) -> String {
    let Some((start, rest)) = link.split_once("request_uri=") else { return link.to_owned() };
    let end = rest.find('&').unwrap_or(rest.len());
    let (uri, others) = rest.split_at_checked(end).unwrap_or((rest, ""));
    // The value is percent-encoded; a dot and digits need no encoding.
    [start, "request_uri=", uri, "%3Fpart%3D", part, others].concat()
}

/// The code that the page's browser brings back to the tenant: 128 bits.
pub(super) fn page_code(page: &PageRecord) -> String {
    tag(page, "page code", "", CODE_BYTES)
}

/// The turn of a part, if its HMAC is the expected one for that turn.
fn turn_of(part: &str, expected: impl Fn(u64) -> String) -> Option<u64> {
    let (turn, mac) = part.split_once('.')?;
    let turn: u64 = turn.parse().ok()?;
    verify_slices_are_equal(expected(turn).as_bytes(), mac.as_bytes()).ok()?;
    Some(turn)
}

/// The HMAC for a request address. It changes when the page moves, which invalidates addresses that
/// another device showed.
fn mac_of(page: &PageRecord, turn: u64) -> String {
    let about = match page.moves {
        0 => turn.to_string(),
        moves => format!("{turn}.{moves}"),
    };
    tag(page, "part", &about, MAC_BYTES)
}

/// The first bytes of an HMAC, in base64url.
fn tag(page: &PageRecord, purpose: &str, about: &str, bytes: usize) -> String {
    let key = hmac::Key::new(hmac::HMAC_SHA256, &page.secret);
    let tag = hmac::sign(&key, [purpose, "\n", about].concat().as_bytes());
    URL_SAFE_NO_PAD.encode(tag.as_ref().get(..bytes).unwrap_or_default())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use idgate_core::SessionId;
    use zeroize::Zeroizing;

    use super::*;

    const NOW: UnixMillis = UnixMillis(1_795_000_000_000);

    fn page() -> PageRecord {
        PageRecord {
            digest: [1; 32],
            session_id: SessionId::new("ses_1"),
            secret: Zeroizing::new(vec![2; 32]),
            browser: None,
            phone: None,
            moves: 0,
            is_opened: true,
            notes: Vec::new(),
        }
    }

    fn visit<'a>(part: &'a str, network: &'a str) -> Visit<'a> {
        Visit { part: Some(part), network, counts: true }
    }

    #[test]
    fn a_part_is_valid_for_its_turn_and_five_more_seconds() {
        let page = page();
        let part = part(&page, NOW);
        let at = |ms| judge(&page, &visit(&part, "a"), NOW.plus(ms));
        assert_eq!(NOW.0 % TURN_MS, 0);
        for ms in [0, 9_999, 10_000, 14_999] {
            assert!(matches!(at(ms), Judgement::Fresh(_)), "{ms}");
        }
        for ms in [15_000, 60_000] {
            assert_eq!(at(ms), Judgement::Stale, "{ms}");
        }
        assert_eq!(judge(&page, &visit(&part, "a"), NOW.minus(5_001)), Judgement::Stale);
    }

    #[test]
    fn an_address_stays_valid_only_for_the_wallet_that_followed_it_in_time() {
        let mut page = page();
        let part = part(&page, NOW);
        let Judgement::Fresh(note) = judge(&page, &visit(&part, "a"), NOW) else { panic!() };
        page.notes.push(note);
        let late = NOW.plus(60_000);
        assert_eq!(judge(&page, &visit(&part, "a"), late), Judgement::Known);
        assert_eq!(judge(&page, &visit(&part, "b"), late), Judgement::Stale);
    }

    #[test]
    fn a_forged_part_is_stale() {
        let page = page();
        let good = part(&page, NOW);
        let other = PageRecord { secret: Zeroizing::new(vec![3; 32]), ..self::page() };
        let (turn, mac) = good.split_once('.').unwrap();
        let later = turn.parse::<u64>().unwrap() + 1;
        for bad in [
            String::new(),
            ".".into(),
            turn.into(),
            format!("{turn}."),
            format!(".{mac}"),
            format!("{later}.{mac}"),
            format!("+{turn}.{mac}x"),
            format!("{good}="),
            format!("99999999999999999999.{mac}"),
            part(&other, NOW),
        ] {
            assert_eq!(judge(&page, &visit(&bad, "a"), NOW), Judgement::Stale, "{bad}");
        }
        let without = Visit { part: None, network: "a", counts: true };
        assert_eq!(judge(&page, &without, NOW), Judgement::Stale);
    }

    #[test]
    fn an_address_shown_before_the_page_moved_is_stale_for_every_wallet() {
        let mut page = page();
        let before = part(&page, NOW);
        let Judgement::Fresh(note) = judge(&page, &visit(&before, "a"), NOW) else { panic!() };
        page.notes.push(note);
        page.moves = 1;
        assert_eq!(judge(&page, &visit(&before, "a"), NOW), Judgement::Stale);
        let after = part(&page, NOW);
        assert!(matches!(judge(&page, &visit(&after, "a"), NOW), Judgement::Fresh(_)));
    }

    #[test]
    fn a_handover_is_valid_for_its_turn_and_five_more_seconds_until_the_page_moves() {
        let mut page = page();
        let part = handover_part(&page, NOW);
        assert_eq!(part.len(), sample_part(NOW).len());
        for (ms, is) in [(0, true), (9_999, true), (14_999, true), (15_000, false), (60_000, false)]
        {
            assert_eq!(is_fresh_handover(&page, &part, NOW.plus(ms)), is, "{ms}");
        }
        assert!(!is_fresh_handover(&page, &part, NOW.minus(5_001)));
        assert!(!is_fresh_handover(&page, &sample_part(NOW), NOW));
        assert!(!is_fresh_handover(&page, &super::part(&page, NOW), NOW), "of a request");
        assert_eq!(judge(&page, &visit(&part, "a"), NOW), Judgement::Stale, "of a handover");
        page.moves = 1;
        assert!(!is_fresh_handover(&page, &part, NOW));
        assert!(is_fresh_handover(&page, &handover_part(&page, NOW), NOW));
    }

    #[test]
    fn a_button_is_valid_for_a_minute_for_one_browser_and_one_part() {
        let mut page = page();
        let shown = seen(&page, "1.a", "key", NOW);
        for (ms, is) in [(0, true), (60_000, true), (69_999, true), (70_000, false)] {
            assert_eq!(is_seen(&page, "1.a", "key", &shown, NOW.plus(ms)), is, "{ms}");
        }
        assert!(!is_seen(&page, "1.b", "key", &shown, NOW));
        assert!(!is_seen(&page, "1.a", "other", &shown, NOW));
        assert!(!is_seen(&page, "1.a", "key", "", NOW));
        page.moves = 2;
        assert!(!is_seen(&page, "1.a", "key", &shown, NOW));
    }

    #[test]
    fn only_the_address_of_a_request_gets_a_part() {
        for (link, with) in [
            (
                "haip-vp://?client_id=a%3Ab&request_uri=https%3A%2F%2Fg%2Fr",
                "haip-vp://?client_id=a%3Ab&request_uri=https%3A%2F%2Fg%2Fr%3Fpart%3D1.x",
            ),
            (
                "openid4vp://?request_uri=https%3A%2F%2Fg&request_uri_method=post",
                "openid4vp://?request_uri=https%3A%2F%2Fg%3Fpart%3D1.x&request_uri_method=post",
            ),
            ("openid4vp://?nonce=a", "openid4vp://?nonce=a"),
        ] {
            assert_eq!(with_part(link, "1.x"), with);
        }
    }

    #[test]
    fn codes_of_different_purposes_and_pages_differ() {
        let (one, other) = (page(), PageRecord { secret: Zeroizing::new(vec![3; 32]), ..page() });
        assert_eq!(page_code(&one).len(), 22);
        assert_ne!(page_code(&one), page_code(&other));
        assert_ne!(page_code(&one), tag(&one, "part", "", CODE_BYTES));
    }
}
