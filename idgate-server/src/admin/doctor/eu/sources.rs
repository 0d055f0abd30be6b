//! Rules about the sources of trust: lists of issuers, and lists of withdrawn credentials.

use idgate_core::Profile;
use idgate_core::shell::AGE_DOC_TYPE;
use idgate_core::trust::RevocationPolicy;

use idgate_store::TrustRecord;

use super::facts::{Facts, by_hand};
use super::{Force, Judgement, Rule};

const AV: &str = "age verification 4.4";

pub(super) const RULES: [Rule; 10] = [
    Rule {
        id: "AV protocols",
        source: AV,
        force: Force::Shall,
        says: "A relying party speaks the protocols of annex A to the age verification app: a request in the link, \
               unsigned, or org-iso-mdoc through the browser.",
        judge: age_protocols,
    },
    Rule {
        id: "AV trusted list",
        source: AV,
        force: Force::Shall,
        says: "A relying party checks by the Commission's trusted list that the issuer of a proof of age is authorised.",
        judge: age_list,
    },
    Rule {
        id: "AV zero knowledge",
        source: AV,
        force: Force::Should,
        says: "A relying party can verify zero-knowledge proofs of an age.",
        judge: |_| {
            Judgement::NotMet(
                "idgate verifies proofs of age as mdocs, and no zero-knowledge proofs.".into(),
                "No setting changes this. The app presents the mdoc to a relying party that does not ask for the \
                 other proof."
                    .into(),
            )
        },
    },
    Rule {
        id: "OIA_12",
        source: "ARF topic 1",
        force: Force::Shall,
        says: "A relying party trusts issuers of identities (PID) by the list of PID providers.",
        judge: pid_lists,
    },
    Rule {
        id: "OIA_15a",
        source: "ARF topic 1",
        force: Force::Shall,
        says: "A relying party fetches the newest version of each list that it uses, and takes over what was added \
               or withdrawn.",
        judge: refresh,
    },
    Rule {
        id: "OIA_15b",
        source: "ARF topic 1",
        force: Force::Shall,
        says: "A relying party reads lists of ETSI TS 119 612 (XML) and of ETSI TS 119 602 (JSON).",
        judge: |_| {
            Judgement::Met("idgate reads both; `trust add --trusted-list` tells them apart.".into())
        },
    },
    Rule {
        id: "VCR_12",
        source: "ARF topic 7",
        force: Force::Shall,
        says: "A relying party that checks whether a credential was withdrawn reads status lists and revocation \
               (identifier) lists.",
        judge: |_| Judgement::Met("idgate reads both.".into()),
    },
    Rule {
        id: "VCR_13",
        source: "ARF topic 7",
        force: Force::Should,
        says: "A relying party checks whether a credential was withdrawn, or decides otherwise by a risk analysis.",
        judge: checks_status,
    },
    Rule {
        id: "VCR_14",
        source: "ARF topic 7",
        force: Force::Shall,
        says: "A relying party decides by a risk analysis whether it accepts a credential whose \
               status cannot be determined.",
        judge: unknown_status,
    },
    Rule {
        id: "VCR_15",
        source: "ARF topic 7",
        force: Force::Should,
        says: "A relying party fetches status lists at times that have nothing to do with a presentation.",
        judge: |_| {
            Judgement::Met(
                "idgate fetches the lists that it used in the last 24 hours before they expire, at times of its own. A \
                 presentation waits for a fetch where no copy is there: the first of a list, the first after a restart, \
                 and where a list serves for less than a minute."
                    .into(),
            )
        },
    },
];

fn age_protocols(facts: &Facts<'_>) -> Judgement {
    match facts.speaks(Profile::V1_0) {
        true => Judgement::Met(
            "The profile 1.0 is enabled, and the preset eu_age asks in this form whatever the request mode.".into(),
        ),
        false => Judgement::NotMet(
            "The profile 1.0 is not enabled, so a session for the age app is refused.".into(),
            "Add 1.0 to IDGATE_PROFILES.".into(),
        ),
    }
}

