//! The destination and the selection of spans, by OpenTelemetry's variables and with their
//! meanings.

use std::fmt;
use std::time::Duration;

use percent_encoding::percent_decode_str;
use url::{Host, Url};
use zeroize::Zeroizing;

use super::{Settings, located, optional, rules};
use idgate_base::spans::Sampler;

/// The default name of the gateway in traces.
const SERVICE_NAME: &str = "idgate";
/// The time for a request to the collector.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Headers of the message itself, which may not be configured.
const OURS: [&str; 6] = [
    "connection",
    "content-encoding",
    "content-length",
    "content-type",
    "host",
    "transfer-encoding",
];

/// The destination of spans, and which are recorded.
#[derive(Clone)]
pub struct Traces {
    /// The collector.
    pub endpoint: Url,
    /// Further headers for it, such as a token: names in lower case, and values.
    pub headers: Vec<(String, Zeroizing<String>)>,
    /// The time for one request to it.
    pub timeout: Duration,
    /// The gateway's name and further attributes.
    pub resource: Vec<(String, String)>,
    /// Which traces are recorded.
    pub sampler: Sampler,
}

impl Traces {
    /// Checks the settings; `None`: no collector is named, or traces are off.
    ///
    /// # Errors
    /// The text says what is wrong, where it is set and what to do.
    pub(super) fn new(settings: &Settings) -> Result<Option<Self>, String> {
        let whole = optional(settings, "otel_exporter_otlp_traces_endpoint", address)?;
        let base = optional(settings, "otel_exporter_otlp_endpoint", address)?;
        let headers = optional(settings, "otel_exporter_otlp_headers", headers)?;
        let timeout = optional(settings, "otel_exporter_otlp_timeout", timeout)?;
        let resource = resource(settings)?;
        let sampler = sampler(settings)?;
        optional(settings, "otel_exporter_otlp_protocol", protocol)?;
        let is_disabled = optional(settings, "otel_sdk_disabled", rules::yes_no)?.unwrap_or(false);
        let Some(endpoint) = whole.or_else(|| base.map(below)) else { return Ok(None) };
        let headers = headers.unwrap_or_default();
        if !headers.is_empty() && endpoint.scheme() == "http" && !is_loopback(&endpoint) {
            return Err(format!(
                "OTEL_EXPORTER_OTLP_HEADERS: would be sent to {} in the clear; write https:// in \
                 OTEL_EXPORTER_OTLP_ENDPOINT, or name a collector on this machine",
                endpoint.host_str().unwrap_or_default()
            ));
        }
        let timeout = timeout.unwrap_or(TIMEOUT);
        let traces = Self { endpoint, headers, timeout, resource, sampler };
        Ok((!is_disabled).then_some(traces))
    }
}

impl fmt::Debug for Traces {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Traces")
            .field("endpoint", &self.endpoint.as_str())
            .field("sampler", &self.sampler)
            .finish_non_exhaustive()
    }
}

fn address(text: &str) -> Result<Url, String> {
    let rule = "must be the URL of a collector, for example http://localhost:4318";
    let url = Url::parse(text).map_err(|_| rule.to_owned())?;
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none_or(str::is_empty) {
        return Err(rule.into());
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(
            "contains a user name or a password; put it into OTEL_EXPORTER_OTLP_HEADERS".into()
        );
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err(format!("{rule}, without query and fragment"));
    }
    Ok(url)
}

/// The URL for spans of the collector with this base URL.
fn below(mut base: Url) -> Url {
    let path = format!("{}/v1/traces", base.path().trim_end_matches('/'));
    base.set_path(&path);
    base
}

fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name.eq_ignore_ascii_case("localhost"),
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

fn headers(text: &str) -> Result<Vec<(String, Zeroizing<String>)>, String> {
    // The refusal never has the text, which may be a secret.
    let rule = "must be name=value, with commas between several, and %2C for a comma in a value";
    let mut headers = Vec::new();
    for (name, value) in pairs(text).ok_or(rule)? {
        let name = name.to_ascii_lowercase();
        let is_token =
            |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
        let is_text = |byte: u8| matches!(byte, b'\t' | b' '..=b'~');
        if !name.bytes().all(is_token) || !value.bytes().all(is_text) {
            return Err(rule.into());
        }
        if OURS.contains(&&*name) {
            return Err(format!("{name} is set by the gateway itself; remove it"));
        }
        headers.push((name, Zeroizing::new(value)));
    }
    Ok(headers)
}

/// `name=value,…`, with values as the header `baggage` encodes them.
fn pairs(text: &str) -> Option<Vec<(String, String)>> {
    let items = text.split(',').map(str::trim).filter(|item| !item.is_empty());
    let pair = |item: &str| {
        let (name, value) = item.split_once('=')?;
        let value = percent_decode_str(value.trim()).decode_utf8().ok()?;
        let name = name.trim();
        (!name.is_empty()).then(|| (name.to_owned(), value.into_owned()))
    };
    items.map(pair).collect()
}

