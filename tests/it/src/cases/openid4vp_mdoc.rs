//! mdoc in OpenID4VP 1.0: the tamper table by value and under HAIP.

use serde_json::{Value, json};

use super::mdoc::{entries, entry};
use super::ways::{Asked, BY_VALUE, HAIP};
use crate::mdoc_tamper::{Authority, mdl, v1_0};
use crate::tamper::scenario::NOW_MS;

/// Every row in each request form.
pub(super) fn all() -> Vec<Value> {
    let ways = [BY_VALUE, HAIP].into_iter();
    ways.flat_map(|way| {
        v1_0::rows().map(move |row| {
            let authority = Authority::new(NOW_MS);
            let asked = Asked::new(&[entry(&authority)], way, asking());
            let body = v1_0::answer(&authority, &asked.request(), row.change, NOW_MS);
            asked.record(&format!("mdoc, {}, {}", way.name, row.title), &entries(&authority), &body)
        })
    })
    .collect()
}

fn asking() -> Value {
    let credentials = [mdl(&["family_name", "age_over_18"])];
    json!({ "credentials": credentials, "redirect_uri": "https://shop.example/back" })
}

#[cfg(test)]
mod tests {
    use super::super::cases_of;
    use super::super::page::all_hold;
    use super::*;

    #[test]
    fn every_row_gives_its_code() {
        all_hold(
            cases_of("openid4vp_mdoc"),
            v1_0::rows().chain(v1_0::rows()).map(|row| row.expected),
        );
    }
}
