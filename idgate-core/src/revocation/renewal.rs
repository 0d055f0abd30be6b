//! Later copies of known sources, fetched at times that do not depend on a presentation (ARF 3.0,
//! VCR_15).

use super::context::StatusContext;
use super::source::VerifiedSource;
use super::token_status_list::VerifiedStatusList;
use crate::time::UnixMillis;
use crate::trust::Trust;
use crate::trust::crl::VerifiedCrl;

impl Trust {
    /// Verifies `body`, a later copy of `known` that was fetched at `now`. The rules are those for
    /// `known`, under this trust, which may differ from the earlier one. `None`: `body` is not
    /// authentic, is not valid at that time, or is older than `known`; or the issuer is not trusted
    /// any more.
    ///
    /// A cache that fetches before a source expires needs no presentation for it:
    ///
    /// ```
    /// use idgate_core::revocation::VerifiedSource;
    /// use idgate_core::{Trust, UnixMillis};
    ///
    /// fn renewed(trust: &Trust, known: &VerifiedSource, now: UnixMillis) -> Option<VerifiedSource> {
    ///     let body = fetch(known.need().uri())?;
    ///     trust.renewed(known, &body, now)
    /// }
    /// # fn fetch(_: &str) -> Option<Vec<u8>> { None }
    /// ```
    pub fn renewed(
        &self,
        known: &VerifiedSource,
        body: &[u8],
        now: UnixMillis,
    ) -> Option<VerifiedSource> {
        match known {
            VerifiedSource::StatusList(known) => {
                self.renewed_list(known, body, now).map(VerifiedSource::StatusList)
            }
            VerifiedSource::Crl { uri, crl } => {
                let known_update = crl.this_update();
                let crl = VerifiedCrl::verify_later(&self.provider, body, crl)?;
                let is_later = crl.this_update() >= known_update;
                (is_later && crl.is_current(now))
                    .then(|| VerifiedSource::Crl { uri: uri.clone(), crl })
            }
        }
    }

    fn renewed_list(
        &self,
        known: &VerifiedStatusList,
        body: &[u8],
        now: UnixMillis,
    ) -> Option<VerifiedStatusList> {
        let context = StatusContext {
            provider: &self.provider,
            issuer: self.snapshot.entry(known.issuer_id())?,
            trust: Some(&self.snapshot),
            livemode: known.livemode(),
            on_unknown: None,
            now,
        };
        known.renewed(body, &context)
    }
}

#[cfg(all(test, feature = "aws-lc-rs"))]
#[allow(clippy::unwrap_used)]
mod tests {
    use alloc::sync::Arc;
    use alloc::vec::Vec;

    use idgate_testkit::status::{Crl, StatusCwt, StatusJwt, StatusList};
    use serde_json::json;

    use super::super::fixtures::{
        CRL_URI, KEY_IDENTIFIER, NOW, NOW_SECS, URI, context, entry, name, root, signer,
        signing_key, voucher,
    };
    use super::super::token_status_list::{Judged, ListKind, ListSigner};
    use super::*;
    use crate::crypto::aws_lc_rs::PROVIDER;
    use crate::trust::certificate::Certificate;
    use crate::trust::{TrustEntry, TrustSnapshot};

    const LATER: UnixMillis = NOW.plus(3_600_000);

    fn trust(entries: impl IntoIterator<Item = TrustEntry>) -> Trust {
        Trust::of_snapshot(PROVIDER, Arc::new(TrustSnapshot::new(1, entries)))
    }

    fn token(idx: usize, iat: u64) -> StatusJwt {
        StatusJwt::new(&StatusList::new(1, 8).with(idx, 1), URI, iat).with("exp", json!(iat + 7200))
    }

    fn signed(token: StatusJwt) -> Vec<u8> {
        token.sign(&signing_key("issuer")).into_bytes()
    }

    /// A source as a presentation caused it, for a credential signed by a bare key or by a
    /// certificate.
    fn known(body: &[u8], by_certificate: bool) -> VerifiedSource {
        let (entry, voucher) = (entry(), voucher());
        let signer = match by_certificate {
            true => ListSigner::Certificate(&voucher),
            false => ListSigner::IssuerKey,
        };
        let here = context(&entry);
        let judged = VerifiedStatusList::verify_kind(ListKind::Statuses, body, URI, signer, &here);
        match judged.unwrap() {
            Judged::Current(list) | Judged::Over(list, _) => VerifiedSource::StatusList(list),
        }
    }

    fn status(source: &VerifiedSource, idx: u64) -> Option<u8> {
        match source {
            VerifiedSource::StatusList(list) => list.status(idx),
            VerifiedSource::Crl { .. } => None,
        }
    }

