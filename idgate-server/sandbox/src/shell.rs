//! `idgate sandbox wallet`: the built-in wallet from a shell, against any gateway on this machine.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use idgate_testkit::openid4vp::Link;
use serde_json::{Value, json};
use url::Url;

use super::issuers::{PROVIDERS, Provider};
use super::kept::{self, Running};
use super::wallet::{Answered, Deed, Holder};
use super::way::Way;
use crate::demo::plan::Said;
use idgate_base::clock::{Clock as _, SystemClock};
use idgate_server::failure::Failure;
use idgate_server::stdio;

/// The options of `idgate sandbox wallet`.
#[derive(Args, Debug)]
pub(super) struct WalletOptions {
    /// The link of a session: `qr_code_url` or one of `deep_links`
    uri: String,
    /// What the wallet does
    #[arg(long = "do", value_name = "DEED", value_enum, default_value = "accept")]
    deed: Deed,
    /// The provider of its credentials: utopia or arcadia, of the running sandbox [default: utopia]
    #[arg(long, value_name = "PROVIDER", value_parser = provider)]
    from: Option<usize>,
    /// Use the built-in samples of the demo and the documentation, even if a sandbox runs
    #[arg(long, conflicts_with = "from")]
    samples: bool,
    /// The gateway's own address, if its links lead to a tunnel or a proxy in front of it
    #[arg(long, value_name = "ADDRESS")]
    gateway: Option<SocketAddr>,
    /// The CA of a gateway with https on this machine
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,
}

fn provider(text: &str) -> Result<usize, String> {
    let at = PROVIDERS.iter().position(|one| one.key == text);
    at.ok_or_else(|| "must be utopia or arcadia".into())
}

/// Answers the link, and prints the gateway's reply. Exit code 3: the gateway accepted an answer
/// that it must refuse, or refused a good one.
pub(super) fn run(options: &WalletOptions, said: Said<'_>, json: bool) -> ExitCode {
    let (answered, whose) = match answer(options, said) {
        Ok(answered) => answered,
        Err(failure) => return failure.report(json),
    };
    let status = answered.reply.status;
    let object = json!({
        "do": options.deed.name(),
        "credentials": whose,
        "client_id": answered.client_id,
        "response_uri": answered.response_uri,
        "http_status": status.as_u16(),
        "reply": answered.reply.json(),
    });
    let said = format!(
        "shows    {whose}\nwallet   {} for {}\ngateway  {} {}\n",
        options.deed.name(),
        answered.client_id,
        status.as_u16(),
        answered.reply.text()
    );
    stdio::to_stdout(if json { format!("{object}\n") } else { said });
    match status.is_success() == options.deed.is_to_be_taken() {
        true => ExitCode::SUCCESS,
        false => ExitCode::from(3),
    }
}

/// The outcome of the answer, and whose credentials were shown.
fn answer(options: &WalletOptions, said: Said<'_>) -> Result<(Answered, String), Failure> {
    if let Some(address) = options.gateway
        && !address.ip().is_loopback()
    {
        return Err(Failure::Usage(
            "--gateway: the built-in wallet answers on loopback only".into(),
        ));
    }
    let origin = origin_of(&options.uri);
    let named = said.flags.get("data_dir").map(Path::new);
    let is_its = |running: &Running| {
        let own = |url: &str| Url::parse(url).ok().map(|url| url.origin());
        origin.as_ref().is_some_and(|origin| {
            own(&running.base_url).as_ref() == Some(origin)
                || own(&format!("http://{}", running.gateway)).as_ref() == Some(origin)
        })
    };
    let found = kept::find(named, is_its)?;
    let now_ms = SystemClock.now().0;
    let mut way = Way::default();
    if let Some((_, running)) = &found {
        way = way.over(&running.base_url, running.gateway);
    }
    let provider = match &found {
        Some((kept, running)) if !options.samples => {
            let all = Provider::all(&kept.seed, kept.made_at, &running.lists);
            all.into_iter().nth(options.from.unwrap_or(0))
        }
        None if options.from.is_some() => {
            return Err(Failure::Error(
                "--from: no sandbox runs, or several do; choose one by its folder with --data-dir"
                    .into(),
            ));
        }
        _ => Some(Provider::of_demo(now_ms)),
    };
    let whose = match &found {
        Some((_, running)) if !options.samples => {
            let key = PROVIDERS.get(options.from.unwrap_or(0)).map_or("", |one| one.key);
            format!("credentials of {key}, of the sandbox at {}", running.base_url)
        }
        _ => "the built-in samples".to_owned(),
    };
    let provider =
        provider.ok_or_else(|| Failure::Usage("--from: there is no such provider".into()))?;
    if let (Some(address), Some(origin)) = (options.gateway, &origin) {
        way = way.over(&origin.ascii_serialization(), address);
    }
    if let Some(file) = &options.ca {
        way = way.trusting(file)?;
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Failure::Error(format!("cannot start: {error}")))?;
    let holder = Holder { provider: &provider, way: &way, now_ms };
    let answered = runtime.block_on(holder.answer(&options.uri, options.deed));
    answered.map(|answered| (answered, whose)).map_err(Failure::Error)
}

/// The origin to which the link leads.
fn origin_of(link: &str) -> Option<url::Origin> {
    let leads_to = match Link::read(link).0 {
        Link::ByReference { request_uri, .. } => request_uri,
        Link::ByValue(given) => {
            given.get("response_uri").and_then(Value::as_str).unwrap_or_default().to_owned()
        }
    };
    Url::parse(&leads_to).ok().map(|url| url.origin())
}