fn age_list(facts: &Facts<'_>) -> Judgement {
    let entries = facts.age_entries();
    if entries.is_empty() {
        return Judgement::NotConcerned(format!("No trust entry is for {AGE_DOC_TYPE}."));
    }
    let without = by_hand(&entries);
    match without.is_empty() {
        true => Judgement::Met(format!("Every trust entry for {AGE_DOC_TYPE} follows a trusted list.")),
        false => Judgement::NotMet(
            format!(
                "These name issuers by hand, or follow a list that only tests trust: {}.",
                without.join(", ")
            ),
            "Run `idgate trust add ID --preset eu-av --trusted-list URL --list-signer-ca FILE`, and remove the roots \
             that were named by hand."
                .into(),
        ),
    }
}

fn pid_lists(facts: &Facts<'_>) -> Judgement {
    let entries = facts.pid_entries();
    if entries.is_empty() {
        return Judgement::NotConcerned("No trust entry is for identities (PID).".into());
    }
    let without = by_hand(&entries);
    match without.is_empty() {
        true => Judgement::Met("Every trust entry for identities follows a list.".into()),
        false => Judgement::NotMet(
            format!(
                "These name issuers by hand, or follow a list that only tests trust: {}.",
                without.join(", ")
            ),
            "Run `idgate trust add ID --trusted-list URL --list-signer-ca FILE` for each.".into(),
        ),
    }
}

fn refresh(facts: &Facts<'_>) -> Judgement {
    let followed = facts.trust.iter().filter(|entry| entry.trusted_list.is_some());
    let is_fetched = |entry: &&TrustRecord| {
        entry.trusted_list.as_ref().is_some_and(|list| list.row.url.is_some())
            && entry.list_of_lists.as_ref().is_none_or(|lists| lists.url.is_some())
    };
    let (by_url, from_file): (Vec<_>, Vec<_>) = followed.partition(is_fetched);
    if by_url.is_empty() && from_file.is_empty() {
        return Judgement::NotConcerned("No trust entry follows a list.".into());
    }
    if !from_file.is_empty() {
        return Judgement::NotMet(
            format!("{} of the lists came from a file, which nothing renews.", from_file.len()),
            "Give `--trusted-list` or `--lotl` the URL of the list, or import each new version yourself."
                .into(),
        );
    }
    match facts.config.trust_refresh_hours {
        Some(hours) => Judgement::Met(format!(
            "Lists are fetched every {hours} hours. `idgate doctor` warns about a list that \
             cannot be fetched or is overdue."
        )),
        None => Judgement::NotMet(
            "The gateway fetches no list by itself.".into(),
            "Set IDGATE_TRUST_REFRESH, or run `idgate trust refresh` from a timer.".into(),
        ),
    }
}

fn checks_status(facts: &Facts<'_>) -> Judgement {
    let off = facts.trust.iter().filter(|entry| entry.revocation == RevocationPolicy::Off);
    let off: Vec<_> = off.map(|entry| entry.issuer_id.clone()).collect();
    if facts.trust.is_empty() {
        return Judgement::NotConcerned("There is no trust entry.".into());
    }
    match off.is_empty() {
        true => Judgement::Met("Every trust entry has its credentials' status checked.".into()),
        false => Judgement::Yours(
            format!("The check is off in: {}.", off.join(", ")),
            "Write down the risk analysis, or run `idgate trust add ID --revocation if_published`."
                .into(),
        ),
    }
}

fn unknown_status(facts: &Facts<'_>) -> Judgement {
    let lenient = facts.lenient_entries();
    match lenient.is_empty() {
        true => Judgement::Met("Every trust entry refuses a credential whose status cannot be \
                                determined.".into()),
        false => Judgement::Yours(
            format!("It can be accepted in: {}. The result then says `revocation: unknown`.", lenient.join(", ")),
            "Write down the risk analysis, or run `idgate trust add ID --on-unknown-revocation refuse`.".into(),
        ),
    }
}
