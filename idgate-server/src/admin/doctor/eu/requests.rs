//! Rules about requests: who asks, with which certificates, and for what.

use idgate_core::shell::DeviceRequests;
use idgate_core::{DcApi, Profile};
use idgate_store::CertificateRecord;

use super::facts::Facts;
use super::{Force, Judgement, Rule};

pub(super) const RULES: [Rule; 8] = [
    Rule {
        id: "OIA_03b, OIA_03c",
        source: "ARF topic 1",
        force: Force::Shall,
        says: "Requests to wallets by link follow HAIP 1.0.",
        judge: haip,
    },
    Rule {
        id: "OIA_08d",
        source: "ARF topic 1",
        force: Force::Shall,
        says: "A relying party that shows a code to a phone lessens the risk that another person passes the code on.",
        judge: relayed_codes,
    },
    Rule {
        id: "RPA_01",
        source: "ARF topic 6",
        force: Force::Shall,
        says: "A relying party proves who it is by an access certificate.",
        judge: access_certificate,
    },
    Rule {
        id: "CT_06",
        source: "ARF topic 55",
        force: Force::Shall,
        says: "An access certificate has a signed certificate timestamp (SCT); wallets refuse the relying party without \
               one.",
        judge: timestamps,
    },
    Rule {
        id: "Reg_34a",
        source: "ARF topic 27",
        force: Force::Shall,
        says: "An intermediary has an access certificate of its own for each relying party that it asks for.",
        judge: intermediary,
    },
    Rule {
        id: "RPRC_09",
        source: "ARF topic 44",
        force: Force::Shall,
        says: "A relying party has a registration certificate for each service and intended use.",
        judge: |facts| {
            let uses = facts.registrations.iter();
            let uses = uses.map(|one| format!("{} {}", one.client_id, one.intended_use));
            let uses: Vec<_> = uses.collect();
            let uses = if uses.is_empty() { "none".into() } else { uses.join(", ") };
            Judgement::Yours(
                format!("These clients and uses have registration certificates: {uses}."),
                "Register each intended use with the registrar of your country, and add what it attests by `idgate \
                 client verifier-info add ID FILE --intended-use NAME`."
                    .into(),
            )
        },
    },
    Rule {
        id: "RPRC_19",
        source: "ARF topic 44",
        force: Force::Shall,
        says: "Each request has exactly one registration certificate, by value, for its intended use.",
        judge: registration,
    },
    Rule {
        id: "RPRC_20",
        source: "ARF topic 44",
        force: Force::Shall,
        says: "Requests carry the registration certificate as ETSI TS 119 472-2 says.",
        judge: carriage,
    },
];

fn haip(facts: &Facts<'_>) -> Judgement {
    match facts.speaks(Profile::Haip) {
        true => Judgement::Met("The profile haip is enabled.".into()),
        false => Judgement::NotMet(
            "The profile haip is not enabled.".into(),
            "Add haip to IDGATE_PROFILES, and use it for EU wallets.".into(),
        ),
    }
}

fn relayed_codes(facts: &Facts<'_>) -> Judgement {
    const CARE: &str =
        "In haip a session is bound to the device that asks, unless it says `same_device: false`.";
    match &facts.config.page {
        Some(rules) if rules.turning => {
            Judgement::Met(format!("The QR codes of pages change every 10 seconds. {CARE}"))
        }
        Some(_) => Judgement::NotMet(
            "The QR codes of pages stay the same.".into(),
            "Unset IDGATE_PAGE_TURNING_QR.".into(),
        ),
        None => Judgement::Yours(
            format!("The gateway has no pages, so your own page shows the code. {CARE}"),
            "Set IDGATE_PAGE=on, or renew the code on your page and prefer the browser's dialogue."
                .into(),
        ),
    }
}