/// Whole milliseconds.
fn timeout(text: &str) -> Result<Duration, String> {
    rules::whole(text, "milliseconds", 1..=60_000).map(Duration::from_millis)
}

fn resource(settings: &Settings) -> Result<Vec<(String, String)>, String> {
    let attributes = |text: &str| {
        pairs(text).ok_or_else(|| "must be name=value, with commas between several".to_owned())
    };
    let mut all = optional(settings, "otel_resource_attributes", attributes)?.unwrap_or_default();
    let name = optional(settings, "otel_service_name", |name| Ok(name.to_owned()))?;
    let named = all.iter().any(|(key, _)| key == "service.name");
    if let Some(name) = name.or_else(|| (!named).then(|| SERVICE_NAME.to_owned())) {
        all.retain(|(key, _)| key != "service.name");
        all.insert(0, ("service.name".to_owned(), name));
    }
    all.retain(|(key, _)| key != "service.version");
    all.push(("service.version".to_owned(), env!("CARGO_PKG_VERSION").to_owned()));
    Ok(all)
}

fn sampler(settings: &Settings) -> Result<Sampler, String> {
    let ratio = optional(settings, "otel_traces_sampler_arg", ratio)?;
    let named = optional(settings, "otel_traces_sampler", sampler_named)?;
    let (sampler, draws) = named.unwrap_or((Sampler { follows_parent: true, ratio: 1.0 }, false));
    match (ratio, settings.get("otel_traces_sampler_arg")) {
        (Some(_), Some(value)) if !draws => Err(located(
            "otel_traces_sampler_arg",
            &value.origin,
            "is for traceidratio and parentbased_traceidratio only; set OTEL_TRACES_SAMPLER to one of them",
        )),
        (Some(ratio), _) => Ok(Sampler { ratio, ..sampler }),
        (None, _) => Ok(sampler),
    }
}

/// The sampler, and whether it takes a ratio.
fn sampler_named(text: &str) -> Result<(Sampler, bool), String> {
    let (follows_parent, own) = match text.strip_prefix("parentbased_") {
        Some(own) => (true, own),
        None => (false, text),
    };
    let (ratio, draws) = match own {
        "always_on" => (1.0, false),
        "always_off" => (0.0, false),
        "traceidratio" => (1.0, true),
        _ => {
            return Err("must be always_on, always_off, traceidratio, parentbased_always_on, \
                        parentbased_always_off or parentbased_traceidratio"
                .into());
        }
    };
    Ok((Sampler { follows_parent, ratio }, draws))
}

fn ratio(text: &str) -> Result<f64, String> {
    let ratio = text.parse().ok().filter(|ratio| (0.0..=1.0).contains(ratio));
    ratio.ok_or_else(|| "must be a number from 0 to 1".into())
}

