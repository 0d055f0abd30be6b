//! The core's remedies, rephrased for tenants of a gateway, whose operator has the command line.

use idgate_core::error::{Remedy, RequestError};

/// The field and the rule, with the rephrased remedy.
pub(super) fn text_of(mut error: RequestError) -> String {
    if let Some(remedy) = &error.remedy {
        error.rule = rule_of(&error, remedy).into();
    }
    error.to_string()
}

fn rule_of(error: &RequestError, remedy: &Remedy) -> String {
    let fault = error.fault();
    match remedy {
        Remedy::AddVct => format!("{fault}; ask the operator to add one with --vct"),
        Remedy::AddDocType => format!("{fault}; ask the operator to add one with --doc-type"),
        Remedy::UpdateTrustedList => format!("{fault}; ask the operator to import a newer one"),
        Remedy::AddCertificate => format!("{fault}: the gateway has no certificate for it"),
        Remedy::RenewCertificate => format!("{fault}; ask the operator to renew it"),
        Remedy::AddSigner | Remedy::EnableProfile => {
            format!("{fault} at this gateway; leave it out, or ask the operator for it")
        }
        Remedy::AddReaderCertificate => format!(
            "must be signed, and this gateway {fault}; set it to false, or ask the operator for one"
        ),
        Remedy::ChooseProfile(spoken) => {
            let names: Vec<&str> = spoken.iter().map(|profile| profile.name()).collect();
            format!("is not a profile of this gateway, which speaks {}", names.join(", "))
        }
        Remedy::EnableDcApi => format!("{fault} at this gateway; ask the operator for it"),
        Remedy::EnablePages => format!("{fault} at this gateway; ask the operator for pages"),
        _ => error.rule.to_string(),
    }
}