fn access_certificate(facts: &Facts<'_>) -> Judgement {
    let has_own = facts.certificates.iter().any(|record| record.client_id.is_empty());
    let without: Vec<_> = facts
        .clients
        .iter()
        .filter(|client| CertificateRecord::signing_for(&facts.certificates, &client.id).is_none())
        .map(|client| client.id.clone())
        .collect();
    if !without.is_empty() || (facts.clients.is_empty() && !has_own) {
        let whose = if without.is_empty() { "the gateway".into() } else { without.join(", ") };
        return Judgement::NotMet(
            format!("No valid access certificate signs for: {whose}."),
            "Begin with `idgate keys csr`, and import what the access authority issues.".into(),
        );
    }
    if facts.config.profiles.dc_api == DcApi::Unsigned {
        return Judgement::NotMet(
            "Requests through the browser are unsigned (IDGATE_DC_API=unsigned).".into(),
            "Set IDGATE_DC_API=signed.".into(),
        );
    }
    Judgement::Met(
        "A valid access certificate signs the requests of every live client in haip.".into(),
    )
}

fn timestamps(facts: &Facts<'_>) -> Judgement {
    if facts.certificates.is_empty() {
        return Judgement::NotConcerned("There is no access certificate.".into());
    }
    let without = facts
        .certificates
        .iter()
        .filter(|record| record.certificate.transparency.lacks().is_some());
    let without = without.map(|record| match &*record.client_id {
        "" => "the gateway",
        client => client,
    });
    let without: Vec<_> = without.collect();
    match without.is_empty() {
        true => Judgement::Met("Every access certificate has SCTs.".into()),
        false => Judgement::NotMet(
            format!("These have an access certificate without SCTs: {}.", without.join(", ")),
            "Ask the access authority for a certificate with SCTs.".into(),
        ),
    }
}

fn intermediary(facts: &Facts<'_>) -> Judgement {
    if facts.clients.len() < 2 {
        return Judgement::NotConcerned("Fewer than two live clients use this gateway.".into());
    }
    let has_own = |id: &str| facts.certificates.iter().any(|record| record.client_id == id);
    let without = facts.clients.iter().filter(|client| !has_own(&client.id));
    let without: Vec<_> = without.map(|client| client.id.clone()).collect();
    match without.is_empty() {
        true => Judgement::Met("Every live client has an access certificate of its own.".into()),
        false => Judgement::Yours(
            format!("The gateway's certificate signs for: {}.", without.join(", ")),
            "Where these are relying parties of their own, begin with `idgate keys csr --client ID` for each. Where they \
             are parts of your own organisation, nothing is left to do."
                .into(),
        ),
    }
}

fn registration(facts: &Facts<'_>) -> Judgement {
    if facts.clients.is_empty() {
        return Judgement::NotConcerned("There is no live client.".into());
    }
    let has = |id: &str| facts.registrations.iter().any(|one| one.client_id == id);
    let without = facts.clients.iter().filter(|client| !has(&client.id));
    let without: Vec<_> = without.map(|client| client.id.clone()).collect();
    if !without.is_empty() {
        return Judgement::NotMet(
            format!(
                "These have no valid registration certificate for the party and service that \
                 sign: {}.",
                without.join(", ")
            ),
            "Add it by `idgate client verifier-info add ID FILE --intended-use NAME`.".into(),
        );
    }
    match facts.sends_registration() {
        true => Judgement::Met(
            "Every live client has one. Requests in haip, and others under x509_hash, carry the one of \
             `intended_use`, or else the default one; other requests carry none."
                .into(),
        ),
        false => Judgement::NotMet(
            "No request by link is made under x509_hash, and only such requests carry one.".into(),
            "Add haip to IDGATE_PROFILES, and use it for EU wallets.".into(),
        ),
    }
}

fn carriage(facts: &Facts<'_>) -> Judgement {
    if facts.registrations.is_empty() {
        return Judgement::NotConcerned("No registration certificate goes to wallets yet.".into());
    }
    let asks_browsers = facts.config.profiles.dc_api != DcApi::Off;
    if asks_browsers && facts.config.profiles.device_requests == DeviceRequests::FirstEdition {
        return Judgement::NotMet(
            "IDGATE_DC_API_ISO is 1.0, and such requests cannot carry it.".into(),
            "Unset IDGATE_DC_API_ISO.".into(),
        );
    }
    Judgement::Met(
        "OpenID4VP requests under x509_hash carry it in `verifier_info`, and signed org-iso-mdoc requests in \
         `requestInfo`."
            .into(),
    )
}