fn protocol(text: &str) -> Result<(), String> {
    match text {
        "http/protobuf" => Ok(()),
        _ => Err(
            "must be http/protobuf: set OTEL_EXPORTER_OTLP_ENDPOINT to the collector's port for \
                  it, usually 4318"
                .into(),
        ),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn of(pairs: &[(&str, &str)]) -> Result<Option<Traces>, String> {
        let environment = pairs.iter().map(|(name, value)| ((*name).into(), (*value).into()));
        Traces::new(&Settings::collect(&BTreeMap::new(), environment, None)?)
    }

    const ENDPOINT: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";
    const LOCAL: (&str, &str) = (ENDPOINT, "http://localhost:4318");

    #[test]
    fn without_a_collector_there_are_no_traces() {
        assert!(of(&[]).unwrap().is_none());
        assert!(of(&[("OTEL_SERVICE_NAME", "x"), (ENDPOINT, "")]).unwrap().is_none());
        assert!(of(&[LOCAL, ("OTEL_SDK_DISABLED", "true")]).unwrap().is_none());
        let traces = of(&[LOCAL, ("OTEL_SDK_DISABLED", "false")]).unwrap().unwrap();
        assert_eq!(traces.timeout, Duration::from_secs(10));
        assert_eq!(traces.sampler, Sampler { follows_parent: true, ratio: 1.0 });
        assert_eq!(traces.resource[0], ("service.name".into(), "idgate".into()));
    }

    #[test]
    fn spans_go_below_the_base_url_or_to_the_whole_url_unchanged() {
        for (base, expected) in [
            ("http://localhost:4318", "http://localhost:4318/v1/traces"),
            ("http://localhost:4318/", "http://localhost:4318/v1/traces"),
            ("https://c.example/otlp/", "https://c.example/otlp/v1/traces"),
        ] {
            let traces = of(&[(ENDPOINT, base)]).unwrap().unwrap();
            assert_eq!(traces.endpoint.as_str(), expected);
        }
        let whole = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "https://c.example/in");
        let traces = of(&[LOCAL, whole]).unwrap().unwrap();
        assert_eq!(traces.endpoint.as_str(), "https://c.example/in");
    }

    #[test]
    fn headers_are_decoded_and_never_sent_in_the_clear_nor_shown() {
        let headers = ("OTEL_EXPORTER_OTLP_HEADERS", "Authorization=Bearer%20a%2Cb, x-team=idp");
        let traces = of(&[LOCAL, headers]).unwrap().unwrap();
        let sent: Vec<_> =
            traces.headers.iter().map(|(name, value)| (&**name, value.as_str())).collect();
        assert_eq!(sent, [("authorization", "Bearer a,b"), ("x-team", "idp")]);
        assert!(!format!("{traces:?}").contains("Bearer"));
        let error = of(&[(ENDPOINT, "http://c.example:4318"), headers]).unwrap_err();
        assert!(error.contains("in the clear"), "{error}");
        assert!(of(&[(ENDPOINT, "https://c.example"), headers]).is_ok());
        assert!(of(&[(ENDPOINT, "http://c.example:4318")]).is_ok());
        for bad in ["s3cret", "=s3cret", "a b=s3cret", "a=s3cret%0A", "a=%ff", "host=s3cret"] {
            let error = of(&[LOCAL, ("OTEL_EXPORTER_OTLP_HEADERS", bad)]).unwrap_err();
            assert!(error.starts_with("OTEL_EXPORTER_OTLP_HEADERS: "), "{error}");
            assert!(!error.contains("s3cret"), "{error}");
        }
    }

    #[test]
    fn samplers_have_the_names_of_the_standard() {
        for (name, arg, follows_parent, ratio) in [
            ("always_on", "", false, 1.0),
            ("always_off", "", false, 0.0),
            ("traceidratio", "0.25", false, 0.25),
            ("traceidratio", "", false, 1.0),
            ("parentbased_always_on", "", true, 1.0),
            ("parentbased_always_off", "", true, 0.0),
            ("parentbased_traceidratio", "0.1", true, 0.1),
        ] {
            let set = [LOCAL, ("OTEL_TRACES_SAMPLER", name), ("OTEL_TRACES_SAMPLER_ARG", arg)];
            let traces = of(&set).unwrap().unwrap();
            assert_eq!(traces.sampler, Sampler { follows_parent, ratio }, "{name}");
        }
        let unused = [LOCAL, ("OTEL_TRACES_SAMPLER_ARG", "0.5")];
        assert!(of(&unused).unwrap_err().starts_with("OTEL_TRACES_SAMPLER_ARG: is for "));
    }

    #[test]
    fn the_service_name_comes_from_either_variable() {
        let attributes = ("OTEL_RESOURCE_ATTRIBUTES", "service.name=a,deployment=blue%20one");
        let resource = of(&[LOCAL, attributes]).unwrap().unwrap().resource;
        assert_eq!(resource[0], ("service.name".into(), "a".into()));
        assert_eq!(resource[1], ("deployment".into(), "blue one".into()));
        let resource =
            of(&[LOCAL, attributes, ("OTEL_SERVICE_NAME", "b")]).unwrap().unwrap().resource;
        let names: Vec<_> = resource.iter().filter(|(key, _)| key == "service.name").collect();
        assert_eq!(names, [&("service.name".to_owned(), "b".to_owned())]);
    }

    #[test]
    fn an_invalid_value_is_refused_by_name() {
        for (variable, bad) in [
            (ENDPOINT, "localhost:4318"),
            (ENDPOINT, "grpc://localhost:4317"),
            (ENDPOINT, "http://user:pass@localhost:4318"),
            (ENDPOINT, "http://localhost:4318/?a=b"),
            ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "/v1/traces"),
            ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"),
            ("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json"),
            ("OTEL_EXPORTER_OTLP_TIMEOUT", "0"),
            ("OTEL_EXPORTER_OTLP_TIMEOUT", "10s"),
            ("OTEL_SDK_DISABLED", "yes"),
            ("OTEL_TRACES_SAMPLER", "jaeger_remote"),
            ("OTEL_TRACES_SAMPLER", "parentbased_"),
            ("OTEL_TRACES_SAMPLER_ARG", "2"),
            ("OTEL_TRACES_SAMPLER_ARG", "NaN"),
            ("OTEL_RESOURCE_ATTRIBUTES", "blue"),
        ] {
            let error = of(&[(variable, bad)]).unwrap_err();
            assert!(error.starts_with(&format!("{variable}: ")), "{error}");
            assert!(!error.contains("pass@"), "{error}");
        }
    }
}
