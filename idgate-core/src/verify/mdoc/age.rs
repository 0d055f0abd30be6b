//! Age statements (ISO/IEC 18013-5 7.2.5): a person over 21 is over 18, and a person not over 16 is
//! not over 18. An issuer attests some of them; the nearest one answers the request.

/// The age in `age_over_NN`, which always has two digits.
fn age(name: &str) -> Option<u8> {
    match name.strip_prefix("age_over_")?.as_bytes() {
        [tens @ b'0'..=b'9', ones @ b'0'..=b'9'] => Some((tens - b'0') * 10 + (ones - b'0')),
        _ => None,
    }
}

/// The statement among `attested` that answers `requested`, and its value. A denial takes
/// precedence over an assertion: contradictory statements never make a person older.
pub(super) fn settle<'a>(
    requested: &str,
    attested: impl Iterator<Item = (&'a str, bool)>,
) -> Option<(&'a str, bool)> {
    let asked = age(requested)?;
    let mut nearest: [Option<(u8, &str)>; 2] = [None, None];
    let [denial, assertion] = &mut nearest;
    for (name, over) in attested {
        let Some(years) = age(name) else { continue };
        if over && years >= asked && assertion.is_none_or(|(best, _)| years < best) {
            *assertion = Some((years, name));
        }
        if !over && years <= asked && denial.is_none_or(|(best, _)| years > best) {
            *denial = Some((years, name));
        }
    }
    let said = |statement: Option<(u8, &'a str)>, over| statement.map(|(_, name)| (name, over));
    said(*denial, false).or(said(*assertion, true))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settled(requested: &str, attested: &[(&'static str, bool)]) -> Option<(&'static str, bool)> {
        settle(requested, attested.iter().copied())
    }

    #[test]
    fn the_nearest_statement_answers() {
        let attested = [
            ("age_over_12", false),
            ("age_over_14", false),
            ("age_over_65", true),
            ("age_over_21", true),
        ];
        assert_eq!(settled("age_over_18", &attested[2..]), Some(("age_over_21", true)));
        assert_eq!(settled("age_over_21", &attested[2..]), Some(("age_over_21", true)));
        assert_eq!(settled("age_over_22", &attested[2..]), Some(("age_over_65", true)));
        assert_eq!(settled("age_over_18", &attested[..2]), Some(("age_over_14", false)));
    }

    #[test]
    fn statements_on_the_wrong_side_answer_nothing() {
        assert_eq!(settled("age_over_18", &[("age_over_16", true), ("age_over_21", false)]), None);
        assert_eq!(settled("age_over_18", &[]), None);
    }

    #[test]
    fn a_contradiction_is_a_denial() {
        let attested = [("age_over_21", true), ("age_over_16", false)];
        assert_eq!(settled("age_over_18", &attested), Some(("age_over_16", false)));
    }

    #[test]
    fn an_age_has_exactly_two_digits() {
        let others: [&'static str; 7] = [
            "age_over_",
            "age_over_1",
            "age_over_018",
            "age_over_1a",
            "age_over_+1",
            "AGE_OVER_18",
            "family_name",
        ];
        for name in others {
            assert_eq!(settled(name, &[("age_over_99", true)]), None, "{name}");
            assert_eq!(settled("age_over_00", &[(name, true)]), None, "{name}");
        }
    }
}
