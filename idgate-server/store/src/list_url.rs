//! The URLs that lists are fetched from.

use url::Url;

/// Returns the URL of a list in its normal spelling, without a fragment. The newest number seen is
/// stored by URL, so another spelling must not be another source.
///
/// # Errors
/// The reason follows "a URL that".
pub fn list_url(text: &str) -> Result<String, &'static str> {
    let mut url = Url::parse(text).map_err(|_| "cannot be read")?;
    if url.scheme() != "https" || url.host_str().is_none() {
        return Err("is not an https URL");
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err("has a user name");
    }
    url.set_fragment(None);
    Ok(url.into())
}
