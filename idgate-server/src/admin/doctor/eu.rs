//! `idgate doctor eu`: which rules of the European Union for relying parties this gateway meets, in words for people
//! who answer for it (decisions 41 to 43).

mod data;
mod facts;
mod requests;
mod sources;

use idgate_core::UnixMillis;
use serde_json::json;

use self::facts::Facts;
use crate::admin::output::Output;
use crate::config::Config;
use crate::failure::Failure;
use idgate_store::OperatorStore;

/// The texts that the rules are from.
const TEXTS: &str = "Architecture and Reference Framework 3.0.0 (21 July 2026), and the age verification \
                     specification 1.0.8";

/// How strongly a text demands something (RFC 2119).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Force {
    Shall,
    Should,
}

impl Force {
    const fn name(self) -> &'static str {
        match self {
            Self::Shall => "shall",
            Self::Should => "should",
        }
    }
}

/// A rule for relying parties.
struct Rule {
    /// As its text names it.
    id: &'static str,
    /// Where it is.
    source: &'static str,
    force: Force,
    /// The demand, in our words.
    says: &'static str,
    judge: fn(&Facts<'_>) -> Judgement,
}

/// How the gateway stands to a rule.
#[derive(Clone, Debug, Eq, PartialEq)]
enum Judgement {
    /// The gateway meets it.
    Met(String),
    /// It does not: why, and what to do.
    NotMet(String, String),
    /// Only the people who run it can meet it: the gateway's part, and the rest.
    Yours(String, String),
    /// Nothing here falls under it.
    NotConcerned(String),
}

impl Judgement {
    const fn status(&self) -> &'static str {
        match self {
            Self::Met(_) => "met",
            Self::NotMet(..) => "not_met",
            Self::Yours(..) => "yours",
            Self::NotConcerned(_) => "not_concerned",
        }
    }

    const fn title(&self) -> &'static str {
        match self {
            Self::Met(_) => "Met",
            Self::NotMet(..) => "Not met",
            Self::Yours(..) => "Yours to meet",
            Self::NotConcerned(_) => "Not concerned",
        }
    }

    fn found(&self) -> &str {
        match self {
            Self::Met(found) | Self::NotConcerned(found) => found,
            Self::NotMet(found, _) | Self::Yours(found, _) => found,
        }
    }

    fn to_do(&self) -> Option<&str> {
        match self {
            Self::NotMet(_, to_do) | Self::Yours(_, to_do) => Some(to_do),
            Self::Met(_) | Self::NotConcerned(_) => None,
        }
    }
}

/// Every rule, in the order of its text.
fn rules() -> impl Iterator<Item = &'static Rule> {
    sources::RULES.iter().chain(&requests::RULES).chain(&data::RULES)
}

/// Judges the gateway of these settings. Exit code 3 where it does not meet what a text says that it shall.
///
/// # Errors
/// The store cannot be read.
pub fn run(config: &Config, store: &OperatorStore, now: UnixMillis) -> Result<Output, Failure> {
    let facts = Facts::read(config, store, now)?;
    let judged: Vec<_> = rules().map(|rule| (rule, (rule.judge)(&facts))).collect();
    let fails = |rule: &Rule, judgement: &Judgement| {
        rule.force == Force::Shall && matches!(judgement, Judgement::NotMet(..))
    };
    let failed = judged.iter().any(|(rule, judgement)| fails(rule, judgement));
    let rows = judged.iter().map(|(rule, judgement)| {
        json!({
            "rule": rule.id,
            "source": rule.source,
            "force": rule.force.name(),
            "says": rule.says,
            "status": judgement.status(),
            "found": judgement.found(),
            "to_do": judgement.to_do(),
        })
    });
    let object = json!({ "ok": !failed, "texts": TEXTS, "rules": rows.collect::<Vec<_>>() });
    Ok(Output::new(object, text(&judged)).failed_if(failed))
}

fn text(judged: &[(&Rule, Judgement)]) -> String {
    let mut text = format!(
        "Rules for relying parties of the {TEXTS}.\n\
         This is what the settings and the store of this gateway show. It is not legal advice.\n"
    );
    for (rule, judgement) in judged {
        let Rule { id, source, force, says, .. } = rule;
        let (title, found) = (judgement.title(), judgement.found());
        text +=
            &format!("\n{id} ({source}, {})\n  Rule: {says}\n  {title}: {found}\n", force.name());
        if let Some(to_do) = judgement.to_do() {
            text += &format!("  To do: {to_do}\n");
        }
    }
    let of = |status: &str| judged.iter().filter(|(_, one)| one.status() == status).count();
    text += &format!(
        "\n{} rules: {} met, {} not met, {} yours to meet, {} not concerned\n",
        judged.len(),
        of("met"),
        of("not_met"),
        of("yours"),
        of("not_concerned")
    );
    text
}
