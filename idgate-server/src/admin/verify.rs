//! `idgate verify`: verifies one captured presentation, or the answer to a query, offline. Prints
//! the tree of checks with their clauses, passed and failed.

mod dcql;
mod mdoc;
mod outcome;
mod query;
mod trust;

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use idgate_core::crypto::aws_lc_rs::PROVIDER;
use idgate_core::limits::MAX_TTL_MS;
use idgate_core::shell::{DcApiPages, ExpectedSdJwtVc, verify_sd_jwt_vc};
use idgate_core::verify::CredentialReport;
use idgate_core::{CredentialFormat, UnixMillis};

use crate::admin::files::in_file;
use crate::admin::output::Output;
use crate::failure::Failure;

/// The options of `idgate verify`.
#[derive(Args, Clone, Debug)]
pub struct VerifyOptions {
    /// The presentation, as sent by the wallet in vp_token; a DeviceResponse may also be CBOR. With
    /// --dcql: the whole vp_token, a JSON object.
    file: PathBuf,
    /// The format of the presentation: dc+sd-jwt or vc+sd-jwt (the same), or mso_mdoc.
    #[arg(long, value_name = "FORMAT", required_unless_present = "dcql")]
    format: Option<String>,
    /// The dcql_query that the vp_token answers, with formats, types and claims.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["format", "vct", "doc_type", "apu"])]
    dcql: Option<PathBuf>,
    /// The nonce of the request.
    #[arg(long, allow_hyphen_values = true, required_unless_present = "encryption_info")]
    nonce: Option<String>,
    /// The client_id of the request, exactly as sent.
    #[arg(
        long,
        value_name = "CLIENT_ID",
        allow_hyphen_values = true,
        required_unless_present = "origin"
    )]
    client_id: Option<String>,
    /// The origin of the page, if the answer came through its browser (dc_api.jwt), for example
    /// `https://shop.example`.
    #[arg(
        long,
        value_name = "ORIGIN",
        allow_hyphen_values = true,
        conflicts_with_all = ["client_id", "response_uri", "apu"]
    )]
    origin: Option<String>,
    /// mso_mdoc, with --origin, for an answer of ISO/IEC TS 18013-7 Annex C (org-iso-mdoc):
    /// encryptionInfo of the request, as sent. The file is the `response` that the page got, or its
    /// decrypted content.
    #[arg(
        long,
        value_name = "TEXT",
        allow_hyphen_values = true,
        requires = "origin",
        conflicts_with_all = ["nonce", "dcql", "client_id", "response_uri", "apu"]
    )]
    encryption_info: Option<String>,
    /// mso_mdoc: the response_uri of the request, exactly as sent.
    #[arg(long, value_name = "URI", allow_hyphen_values = true)]
    response_uri: Option<String>,
    /// mso_mdoc: the key that the answer was encrypted to, a JWK; a device MAC and an encrypted
    /// answer need its `d`.
    #[arg(long, value_name = "FILE")]
    enc_key: Option<PathBuf>,
    /// mso_mdoc: `apu` in the header of the encrypted answer, unchanged.
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    apu: Option<String>,
    /// mso_mdoc: the requested document type.
    #[arg(
        long,
        value_name = "TYPE",
        default_value = mdoc::DEFAULT_DOC_TYPE,
        allow_hyphen_values = true
    )]
    doc_type: String,
    /// vc+sd-jwt: the issuer's public key: a JWK or a PEM file. Repeatable.
    #[arg(long, value_name = "FILE")]
    issuer_key: Vec<PathBuf>,
    /// X.509 roots, PEM or DER; with vc+sd-jwt those of `x5c`. Repeatable.
    #[arg(long, value_name = "FILE")]
    root: Vec<PathBuf>,
    /// A signer's certificate, pinned: trusted by itself, PEM or DER. Repeatable.
    #[arg(long, value_name = "FILE")]
    pinned_signer: Vec<PathBuf>,
    /// A CRL of one of the roots, PEM or DER. Repeatable.
    #[arg(long, value_name = "FILE")]
    crl: Vec<PathBuf>,
    /// mso_mdoc: an extended key usage of document signers. Repeatable.
    #[arg(long, value_name = "OID")]
    eku: Vec<String>,
    /// vc+sd-jwt: an extended key usage; the issuer's certificate must have one of those named.
    /// Repeatable.
    #[arg(long, value_name = "OID")]
    sd_jwt_eku: Vec<String>,
    /// vc+sd-jwt: the required value of `iss`; without it, `iss` is not compared.
    #[arg(long, value_name = "VALUE", allow_hyphen_values = true)]
    iss: Option<String>,
    /// vc+sd-jwt: an accepted type; without it, any type. Repeatable.
    #[arg(long, value_name = "TYPE", allow_hyphen_values = true)]
    vct: Vec<String>,
    /// The revocation policy: required, if_published or off.
    #[arg(long, value_name = "POLICY", default_value = "if_published")]
    revocation: String,
    /// The time of verification in RFC 3339; without it, now.
    #[arg(long, value_name = "TIME")]
    at: Option<String>,
    /// mso_mdoc, with --test: accept an mDL whose issuing_country is not its signer's; the result
    /// says so.
    #[arg(long, requires = "test")]
    issuing_country_unbound: bool,
    /// Verify as in a test-mode session, which tolerates more in a document signer.
    #[arg(long)]
    test: bool,
}

