//! Conditions on disclosed values: a small part of JSON Schema that runs in linear time.
//!
//! A filter is a gate, so it is stricter than JSON Schema in one point: a keyword implies its type.
//! `{"minimum": 18}` refuses the string `"19"`, where JSON Schema would ignore the keyword and
//! accept every string.

mod dcql_values;

use alloc::borrow::Cow;
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;

use regex::RegexBuilder;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::codec::json::{Kind, Tape, Value};
use crate::error::RequestError;
use crate::limits::{MAX_PATTERN_BYTES, MAX_PATTERN_CHARS, MAX_PATTERN_TEXT_BYTES};
use crate::request::decimal::Decimal;
use crate::request::fields::Field;
use crate::request::json_value::JsonValue;
use crate::time::days_from_civil;

/// Keywords that are sent to wallets; a wallet would refuse or misread the others.
const WALLET_KEYWORDS: [&str; 6] = ["type", "const", "enum", "minimum", "maximum", "pattern"];

/// The filter of one claim: all its rules must hold. `{}` has none.
#[derive(Clone)]
pub struct ClaimFilter {
    /// The tenant's JSON without its white space. Snapshots store this text, so that no number is
    /// ever rounded.
    source: String,
    rules: Vec<Rule>,
}

#[derive(Clone)]
enum Rule {
    Type(Vec<JsonType>),
    OneOf(Vec<JsonValue>),
    Minimum(Decimal),
    Maximum(Decimal),
    ExclusiveMinimum(Decimal),
    ExclusiveMaximum(Decimal),
    MinLength(u64),
    MaxLength(u64),
    Pattern(String),
    Date,
    FormatMinimum(String),
    FormatMaximum(String),
}

#[derive(Clone, Copy, Eq, PartialEq)]
enum JsonType {
    Null,
    Boolean,
    Object,
    Array,
    Number,
    String,
    Integer,
}

impl ClaimFilter {
    /// Parses the tenant's JSON.
    pub(super) fn parse(field: &Field<'_, '_>) -> Result<Self, RequestError> {
        let filter = Self::read(field)?;
        if let Some(pattern) = field.member("pattern") {
            check_pattern(&pattern)?;
        }
        Ok(filter)
    }

    /// `{"const": true}`
    pub(super) fn is_true() -> Self {
        let rules = Vec::from([Rule::OneOf(Vec::from([JsonValue::Bool(true)]))]);
        Self { source: r#"{"const":true}"#.into(), rules }
    }

    /// Reads the rules without compiling patterns. They were compiled when the filter was received,
    /// and every read of a session calls this.
    fn read(field: &Field<'_, '_>) -> Result<Self, RequestError> {
        let mut rules = Vec::new();
        for (name, value) in field.members()? {
            let name = name.unescape();
            rules.push(parse_rule(&name, &Field::new(value, field.path_of(&name)), field)?);
        }
        let bounds_date =
            |rule: &Rule| matches!(rule, Rule::FormatMinimum(_) | Rule::FormatMaximum(_));
        if rules.iter().any(bounds_date) && !rules.iter().any(|rule| matches!(rule, Rule::Date)) {
            return Err(field.invalid("formatMinimum and formatMaximum need \"format\": \"date\""));
        }
        let mut source = String::new();
        field.value.write_compact(&mut source);
        Ok(Self { source, rules })
    }

    /// Whether a disclosed value meets every rule. A rule about numbers or strings implies that
    /// type, unless `type` also allows others: then it does not apply to those.
    pub(crate) fn matches(&self, value: Value<'_, '_>) -> bool {
        let allowed = self.rules.iter().find_map(|rule| match rule {
            Rule::Type(types) => Some(types.as_slice()),
            _ => None,
        });
        self.rules.iter().all(|rule| rule.matches(value, allowed.unwrap_or_default()))
    }

    /// The tenant's JSON text.
    pub(super) fn source(&self) -> &str {
        &self.source
    }

    /// The part that is sent to wallets, as JSON text; `None` if nothing is left.
    pub(crate) fn for_wallet(&self) -> Option<String> {
        let mut tape = Tape::default();
        let id = tape.parse(self.source.as_bytes()).ok()?;
        let mut text = String::new();
        for (name, value) in tape.value(id).members()? {
            if let Some(keyword) = WALLET_KEYWORDS.iter().find(|keyword| name.is(keyword)) {
                text.push(if text.is_empty() { '{' } else { ',' });
                text.push_str(&format!("\"{keyword}\":"));
                value.write_source(&mut text);
            }
        }
        if text.is_empty() {
            return None;
        }
        text.push('}');
        Some(text)
    }
}

impl fmt::Debug for ClaimFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ClaimFilter({} rules)", self.rules.len())
    }
}

impl Serialize for ClaimFilter {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.source)
    }
}

