//! `idgate sandbox`: a gateway to develop against, with sample issuers, a wallet with buttons, and
//! a webhook receiver. It is not for production and does not start there.

#![allow(clippy::exhaustive_enums, clippy::exhaustive_structs)] // internal crate

mod asks;
mod certificate;
mod console;
pub mod demo;
mod front;
mod issuers;
mod kept;
mod limits;
mod memory;
mod offer;
mod offers;
mod options;
mod phones;
mod plan;
mod published;
mod receiver;
mod routes;
mod serving;
mod shell;
mod stage;
mod state;
mod wallet;
mod way;

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use serde_json::json;

use self::certificate::fingerprint;
use self::kept::PREFIX;
pub use self::kept::running_folder;
use self::options::SandboxCommand;
pub use self::options::SandboxOptions;
use self::plan::Plan;
use self::stage::Stage;
use self::state::{LISTS, lock};
use crate::demo::ending::Ending;
use crate::demo::folder::Folder;
use crate::demo::plan::Said;
use idgate_base::clock::{Clock, SystemClock};
use idgate_server::failure::Failure;
use idgate_server::log;
use idgate_server::stdio;
use idgate_store::SANDBOX_FILE;

/// Runs the sandbox, its wallet or an offer, with the settings in `said`.
pub fn run(options: SandboxOptions, said: Said<'_>, json: bool) -> ExitCode {
    if let Some(command) = &options.command {
        if options.are_given() {
            let why = "--page-listen, --https-listen, --lan and --name are for the sandbox itself, not for its wallet \
                       or its offers";
            return Failure::Usage(why.into()).report(json);
        }
        return match command {
            SandboxCommand::Wallet(wallet) => shell::run(wallet, said, json),
            SandboxCommand::Offer(options) => offer::run(options, said, json),
        };
    }
    let ended = serve(&options, said, json);
    log::flush();
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(json),
    }
}

fn serve(options: &SandboxOptions, said: Said<'_>, json: bool) -> Result<(), Failure> {
    let plan = Plan::new(options, said)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(|error| format!("cannot start threads: {error}"))?;
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let folder = Folder::new(said, PREFIX)?;
    if folder.is_thrown_away() && plan.names_folder() {
        let note = "note: a sandbox does not use IDGATE_DATA_DIR, which is for real gateways; choose its folder \
                    with --data-dir\n";
        stdio::to_stderr(note.to_owned());
    }
    runtime.block_on(async {
        let mut ending = Ending::new()?;
        let stage = tokio::select! {
            stage = Stage::set(plan, said, &folder, clock) => stage?,
            () = ending.told() => return Ok(()),
        };
        let told = if json { stage.object() } else { stage.words(&folder) };
        // Record this first, so that stopping the sandbox right away cannot show them a second
        // time.
        stage.keys_are_shown()?;
        stdio::to_stdout(told);
        ending.told().await;
        stage.strike().await;
        Ok(())
    })
}

impl Stage {
    /// The description as JSON, for programs.
    fn object(&self) -> String {
        let state = &self.state;
        let [pid, mdl] = LISTS.map(|(_, path)| format!("{}{path}", state.https));
        let kept = &lock(&state.kept).1;
        let mut object = json!({
            "base_url": state.base_url,
            "gateway_url": state.gateway,
            "page_url": format!("{}/", state.page),
            "https_url": state.https,
            "ca_sha256": fingerprint(&state.authority.der),
            "client_id": kept.client_id,
            "livemode": false,
            "lists": { "pid": pid, "mdl": mdl },
            "phone_ca_sha256": state.phone_authority.as_ref().map(|ca| fingerprint(&ca.der)),
            "credential_issuers": {
                "plain": format!("{}/vci", state.base_url),
                "attested": format!("{}/vci-attested", state.base_url),
            },
        });
        if let (true, Some(members)) = (self.is_new, object.as_object_mut()) {
            members.insert("api_key".into(), kept.api_key.as_str().into());
            members.insert("signing_secret".into(), kept.signing_secret.as_str().into());
        }
        format!("{object}\n")
    }

    /// The description for people.
    fn words(&self, folder: &Folder) -> String {
        let state = &self.state;
        let kept = lock(&state.kept).1.clone();
        let keys = match self.is_new {
            true => format!(
                "  api_key         {}\n  signing_secret  {}\n\nThese keys are not shown again.",
                kept.api_key, kept.signing_secret
            ),
            false => format!(
                "\nThe keys were shown at the first start; API_KEY is `api_key` in {}.",
                Path::new(folder.text()).join(SANDBOX_FILE).display()
            ),
        };
        let phone_ca = match &state.phone_authority {
            Some(ca) => format!("  CA for phones   SHA-256 {}\n", fingerprint(&ca.der)),
            None => String::new(),
        };
        // In double quotes, because the shell must expand the variable.
        let key = if self.is_new { kept.api_key.as_str() } else { "$API_KEY" };
        let [ask, ..] = &asks::ASKS;
        let ends = match folder.is_thrown_away() {
            true => "deleted on Ctrl-C; --data-dir keeps it",
            false => "kept",
        };
        format!(
            "A sandbox, for development only. Its issuers are samples; nothing they attest is real.\n\n  \
             gateway         {}\n  page            {}/\n  https           {}\n  its CA          SHA-256 {}\n{phone_ca}  \
             folder          {} ({ends})\n  client_id       {}\n{keys}\n\n\
             Create a session, here or on the page:\n\n  curl -s {}/v1/sessions \\\n    \
             -H \"Authorization: Bearer {key}\" -H 'Content-Type: application/json' \\\n    -d '{}'\n\n\
             Answer it on the page, with a phone (--lan), or from a shell:\n\n  \
             idgate sandbox wallet 'openid4vp://…' --do accept\n\n\
             Put a sample into a wallet on a phone, from another shell (docs/phones.md):\n\n  \
             idgate sandbox offer pid\n\nlistening on {}\n",
            state.base_url,
            state.page,
            state.https,
            fingerprint(&state.authority.der),
            folder.text(),
            kept.client_id,
            state.gateway,
            ask.shown(&state.profiles),
            state.base_url,
        )
    }
}
