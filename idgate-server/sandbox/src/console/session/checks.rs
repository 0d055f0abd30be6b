//! The rules by which an answer was checked, each with its clause.

use idgate_server::http::Html;
use serde_json::Value;

use super::Known;
use crate::console::parts::{CROSS, TICK, counted, icon, member, nothing, time, verdict};
use crate::console::words::capital;

pub(super) fn write(html: &mut Html, known: &Known) {
    let Some(report) = &known.report else { return without_report(html, known) };
    let (all, failed) = count(report);
    match &known.line.reason {
        Some(reason) => refused(html, known, reason, (all, failed)),
        None => accepted(html, known, all),
    }
    html.raw("<div class=\"wrap\" tabindex=\"0\" role=\"region\" aria-label=\"Checks\"><table><thead><tr>");
    html.raw(
        "<th scope=\"col\">Result</th><th scope=\"col\">Rule</th><th scope=\"col\">Clause</th>",
    );
    html.raw("</tr></thead>");
    group(html, "Answer", array(report, "answer"));
    for credential in array(report, "credentials") {
        let id = member(credential, "id");
        group(html, &format!("Credential {id}"), array(credential, "checks"));
    }
    html.raw("</table></div>");
    if failed > 0 {
        html.raw("<p class=\"soft small\">Some checks after the failed one were not made.</p>");
    }
}

/// The number of checks, and how many failed.
pub(super) fn count(report: &Value) -> (usize, usize) {
    let of_credentials = array(report, "credentials").iter().flat_map(|it| array(it, "checks"));
    let all: Vec<&Value> = array(report, "answer").iter().chain(of_credentials).collect();
    (all.len(), all.iter().filter(|check| !has_passed(check)).count())
}

fn array<'v>(value: &'v Value, name: &str) -> &'v [Value] {
    value.get(name).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

fn has_passed(check: &Value) -> bool {
    check.get("passed") == Some(&Value::Bool(true))
}

fn refused(html: &mut Html, known: &Known, reason: &str, (all, failed): (usize, usize)) {
    verdict(html, "bad", |html| {
        html.raw("<p><b>").text(reason).raw("</b>: ").text(&failed.to_string()).raw(" of ");
        html.text(&counted(all, "check")).raw(" failed.</p><p class=\"small\">");
        let posted = known.remembered.settling_answer();
        if let Some(told) = posted.and_then(|answer| told(&answer.said)) {
            html.raw("The wallet received only the error <code>").text(&told).raw("</code>. ");
        }
        html.raw(
            "You can read this report for 24 hours, with the scope <code>audit:read</code>.</p>",
        );
    });
}

fn accepted(html: &mut Html, known: &Known, all: usize) {
    verdict(html, "", |html| {
        html.raw("<p><b>VERIFIED</b>: each of ").text(&counted(all, "check")).raw(" passed.</p>");
        html.raw(
            "<p class=\"small\">The gateway does not store the report on an accepted answer. ",
        );
        if let Some(kept) = &known.remembered.report {
            html.raw("This console keeps it in memory for 15 minutes, from ").text(&time(kept.at));
            html.raw(" UTC.");
        }
        html.raw("</p>");
    });
}

/// The error code in the gateway's reply to a wallet.
fn told(said: &str) -> Option<String> {
    let (_, reply) = said.split_once(' ')?;
    let reply: Value = serde_json::from_str(reply).ok()?;
    Some(member(&reply, "error").to_owned()).filter(|error| !error.is_empty())
}

fn without_report(html: &mut Html, known: &Known) {
    let (title, text) = match (&*known.line.status, known.line.reason.as_deref()) {
        ("VERIFIED", _) => (
            "The report is no longer here.",
            "The gateway does not store the report on an accepted answer; this console keeps it for 15 minutes.",
        ),
        ("EXPIRED", _) => {
            ("No wallet answered.", "The session expired before there was anything to check.")
        }
        ("FAILED", Some("wallet_error" | "cancelled")) => (
            "There was nothing to check.",
            "The wallet sent an error in place of credentials, or the person cancelled on the page.",
        ),
        ("FAILED", _) => (
            "There is no report.",
            "A gateway keeps the report on a refusal for 24 hours, or until the session is deleted.",
        ),
        _ => (
            "No answer yet.",
            "After an answer this tab lists each rule, the clause of its standard, and whether it passed.",
        ),
    };
    nothing(html, title, text);
}

/// Capitalizes a text, unless it begins with a term of a standard, for example `alg`.
fn sentence(text: &str) -> String {
    const WORDS: [&str; 11] =
        ["the", "a", "an", "each", "every", "no", "one", "all", "issuer", "nothing", "there"];
    let first = text.split(' ').next().unwrap_or_default();
    if WORDS.contains(&first) { capital(text) } else { text.to_owned() }
}

fn group(html: &mut Html, title: &str, checks: &[Value]) {
    if checks.is_empty() {
        return;
    }
    html.raw("<tbody><tr><th scope=\"rowgroup\" colspan=\"3\">").text(title).raw("</th></tr>");
    for check in checks {
        let (has_passed, text) = (has_passed(check), |name: &str| member(check, name));
        html.raw(if has_passed {
            "<tr><td class=\"ok\">"
        } else {
            "<tr class=\"failed\"><td class=\"no\">"
        });
        icon(html, if has_passed { TICK } else { CROSS });
        html.raw(if has_passed { " pass" } else { " fail" })
            .raw("</td><td>")
            .text(&sentence(text("rule")));
        if !text("detail").is_empty() {
            html.raw("<span class=\"soft\">").text(&sentence(text("detail"))).raw("</span>");
        }
        html.raw("</td><td class=\"clause\">").text(text("clause")).raw("</td></tr>");
    }
    html.raw("</tbody>");
}