impl<'de> Deserialize<'de> for ClaimFilter {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let source = Cow::<'de, str>::deserialize(deserializer)?;
        let mut tape = Tape::default();
        let id = tape.parse(source.as_bytes()).map_err(de::Error::custom)?;
        Self::read(&Field::new(tape.value(id), "")).map_err(de::Error::custom)
    }
}

impl Rule {
    /// `allowed` has the types that the filter names.
    fn matches(&self, value: Value<'_, '_>, allowed: &[JsonType]) -> bool {
        let one_of = |own: &[JsonType]| own.iter().any(|own| allowed.contains(own));
        let number = |holds: &dyn Fn(Decimal) -> bool| match value.as_number() {
            Some(number) => holds(Decimal::parse(number)),
            None => one_of(&[JsonType::Number, JsonType::Integer]),
        };
        let string = |holds: &dyn Fn(&str) -> bool| match value.as_str() {
            Some(text) => holds(&text),
            None => one_of(&[JsonType::String]),
        };
        match self {
            Self::Type(types) => types.iter().any(|json_type| json_type.matches(value)),
            Self::OneOf(allowed) => allowed.contains(&JsonValue::from_value(value)),
            Self::Minimum(bound) => number(&|n| n >= *bound),
            Self::Maximum(bound) => number(&|n| n <= *bound),
            Self::ExclusiveMinimum(bound) => number(&|n| n > *bound),
            Self::ExclusiveMaximum(bound) => number(&|n| n < *bound),
            Self::MinLength(bound) => string(&|text| code_points(text) >= *bound),
            Self::MaxLength(bound) => string(&|text| code_points(text) <= *bound),
            Self::Pattern(pattern) => {
                // Linear time is the product of both sizes, so both are limited.
                string(&|text| {
                    text.len() <= MAX_PATTERN_TEXT_BYTES
                        && compile(pattern).is_ok_and(|regex| regex.is_match(text))
                })
            }
            Self::Date => string(&is_full_date),
            // Full dates have equal length, so texts sort like dates.
            Self::FormatMinimum(bound) => string(&|text| text >= bound.as_str()),
            Self::FormatMaximum(bound) => string(&|text| text <= bound.as_str()),
        }
    }
}

impl JsonType {
    fn from_name(name: &str) -> Option<Self> {
        match name {
            "null" => Some(Self::Null),
            "boolean" => Some(Self::Boolean),
            "object" => Some(Self::Object),
            "array" => Some(Self::Array),
            "number" => Some(Self::Number),
            "string" => Some(Self::String),
            "integer" => Some(Self::Integer),
            _ => None,
        }
    }

    fn matches(self, value: Value<'_, '_>) -> bool {
        match self {
            Self::Null => value.kind() == Kind::Null,
            Self::Boolean => value.kind() == Kind::Bool,
            Self::Object => value.kind() == Kind::Object,
            Self::Array => value.kind() == Kind::Array,
            Self::Number => value.kind() == Kind::Number,
            Self::String => value.kind() == Kind::String,
            Self::Integer => value.as_number().is_some_and(|n| Decimal::parse(n).is_integer()),
        }
    }
}

/// One keyword. `field` is its value, `filter` the whole filter.
fn parse_rule(
    keyword: &str,
    field: &Field<'_, '_>,
    filter: &Field<'_, '_>,
) -> Result<Rule, RequestError> {
    match keyword {
        "type" => parse_types(field).map(Rule::Type),
        "const" => Ok(Rule::OneOf(vec![JsonValue::from_value(field.value)])),
        "enum" => parse_enum(field).map(Rule::OneOf),
        "minimum" => field.number().map(Rule::Minimum),
        "maximum" => field.number().map(Rule::Maximum),
        "exclusiveMinimum" => field.number().map(Rule::ExclusiveMinimum),
        "exclusiveMaximum" => field.number().map(Rule::ExclusiveMaximum),
        "minLength" => parse_length(field).map(Rule::MinLength),
        "maxLength" => parse_length(field).map(Rule::MaxLength),
        "pattern" => field.string().map(|pattern| Rule::Pattern(pattern.into_owned())),
        "format" if field.string()? == "date" => Ok(Rule::Date),
        "format" => Err(field.invalid("must be \"date\", the only format that filters support")),
        "formatMinimum" => parse_full_date(field).map(Rule::FormatMinimum),
        "formatMaximum" => parse_full_date(field).map(Rule::FormatMaximum),
        _ => Err(filter.invalid_name(
            keyword,
            "is or has a keyword that filters do not support; use type, const, enum, minimum, \
             maximum, exclusiveMinimum, exclusiveMaximum, minLength, maxLength, pattern, format, \
             formatMinimum, formatMaximum",
        )),
    }
}