impl VerifyOptions {
    /// The audience of the holder's proof: the client, or the page that asked (OpenID4VP A.4).
    fn audience(&self) -> String {
        match &self.origin {
            Some(origin) => format!("origin:{origin}"),
            None => self.client_id.clone().unwrap_or_default(),
        }
    }

    /// The nonce of the request; empty with --encryption-info.
    fn nonce(&self) -> &str {
        self.nonce.as_deref().unwrap_or_default()
    }

    /// The same options with the origin as browsers write it.
    fn with_origin(&self) -> Result<Self, Failure> {
        let mut options = self.clone();
        if let Some(origin) = &mut options.origin {
            let page = DcApiPages::origin(origin);
            *origin = page.map_err(|why| Failure::Usage(format!("--origin {origin}: {why}")))?;
        }
        Ok(options)
    }
}

/// Verifies the file. A refusal is a result, not an error.
///
/// # Errors
/// An option cannot be used; the text says which and what to do.
pub fn run(options: &VerifyOptions, now: UnixMillis) -> Result<Output, Failure> {
    let at = match &options.at {
        None => now,
        Some(text) => UnixMillis::parse_rfc3339(text).ok_or_else(|| {
            Failure::Usage(format!("--at {text}: write a time such as 2026-11-21T12:00:00Z"))
        })?,
    };
    let options = &options.with_origin()?;
    if let Some(query) = &options.dcql {
        return dcql::verify(options, query, at);
    }
    let format = options.format.as_deref().unwrap_or_default();
    match CredentialFormat::from_name(format) {
        Some(CredentialFormat::SdJwtVc) if options.encryption_info.is_some() => {
            Err(Failure::Usage("--encryption-info is for mso_mdoc".into()))
        }
        Some(CredentialFormat::SdJwtVc) => sd_jwt_vc(options, at),
        Some(CredentialFormat::Mdoc) => mdoc::verify(options, at),
        _ => Err(Failure::Usage(format!(
            "--format {format}: write dc+sd-jwt, vc+sd-jwt or mso_mdoc"
        ))),
    }
}

fn sd_jwt_vc(options: &VerifyOptions, at: UnixMillis) -> Result<Output, Failure> {
    let issuer = trust::sd_jwt_issuer(options)?;
    let text = read_text(&options.file)?;
    // No session lives longer than a day, so no valid proof is older.
    let requested_at = at.minus(MAX_TTL_MS);
    let audience = options.audience();
    let mut expected = ExpectedSdJwtVc::new(&issuer, &audience, options.nonce(), requested_at, at);
    expected.livemode = !options.test;
    let mut report = CredentialReport::default();
    let result = verify_sd_jwt_vc(&PROVIDER, text.trim(), &expected, &mut report);
    Ok(outcome::tell(&report, &result))
}

fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    fs::read(path).map_err(|error| in_file(path, error))
}

fn read_text(path: &Path) -> Result<String, Failure> {
    fs::read_to_string(path).map_err(|error| in_file(path, error))
}
