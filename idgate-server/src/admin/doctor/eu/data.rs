//! Rules about what a relying party keeps, and about pseudonyms.

use super::{Force, Judgement, Rule};

pub(super) const RULES: [Rule; 3] = [
    Rule {
        id: "OIA_16",
        source: "ARF topic 1",
        force: Force::Shall,
        says: "What makes a credential unique (salts, signatures, keys, times) is discarded as soon as it is not needed, \
               and not passed on.",
        judge: |_| {
            Judgement::Yours(
                "Salts, signatures, keys and status indexes never leave the gateway and are not stored. \
                 `verification_details` says `valid_from` and `valid_until` of a credential for 30 seconds."
                    .into(),
                "Do not keep these two times, and do not pass them on.".into(),
            )
        },
    },
    Rule {
        id: "RPI_10",
        source: "ARF topic 52",
        force: Force::Shall,
        says: "An intermediary deletes what it received as soon as it has passed it on.",
        judge: |_| {
            Judgement::Yours(
                "Claims are erased after 30 seconds.".into(),
                "Where you are an intermediary, send `DELETE /v1/sessions/{id}` once you have \
                 read the result: it erases the result immediately."
                    .into(),
            )
        },
    },
    Rule {
        id: "PA_10",
        source: "ARF topic 11",
        force: Force::Shall,
        says: "A relying party that registers pseudonyms can tell that the wallet is not revoked.",
        judge: |_| Judgement::NotConcerned("idgate registers no pseudonyms.".into()),
    },
];
