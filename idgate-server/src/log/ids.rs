//! Adds the ids of the current span to each line, so that a line leads to its trace and back.

use std::fmt;

use tracing::{Event, Subscriber};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::registry::LookupSpan;

use crate::config::LogFormat;
use idgate_base::spans::{self, Parent};

/// Adds ids to the lines that `inner` formats as `format`.
pub(super) struct WithIds<F> {
    pub(super) inner: F,
    pub(super) format: LogFormat,
}

impl<S, N, F> FormatEvent<S, N> for WithIds<F>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
    F: FormatEvent<S, N>,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let Some(span) = spans::current() else {
            return self.inner.format_event(context, writer, event);
        };
        let mut line = String::new();
        self.inner.format_event(context, Writer::new(&mut line), event)?;
        writer.write_str(&with_ids(&line, self.format, &span))
    }
}

fn with_ids(line: &str, format: LogFormat, span: &Parent) -> String {
    let (trace_id, span_id) = span.ids();
    let whole = line.trim_end_matches('\n');
    match (format, whole.strip_suffix('}')) {
        (LogFormat::Json, Some(members)) => {
            format!("{members},\"trace_id\":\"{trace_id}\",\"span_id\":\"{span_id}\"}}\n")
        }
        _ => format!("{whole} trace_id={trace_id} span_id={span_id}\n"),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn lines_stay_lines_and_json_objects_stay_objects() {
        let (trace_id, span_id) = ("4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7");
        let span = Parent::parse(&format!("00-{trace_id}-{span_id}-01")).unwrap();
        let text = with_ids("INFO idgate: request status=200\n", LogFormat::Text, &span);
        let ids = format!("trace_id={trace_id} span_id={span_id}\n");
        assert_eq!(text, "INFO idgate: request status=200 ".to_owned() + &ids);
        let json = with_ids("{\"level\":\"INFO\",\"x\":\"}\"}\n", LogFormat::Json, &span);
        assert!(json.ends_with("}\n") && json.matches('\n').count() == 1, "{json}");
        let json: serde_json::Value = serde_json::from_str(&json).unwrap();
        let expected = serde_json::json!({"level": "INFO", "x": "}", "trace_id": trace_id, "span_id": span_id});
        assert_eq!(json, expected);
    }
}
