//! Each call of this session as a shell command.

use idgate_server::http::Html;

use super::Known;
use crate::console::parts::{command, folded, quoted};
use crate::state::State;

pub(super) fn write(html: &mut Html, state: &State, known: &Known) {
    let (gateway, id) = (&state.gateway, &known.line.id);
    let key = "-H \"Authorization: Bearer $API_KEY\"";
    let read = |below: &str| format!("curl -s {gateway}/v1/sessions/{id}{below} \\\n  {key}");
    html.raw(
        "<p class=\"soft\"><a href=\"/keys\">Keys and curl</a> sets <code>API_KEY</code>.</p>",
    );
    command(html, "Read the session", &read(""));
    if known.line.status == "FAILED" {
        command(html, "Read why it was refused", &read("/report"));
    }
    let Some(asked) = &known.remembered.asked else { return };
    let body = quoted(&folded(&asked.body));
    let made = format!(
        "curl -s {gateway}/v1/sessions \\\n  {key} -H 'Content-Type: application/json' \\\n  -d {body}"
    );
    command(html, "Create the same session again", &made);
    let deed = known.remembered.answers.first().map_or("accept", |answer| answer.deed);
    let wallet = format!("idgate sandbox wallet {} --do {deed}", quoted(&asked.link));
    command(html, "Answer it from the shell", &wallet);
    let delete = format!("curl -s -X DELETE {gateway}/v1/sessions/{id} \\\n  {key}");
    command(html, "Delete the session", &delete);
}
