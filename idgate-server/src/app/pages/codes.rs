//! What pages prove things with: the part of a request address that turns, and the code of the browser
//! that comes back. Both are made of the page's own secret.

use aws_lc_rs::constant_time::verify_slices_are_equal;
use aws_lc_rs::hmac;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use idgate_core::UnixMillis;

use idgate_store::PageRecord;

/// How often the address turns.
const TURN_MS: u64 = 10_000;
/// How long the one before stays good; also how far the clocks of two gateways may be apart.
const GRACE_MS: u64 = 5_000;
/// Of an HMAC: 96 bits, which nobody guesses within a turn.
const MAC_BYTES: usize = 12;
/// 128 bits.
const CODE_BYTES: usize = 16;
/// Enough to tell the wallets of one session apart.
const WALLET_BYTES: usize = 6;

/// Somebody who follows an address.
#[derive(Clone, Copy, Debug)]
pub struct Visit<'a> {
    /// The part of the address that turns.
    pub part: Option<&'a str>,
    /// Where it comes from.
    pub network: &'a str,
    /// Whether it is remembered.
    pub counts: bool,
}

/// What to think of a visit.
#[derive(Debug, Eq, PartialEq)]
pub(super) enum Judgement {
    /// The address is of this moment; what is to be remembered of it.
    Fresh(String),
    /// The wallet followed the same address when it was.
    Known,
    /// It is neither.
    Stale,
}

/// Milliseconds until the address turns.
pub(super) const fn turns_in_ms(now: UnixMillis) -> u64 {
    TURN_MS.saturating_sub(now.0 % TURN_MS)
}

/// The part of an address that is good now.
pub(super) fn part(page: &PageRecord, now: UnixMillis) -> String {
    let turn = now.0 / TURN_MS;
    format!("{turn}.{}", mac_of(page, turn))
}

pub(super) fn judge(page: &PageRecord, visit: &Visit<'_>, now: UnixMillis) -> Judgement {
    let Some(turn) = visit.part.and_then(|part| turn_of(page, part)) else {
        return Judgement::Stale;
    };
    let note = format!("{turn}.{}", tag(page, "wallet", visit.network, WALLET_BYTES));
    let begins = turn.saturating_mul(TURN_MS);
    let ends = begins.saturating_add(TURN_MS).saturating_add(GRACE_MS);
    if now.0 < ends && now.0.saturating_add(GRACE_MS) >= begins {
        Judgement::Fresh(note)
    } else if page.notes.contains(&note) {
        Judgement::Known
    } else {
        Judgement::Stale
    }
}

/// The link with this part in the address of its request; as it is when it carries the request itself.
pub(super) fn with_part(link: &str, part: &str) -> String {
    let Some((start, rest)) = link.split_once("request_uri=") else { return link.to_owned() };
    let end = rest.find('&').unwrap_or(rest.len());
    let (uri, others) = rest.split_at_checked(end).unwrap_or((rest, ""));
    // The value is encoded; a dot and digits stand for themselves.
    [start, "request_uri=", uri, "%3Fpart%3D", part, others].concat()
}

/// What the page's browser brings back to the tenant: 128 bits.
pub(super) fn page_code(page: &PageRecord) -> String {
    tag(page, "page code", "", CODE_BYTES)
}

/// The turn that a part is of, if the page made it.
fn turn_of(page: &PageRecord, part: &str) -> Option<u64> {
    let (turn, mac) = part.split_once('.')?;
    let turn: u64 = turn.parse().ok()?;
    verify_slices_are_equal(mac_of(page, turn).as_bytes(), mac.as_bytes()).ok()?;
    Some(turn)
}

fn mac_of(page: &PageRecord, turn: u64) -> String {
    tag(page, "part", &turn.to_string(), MAC_BYTES)
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
            is_opened: true,
            notes: Vec::new(),
        }
    }

    fn visit<'a>(part: &'a str, network: &'a str) -> Visit<'a> {
        Visit { part: Some(part), network, counts: true }
    }

    #[test]
    fn a_part_is_good_for_its_turn_and_five_seconds_more() {
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
    fn an_address_stays_good_for_the_wallet_that_followed_it_in_time_and_no_other() {
        let mut page = page();
        let part = part(&page, NOW);
        let Judgement::Fresh(note) = judge(&page, &visit(&part, "a"), NOW) else { panic!() };
        page.notes.push(note);
        let late = NOW.plus(60_000);
        assert_eq!(judge(&page, &visit(&part, "a"), late), Judgement::Known);
        assert_eq!(judge(&page, &visit(&part, "b"), late), Judgement::Stale);
    }

    #[test]
    fn a_part_that_the_page_did_not_make_is_stale() {
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