fn parse_types(field: &Field<'_, '_>) -> Result<Vec<JsonType>, RequestError> {
    let one = |field: &Field<'_, '_>| {
        JsonType::from_name(&field.string()?).ok_or_else(|| {
            field.invalid("must be null, boolean, object, array, number, string or integer")
        })
    };
    if field.value.kind() != Kind::Array {
        return one(field).map(|json_type| vec![json_type]);
    }
    let types: Vec<_> = field.elements()?.iter().map(one).collect::<Result<_, _>>()?;
    if types.is_empty() { Err(field.invalid("must name at least one type")) } else { Ok(types) }
}

fn parse_enum(field: &Field<'_, '_>) -> Result<Vec<JsonValue>, RequestError> {
    let values: Vec<_> =
        field.elements()?.iter().map(|element| JsonValue::from_value(element.value)).collect();
    if values.is_empty() { Err(field.invalid("must have at least one value")) } else { Ok(values) }
}

fn parse_length(field: &Field<'_, '_>) -> Result<u64, RequestError> {
    field.number()?.as_u64().ok_or_else(|| field.invalid("must be a non-negative integer"))
}

fn check_pattern(field: &Field<'_, '_>) -> Result<(), RequestError> {
    let pattern = field.string()?;
    if pattern.chars().count() > MAX_PATTERN_CHARS {
        return Err(field.invalid("must have at most 256 characters"));
    }
    if has_foreign_syntax(&pattern) {
        let rule = "must be an ECMA-262 regular expression without flags or set operations";
        return Err(field.invalid(rule));
    }
    compile(&pattern).map(drop).map_err(|_| {
        field.invalid(
            "must be a regular expression of moderate size without look-around or back-reference",
        )
    })
}

fn parse_full_date(field: &Field<'_, '_>) -> Result<String, RequestError> {
    let date = field.string()?;
    if is_full_date(&date) {
        Ok(date.into_owned())
    } else {
        Err(field.invalid("must be a date, for example 2006-01-31"))
    }
}

/// Syntax that the engine supports and ECMA-262 does not: a wallet would read the pattern
/// differently.
fn has_foreign_syntax(pattern: &str) -> bool {
    let (mut in_class, mut escaped) = (false, false);
    for (at, c) in pattern.char_indices() {
        let rest = pattern.get(at..).unwrap_or_default();
        let foreign = match c {
            _ if escaped => false,
            '(' if !in_class => rest
                .strip_prefix("(?")
                .is_some_and(|flags| flags.starts_with(|c: char| c == '-' || c.is_alphabetic())),
            '[' if in_class => true,
            '&' | '-' | '~' if in_class => ["&&", "--", "~~"].iter().any(|op| rest.starts_with(op)),
            _ => false,
        };
        if foreign {
            return true;
        }
        match c {
            _ if escaped => {}
            '[' => in_class = true,
            ']' => in_class = false,
            _ => {}
        }
        escaped = !escaped && c == '\\';
    }
    false
}

/// Compiles to a linear-time automaton of limited size.
fn compile(pattern: &str) -> Result<regex::Regex, regex::Error> {
    RegexBuilder::new(&with_ascii_classes(pattern))
        .size_limit(MAX_PATTERN_BYTES)
        .dfa_size_limit(MAX_PATTERN_BYTES)
        .build()
}

/// `\d` and `\w` mean ASCII, as in ECMA-262, which JSON Schema refers to (6.4); the engine's own
/// classes would accept digits of every script.
fn with_ascii_classes(pattern: &str) -> String {
    let mut out = String::with_capacity(pattern.len());
    let mut characters = pattern.chars();
    while let Some(character) = characters.next() {
        if character != '\\' {
            out.push(character);
            continue;
        }
        match characters.next() {
            Some('d') => out.push_str("[0-9]"),
            Some('D') => out.push_str("[^0-9]"),
            Some('w') => out.push_str("[0-9A-Za-z_]"),
            Some('W') => out.push_str("[^0-9A-Za-z_]"),
            escaped => {
                out.push('\\');
                out.extend(escaped);
            }
        }
    }
    out
}

fn code_points(text: &str) -> u64 {
    u64::try_from(text.chars().count()).unwrap_or(u64::MAX)
}

/// RFC 3339 5.6 `full-date` of an existing day. The calendar repeats every 400 years.
fn is_full_date(text: &str) -> bool {
    let Some((year, rest)) = text.split_once('-') else { return false };
    let Some((month, day)) = rest.split_once('-') else { return false };
    let number = |digits: &str, length: usize| -> Option<u64> {
        let fits = digits.len() == length && digits.bytes().all(|byte| byte.is_ascii_digit());
        fits.then(|| digits.parse().ok()).flatten()
    };
    match (number(year, 4), number(month, 2), number(day, 2)) {
        (Some(year), Some(month), Some(day)) => {
            days_from_civil(2000 + year % 400, month, day).is_some()
        }
        _ => false,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests;