    #[test]
    fn a_later_copy_of_a_list_is_judged_like_the_first() {
        let (trust, known) = (trust([entry()]), known(&signed(token(3, NOW_SECS)), false));
        let later = trust.renewed(&known, &signed(token(5, NOW_SECS + 3000)), LATER).unwrap();
        assert_eq!((status(&later, 3), status(&later, 5)), (Some(0), Some(1)));
        assert_eq!(later.need(), known.need());
        assert!(later.fresh_until() > known.fresh_until());
        // And so is the one after that.
        assert!(trust.renewed(&later, &signed(token(5, NOW_SECS + 3000)), LATER).is_some());
        let certified = |idx| {
            let list = StatusList::new(1, 8).with(idx, 1);
            let der = signer(&signing_key("signer"));
            StatusCwt::new(&list, URI, NOW_SECS, &[&der]).sign(&signing_key("signer"))
        };
        let known = self::known(&certified(3), true);
        let later = trust.renewed(&known, &certified(5), LATER).unwrap();
        assert_eq!(status(&later, 5), Some(1));
    }

    #[test]
    fn a_later_copy_that_is_not_authentic_or_has_expired_is_refused() {
        let (trust, known) = (trust([entry()]), known(&signed(token(3, NOW_SECS)), false));
        let forged = token(5, NOW_SECS).sign(&signing_key("other")).into_bytes();
        let elsewhere = signed(token(5, NOW_SECS).with("sub", json!("https://other.example")));
        let over = signed(token(5, NOW_SECS - 7200));
        for body in [forged, elsewhere, over, b"garbage".to_vec(), Vec::new()] {
            assert!(trust.renewed(&known, &body, LATER).is_none());
        }
    }

    #[test]
    fn an_older_copy_does_not_replace_a_list_or_a_crl() {
        let (trust, known) = (trust([entry()]), known(&signed(token(3, NOW_SECS)), false));
        assert!(trust.renewed(&known, &signed(token(5, NOW_SECS - 60)), NOW).is_none());
        assert!(trust.renewed(&known, &signed(token(5, NOW_SECS)), NOW).is_some());
        let crl = |from: &str| {
            let crl = Crl::new(&name("Root"), KEY_IDENTIFIER, from, "20261124000000Z");
            crl.sign(&signing_key("root"))
        };
        let issuer = root();
        let issuer = Certificate::parse(&issuer).unwrap();
        let crl_of = |der: &[u8]| VerifiedSource::Crl {
            uri: CRL_URI.into(),
            crl: VerifiedCrl::verify(&PROVIDER, der, &issuer).unwrap(),
        };
        let (older, newer) = (crl("20261121000000Z"), crl("20261122000000Z"));
        let later = NOW.plus(86_400_000);
        assert!(trust.renewed(&crl_of(&newer), &older, later).is_none());
        assert!(trust.renewed(&crl_of(&older), &newer, later).is_some());
    }

    #[test]
    fn a_later_copy_of_a_list_belongs_to_the_trust_that_judged_it() {
        let (first, body) = (trust([entry()]), signed(token(3, NOW_SECS)));
        let known = known(&body, false);
        assert!(first.renewed(&known, &body, NOW).is_some());
        assert!(trust([]).renewed(&known, &body, NOW).is_none(), "the issuer is not trusted");
        let mut without_keys = entry();
        without_keys.keys.clear();
        assert!(trust([without_keys]).renewed(&known, &body, NOW).is_none());
    }

    #[test]
    fn a_later_copy_of_a_crl_is_of_the_same_issuer_and_current() {
        let crl = |from: &str, to: &str| Crl::new(&name("Root"), KEY_IDENTIFIER, from, to);
        let first = crl("20261121000000Z", "20261122000000Z").sign(&signing_key("root"));
        let issuer = root();
        let issuer = Certificate::parse(&issuer).unwrap();
        let verified = VerifiedCrl::verify(&PROVIDER, &first, &issuer).unwrap();
        let known = VerifiedSource::Crl { uri: CRL_URI.into(), crl: verified };
        let (trust, later) = (trust([]), NOW.plus(86_400_000));
        let second = crl("20261122000000Z", "20261123000000Z");
        let renewed = trust.renewed(&known, &second.sign(&signing_key("root")), later).unwrap();
        assert_eq!(renewed.need(), known.need());
        assert!(renewed.fresh_until() > known.fresh_until());
        assert!(trust.renewed(&renewed, &second.sign(&signing_key("root")), later).is_some());
        assert!(trust.renewed(&known, &second.sign(&signing_key("other")), later).is_none());
        assert!(trust.renewed(&known, &first, later).is_none(), "it is over");
        assert!(trust.renewed(&known, b"garbage", later).is_none());
    }
}
