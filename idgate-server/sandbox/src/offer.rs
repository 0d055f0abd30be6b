//! `idgate sandbox offer`: makes an offer at the running sandbox, and shows it as QR code and link.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use idgate_testkit::wallet::Body;
use qrcode::{EcLevel, QrCode, render::unicode::Dense1x2};
use serde_json::{Value, json};

use super::kept::{self, Running};
use super::offers::{OfferRequest, PATH};
use super::phones::{Sample, is_public};
use super::way::Way;
use crate::demo::plan::Said;
use idgate_server::failure::Failure;
use idgate_server::stdio;

/// The options of `idgate sandbox offer`.
#[derive(Args, Debug)]
pub(super) struct OfferOptions {
    /// pid, pid-mdoc, mdl, age or membership
    #[arg(value_name = "TYPE", default_value = "pid", value_parser = sample)]
    sample: Sample,
    /// Put an address into the link instead of the whole offer: a smaller QR code
    #[arg(long)]
    by_reference: bool,
    /// Require a code that the person types [default: if other machines can reach the gateway]
    #[arg(long, overrides_with = "no_tx_code")]
    tx_code: bool,
    /// Do not require a code
    #[arg(long)]
    no_tx_code: bool,
    /// Offer it from the issuer that requires key attestations
    #[arg(long)]
    attested: bool,
    /// Begin the link with haip-vci://, for wallets that accept only this scheme
    #[arg(long)]
    haip: bool,
}

fn sample(text: &str) -> Result<Sample, String> {
    Sample::named(text).ok_or_else(|| "must be pid, pid-mdoc, mdl, age or membership".into())
}

/// Makes the offer and shows it.
pub(super) fn run(options: &OfferOptions, said: Said<'_>, json: bool) -> ExitCode {
    match offer(options, said) {
        Ok((made, base_url)) => {
            let told = if json { object(&made) } else { words(&made, &base_url) };
            stdio::to_stdout(told);
            ExitCode::SUCCESS
        }
        Err(failure) => failure.report(json),
    }
}

/// The console's reply, and the gateway's public address.
fn offer(options: &OfferOptions, said: Said<'_>) -> Result<(Value, String), Failure> {
    let none =
        "no sandbox runs: start one with `idgate sandbox`, or name its folder with --data-dir";
    let folder = match said.flags.get("data_dir") {
        Some(named) => PathBuf::from(named),
        None => kept::running_folder()?.ok_or_else(|| Failure::Error(none.into()))?,
    };
    let found = kept::find(Some(&folder), |_: &Running| false)?;
    let (_, running) = found.ok_or_else(|| Failure::Error(none.into()))?;
    let tx_code = match (options.tx_code, options.no_tx_code) {
        (true, _) => Some(true),
        (false, true) => Some(false),
        (false, false) => None,
    };
    let request = OfferRequest {
        sample: options.sample.key().to_owned(),
        by_reference: options.by_reference,
        tx_code,
        attested: options.attested,
        haip: options.haip,
    };
    let bytes = serde_json::to_vec(&request).map_err(|error| error.to_string())?;
    let body = Body { content_type: "application/json".into(), bytes };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Failure::Error(format!("cannot start: {error}")))?;
    let url = format!("{}{PATH}", running.lists);
    let reply = runtime.block_on(Way::default().post(&url, &body))?;
    let made = reply.json();
    match reply.status.is_success() && made.get("link").is_some() {
        true => Ok((made, running.base_url)),
        false => {
            let why = made.get("message").and_then(Value::as_str).map(String::from);
            Err(Failure::Error(why.unwrap_or_else(|| reply.text())))
        }
    }
}

fn object(made: &Value) -> String {
    let member = |name: &str| made.get(name).cloned().unwrap_or_default();
    let object = json!({
        "link": member("link"),
        "credential_offer": member("credential_offer"),
        "credential_offer_uri": member("credential_offer_uri"),
        "tx_code": member("tx_code"),
        "configuration": member("configuration"),
    });
    format!("{object}\n")
}

fn words(made: &Value, base_url: &str) -> String {
    let text = |name: &str| made.get(name).and_then(Value::as_str);
    let link = text("link").unwrap_or_default();
    let code = QrCode::with_error_correction_level(link, EcLevel::L);
    // Drawn with light blocks, because most terminals are dark.
    let drawn = code.map(|code| {
        let mut drawing = code.render::<Dense1x2>();
        drawing.dark_color(Dense1x2::Light).light_color(Dense1x2::Dark).build()
    });
    let drawn =
        drawn.unwrap_or_else(|_| "The offer is too long for a QR code: use the link.".into());
    let typed = match text("tx_code") {
        Some(code) => format!("code to type    {code}\n"),
        None => String::new(),
    };
    let local = match is_public(base_url) {
        true => "",
        false => {
            "\nThis offer works only on this machine. For a phone, start the sandbox with --lan, \
             or with --base-url and \
             a tunnel.\n"
        }
    };
    format!(
        "{drawn}\n\nconfiguration   {}\n{typed}link            {link}\n{local}",
        text("configuration").unwrap_or_default()
    )
}
