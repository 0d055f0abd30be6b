//! `idgate client set` and `idgate client origin`

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use idgate_core::UnixMillis;
use idgate_core::shell::DcApiPages;
use serde_json::json;

use super::no_such_client;
use crate::accent::{Accent, Colour};
use crate::admin::output::{Output, check_name};
use crate::config::rules;
use crate::failure::Failure;
use crate::limits::{MAX_LOGO_BYTES, MAX_ORIGINS};
use idgate_store::{ClientChange, Logo, OperatorStore};

/// The options of `idgate client set`.
#[derive(Args, Debug)]
pub struct SetArgs {
    /// The client's id, from `client list`
    id: String,
    /// Its name, in lists and on pages
    #[arg(long)]
    name: Option<String>,
    /// The logo on its pages: a PNG, JPEG or WebP of at most 128 KiB
    #[arg(long, value_name = "FILE")]
    logo: Option<PathBuf>,
    /// The colour of buttons and links on its pages, #rrggbb, or `default`. It is made darker or
    /// lighter until text is readable
    #[arg(long, value_name = "COLOUR")]
    accent: Option<String>,
    /// The privacy link of its pages, https, or `default` for the operator's
    #[arg(long, value_name = "URL")]
    privacy_url: Option<String>,
    /// The help link of its pages, https, or `default` for the operator's
    #[arg(long, value_name = "URL")]
    help_url: Option<String>,
    /// `keys=N` or `open_sessions=N`; `default` in place of N takes the value of the settings
    #[arg(long = "quota", value_name = "NAME=N")]
    quotas: Vec<String>,
}

/// Commands on the origins of a client's own pages.
#[derive(Debug, Subcommand)]
pub enum OriginCommand {
    /// Add an origin, such as https://shop.example
    Add {
        /// The client's id, from `client list`
        id: String,
        /// Scheme, host and, unless it is the default, port. For an Android application:
        /// android:apk-key-hash: and the hash of its certificate
        origin: String,
    },
    /// Remove an origin
    Remove {
        /// The client's id, from `client list`
        id: String,
        /// The origin
        origin: String,
    },
}

/// Changes a client.
///
/// # Errors
/// Nothing was changed; the failure says why.
pub(super) fn set(args: &SetArgs, store: &mut OperatorStore) -> Result<Output, Failure> {
    let mut change = ClientChange { name: args.name.clone(), ..ClientChange::default() };
    if let Some(name) = &args.name {
        check_name("--name", name, 100)?;
    }
    change.logo = args.logo.as_deref().map(logo).transpose()?;
    change.accent = args.accent.as_deref().map(accent).transpose()?;
    change.privacy_url =
        args.privacy_url.as_deref().map(|url| link("--privacy-url", url)).transpose()?;
    change.help_url = args.help_url.as_deref().map(|url| link("--help-url", url)).transpose()?;
    for quota in &args.quotas {
        let wrong = || {
            Failure::Usage(format!(
                "--quota {quota}: write keys=N or open_sessions=N, with a number or `default` for N"
            ))
        };
        let (name, number) = quota.split_once('=').ok_or_else(wrong)?;
        let number = match number {
            "default" => None,
            digits if digits.bytes().all(|byte| byte.is_ascii_digit()) => {
                Some(digits.parse().map_err(|_| wrong())?)
            }
            _ => return Err(wrong()),
        };
        match name {
            "keys" => change.max_keys = Some(number),
            "open_sessions" => change.max_open_sessions = Some(number),
            _ => return Err(wrong()),
        }
    }
    if !store.set_client(&args.id, &change)? {
        return Err(no_such_client(&args.id));
    }
    show(store, &args.id)
}

