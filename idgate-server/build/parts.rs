//! The parts of the description that a gateway has. `x-idgate-where` names what a gateway needs for the mapping that
//! it is in; `x-idgate-where-values` does so for values of the `enum` that is next to it.

use yaml_rust2::Yaml;
use yaml_rust2::yaml::Hash;

const PART: &str = "x-idgate-where";
const VALUES: &str = "x-idgate-where-values";
const KNOWN: [&str; 3] = ["profiles", "browsers", "pages"];

/// Describes a gateway that has these parts. A reference to a component that is left out goes with it.
pub(crate) fn of_gateway(everything: &Yaml, has: &[&str]) -> Result<Yaml, String> {
    check_references(everything, everything)?;
    let parts = without_parts(everything, has)?.ok_or("the whole description is left out")?;
    Ok(without_references(&parts, &parts))
}

/// The value without parts that the gateway lacks, and without marks; `None` if it is such a part itself.
fn without_parts(value: &Yaml, has: &[&str]) -> Result<Option<Yaml>, String> {
    match value {
        Yaml::Hash(members) => members_of_gateway(members, has),
        Yaml::Array(items) => {
            let kept = items.iter().filter_map(|item| without_parts(item, has).transpose());
            Ok(Some(Yaml::Array(kept.collect::<Result<_, _>>()?)))
        }
        _ => Ok(Some(value.clone())),
    }
}

fn members_of_gateway(members: &Hash, has: &[&str]) -> Result<Option<Yaml>, String> {
    if let Some(part) = member(members, PART)
        && !is_there(part, has)?
    {
        return Ok(None);
    }
    let values = member(members, VALUES)
        .map(|values| values.as_hash().ok_or(format!("{VALUES} is not a mapping")));
    let values = values.transpose()?;
    let mut kept = Hash::new();
    for (name, value) in members {
        match name.as_str() {
            Some(PART | VALUES) => continue,
            Some("enum") if values.is_some() => {
                kept.insert(name.clone(), values_of_gateway(value, values, has)?);
            }
            _ => {
                if let Some(value) = without_parts(value, has)? {
                    kept.insert(name.clone(), value);
                }
            }
        }
    }
    Ok(Some(Yaml::Hash(kept)))
}

fn values_of_gateway(all: &Yaml, marked: Option<&Hash>, has: &[&str]) -> Result<Yaml, String> {
    let mut kept = Vec::new();
    for value in all.as_vec().ok_or("enum is not a list")? {
        match marked.and_then(|marked| marked.get(value)) {
            Some(part) if !is_there(part, has)? => {}
            _ => kept.push(value.clone()),
        }
    }
    Ok(Yaml::Array(kept))
}

fn is_there(part: &Yaml, has: &[&str]) -> Result<bool, String> {
    let part = part.as_str().filter(|part| KNOWN.contains(part));
    Ok(has.contains(&part.ok_or(format!("{PART}: must be one of {KNOWN:?}"))?))
}

/// The value without references that lead nowhere in `document`.
fn without_references(document: &Yaml, value: &Yaml) -> Yaml {
    let is_kept = |value: &&Yaml| match reference(value) {
        Some(pointer) => target(document, pointer).is_some(),
        None => true,
    };
    match value {
        Yaml::Hash(members) => {
            let kept = members.iter().filter(|(_, value)| is_kept(value));
            let kept =
                kept.map(|(name, value)| (name.clone(), without_references(document, value)));
            Yaml::Hash(kept.collect())
        }
        Yaml::Array(items) => {
            let kept = items.iter().filter(is_kept);
            Yaml::Array(kept.map(|item| without_references(document, item)).collect())
        }
        _ => value.clone(),
    }
}

/// Every reference in `value` leads somewhere in `document`.
fn check_references(document: &Yaml, value: &Yaml) -> Result<(), String> {
    if let Some(pointer) = reference(value) {
        target(document, pointer).ok_or_else(|| format!("{pointer} leads nowhere"))?;
    }
    match value {
        Yaml::Hash(members) => {
            members.values().try_for_each(|value| check_references(document, value))
        }
        Yaml::Array(items) => items.iter().try_for_each(|item| check_references(document, item)),
        _ => Ok(()),
    }
}

fn reference(value: &Yaml) -> Option<&str> {
    value.as_hash().and_then(|members| member(members, "$ref"))?.as_str()
}

/// The target of a reference within the document.
fn target<'a>(document: &'a Yaml, pointer: &str) -> Option<&'a Yaml> {
    let mut steps = pointer.strip_prefix("#/")?.split('/');
    steps.try_fold(document, |at, step| member(at.as_hash()?, step))
}

fn member<'a>(members: &'a Hash, name: &str) -> Option<&'a Yaml> {
    members.get(&Yaml::String(name.to_owned()))
}
