//! The command line of the sandbox.

use std::net::{IpAddr, SocketAddr};

use clap::{Args, Subcommand};

use crate::offer::OfferOptions;
use crate::shell::WalletOptions;

/// The options of `idgate sandbox`. Its folder is the one of --data-dir, or a temporary one.
/// IDGATE_DATA_DIR and settings files are ignored, because they name the folder of a real gateway.
#[derive(Args, Debug)]
pub struct SandboxOptions {
    #[command(subcommand)]
    pub(super) command: Option<SandboxCommand>,
    /// Address of the console, the lists and the webhook receiver: a port of 127.0.0.1 [default:
    /// 127.0.0.1:8081]
    #[arg(long, value_name = "ADDRESS")]
    pub(super) page_listen: Option<SocketAddr>,
    /// Address of the sandbox's own https: a port of 127.0.0.1 [default: 127.0.0.1:8443]
    #[arg(long, value_name = "ADDRESS")]
    pub(super) https_listen: Option<SocketAddr>,
    /// Let phones on this network answer: links lead to the sandbox's https at this machine's
    /// address [default: the address of the outgoing route]
    #[arg(long, value_name = "ADDRESS", num_args = 0..=1, require_equals = true)]
    pub(super) lan: Option<Option<IpAddr>>,
    /// A host name of this machine, for the certificate and, with --lan, for links
    #[arg(long, value_name = "HOST")]
    pub(super) name: Option<String>,
}

#[derive(Debug, Subcommand)]
pub(super) enum SandboxCommand {
    /// Answer a session's link with the built-in wallet, on any gateway on this machine
    Wallet(WalletOptions),
    /// Offer a sample to a wallet on a phone, as QR code and link, from the running sandbox
    Offer(OfferOptions),
}

impl SandboxOptions {
    /// Whether any of the sandbox's own options is given; its commands do not accept them.
    pub(super) fn are_given(&self) -> bool {
        let Self { command: _, page_listen, https_listen, lan, name } = self;
        page_listen.is_some() || https_listen.is_some() || lan.is_some() || name.is_some()
    }
}