/// Carries out `command`.
///
/// # Errors
/// Nothing was changed; the failure says why.
pub(super) fn origin(
    command: OriginCommand,
    store: &mut OperatorStore,
    now: UnixMillis,
) -> Result<Output, Failure> {
    match command {
        OriginCommand::Add { id, origin } => {
            let origin = parse_origin(&origin)?;
            let settings = store.client_settings(&id)?.ok_or_else(|| no_such_client(&id))?;
            if settings.origins.len() >= MAX_ORIGINS && !settings.origins.contains(&origin) {
                return Err(Failure::Error(format!(
                    "{id} already has {MAX_ORIGINS} origins; remove one first"
                )));
            }
            let added = store.add_origin(&id, &origin, now)?;
            let mut output = show(store, &id)?;
            if !added {
                output.warnings.push(format!("{id} already has the origin {origin}"));
            }
            Ok(output)
        }
        OriginCommand::Remove { id, origin } => {
            let known = store.client_settings(&id)?.ok_or_else(|| no_such_client(&id))?.origins;
            // The stored spelling, or the given one if it cannot be parsed.
            let origin = parse_origin(&origin).unwrap_or(origin);
            if !store.remove_origin(&id, &origin)? {
                return Err(Failure::NotFound(format!(
                    "{id} does not have the origin {origin}; it has: {}",
                    if known.is_empty() { "none".to_owned() } else { known.join(", ") }
                )));
            }
            show(store, &id)
        }
    }
}

fn show(store: &OperatorStore, id: &str) -> Result<Output, Failure> {
    let settings = store.client_settings(id)?.ok_or_else(|| no_such_client(id))?;
    let usual = |quota: Option<u64>| quota.map_or("default".to_owned(), |n| n.to_string());
    let quotas = settings.quotas;
    let chosen = settings.accent.as_deref().and_then(Colour::parse).map(Accent::of);
    let colours = chosen.map_or("default".to_owned(), |Accent { light, dark }| {
        let chosen = settings.accent.as_deref().unwrap_or_default();
        format!("{chosen}, shown as {} and in dark as {}", light.accent, dark.accent)
    });
    let text = format!(
        "{id}  {}\nlogo: {}\naccent: {colours}\nprivacy: {}\nhelp: {}\n\
         quotas: keys={} open_sessions={}\norigins: {}\n",
        settings.name,
        settings.logo_type.as_deref().unwrap_or("none"),
        settings.privacy_url.as_deref().unwrap_or("default"),
        settings.help_url.as_deref().unwrap_or("default"),
        usual(quotas.keys),
        usual(quotas.open_sessions),
        if settings.origins.is_empty() { "none".to_owned() } else { settings.origins.join(" ") },
    );
    let json = json!({
        "client_id": id,
        "name": settings.name,
        "logo": settings.logo_type,
        "accent": settings.accent,
        "accent_shown": chosen.map(|Accent { light, dark }| {
            json!({ "light": light.accent.to_string(), "dark": dark.accent.to_string() })
        }),
        "privacy_url": settings.privacy_url,
        "help_url": settings.help_url,
        "quotas": { "keys": quotas.keys, "open_sessions": quotas.open_sessions },
        "origins": settings.origins,
    });
    Ok(Output::new(json, text))
}

fn logo(path: &Path) -> Result<Logo, Failure> {
    let shown = path.display();
    let bytes = std::fs::read(path)
        .map_err(|error| Failure::Error(format!("--logo: {shown} cannot be read: {error}")))?;
    if bytes.len() > MAX_LOGO_BYTES {
        return Err(Failure::Usage(format!("--logo: {shown} is larger than 128 KiB")));
    }
    let media_type = match &*bytes {
        [0x89, b'P', b'N', b'G', 0x0d, 0x0a, 0x1a, 0x0a, ..] => "image/png",
        [0xff, 0xd8, 0xff, ..] => "image/jpeg",
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => "image/webp",
        _ => return Err(Failure::Usage(format!("--logo: {shown} is not a PNG, JPEG or WebP"))),
    };
    Ok(Logo { media_type, bytes })
}

/// The stored form; `None`: the default colour.
fn accent(text: &str) -> Result<Option<String>, Failure> {
    if text == "default" {
        return Ok(None);
    }
    let colour = Colour::parse(text).ok_or_else(|| {
        Failure::Usage(format!("--accent {text}: write a colour such as #0b5d70, or `default`"))
    })?;
    Ok(Some(colour.to_string()))
}

/// The stored form; `None`: the operator's address.
fn link(flag: &str, text: &str) -> Result<Option<String>, Failure> {
    if text == "default" {
        return Ok(None);
    }
    match rules::page_link(text) {
        Ok(url) => Ok(Some(url)),
        Err(why) => Err(Failure::Usage(format!("{flag} {text}: {why}"))),
    }
}

/// The origin as browsers write it.
fn parse_origin(text: &str) -> Result<String, Failure> {
    DcApiPages::origin(text).map_err(|error| {
        Failure::Usage(format!("{text}: {error}; write an origin such as https://shop.example"))
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use super::*;
    use crate::admin::fixture::{NOW, store};

    #[test]
    fn an_origin_is_stored_as_browsers_write_it() {
        let app = format!("android:apk-key-hash:{}", "A".repeat(43));
        for (text, origin) in [
            (&*app, &*app),
            ("https://Shop.Example", "https://shop.example"),
            ("https://shop.example:443/", "https://shop.example"),
            ("https://shop.example:8443", "https://shop.example:8443"),
            ("https://b\u{fc}cher.example", "https://xn--bcher-kva.example"),
            ("http://localhost:3000", "http://localhost:3000"),
            ("http://127.0.0.1:3000", "http://127.0.0.1:3000"),
        ] {
            assert_eq!(parse_origin(text).unwrap(), origin);
        }
        for bad in [
            "shop.example",
            "http://shop.example",
            "http://shop.localhost",
            "android:apk-key-hash:AAAA",
            "https://shop.example/page",
            "https://shop.example?x",
            "https://shop.example#x",
            "https://me@shop.example",
            "ftp://shop.example",
            "null",
            "",
        ] {
            assert_eq!(parse_origin(bad).unwrap_err().code(), 2, "{bad}");
        }
    }

    #[test]
    fn client_set_changes_only_what_it_names() {
        let (dir, mut store) = store();
        let id = store.create_client("shop", true, None, NOW).unwrap().client_id;
        let png = dir.path().join("logo.png");
        std::fs::write(&png, b"\x89PNG\r\n\x1a\nrest").unwrap();
        let args = |quotas: &[&str], logo: Option<PathBuf>| SetArgs {
            accent: None,
            privacy_url: None,
            help_url: None,
            id: id.clone(),
            name: None,
            logo,
            quotas: quotas.iter().map(|quota| (*quota).to_owned()).collect(),
        };
        set(&args(&["keys=7", "open_sessions=0"], Some(png)), &mut store).unwrap();
        let shown = set(&args(&["keys=default"], None), &mut store).unwrap().json;
        assert_eq!(shown["logo"], "image/png");
        assert_eq!(shown["quotas"], json!({ "keys": null, "open_sessions": 0 }));
        for bad in ["keys", "keys=", "keys=-1", "keys=x", "claims=1"] {
            assert_eq!(set(&args(&[bad], None), &mut store).unwrap_err().code(), 2, "{bad}");
        }
        let text = dir.path().join("logo.svg");
        std::fs::write(&text, b"<svg/>").unwrap();
        assert_eq!(set(&args(&[], Some(text)), &mut store).unwrap_err().code(), 2);
        for (bytes, taken) in [(MAX_LOGO_BYTES, true), (MAX_LOGO_BYTES + 1, false)] {
            let large = dir.path().join("large.png");
            std::fs::write(&large, [&b"\x89PNG\r\n\x1a\n"[..], &vec![0; bytes - 8]].concat())
                .unwrap();
            assert_eq!(set(&args(&[], Some(large)), &mut store).is_ok(), taken, "{bytes}");
        }
        let nobody = SetArgs { id: "cli_none".into(), ..args(&[], None) };
        assert_eq!(set(&nobody, &mut store).unwrap_err().code(), 4);
    }

    #[test]
    fn origins_are_added_once_and_removed() {
        let (_dir, mut store) = store();
        let id = store.create_client("shop", true, None, NOW).unwrap().client_id;
        let mut change = |add: bool, origin: &str| {
            let (id, origin) = (id.clone(), origin.to_owned());
            let command = if add {
                OriginCommand::Add { id, origin }
            } else {
                OriginCommand::Remove { id, origin }
            };
            self::origin(command, &mut store, NOW)
        };
        change(true, "https://shop.example").unwrap();
        let again = change(true, "https://SHOP.example:443").unwrap();
        assert_eq!(again.json["origins"], json!(["https://shop.example"]));
        assert_eq!(again.warnings.len(), 1);
        assert_eq!(change(false, "https://other.example").unwrap_err().code(), 4);
        assert_eq!(change(false, "https://shop.example").unwrap().json["origins"], json!([]));
    }
}
