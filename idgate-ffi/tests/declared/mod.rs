//! The declarations of the header, read without a compiler.

#![allow(dead_code, reason = "each test uses a part of it")]

use std::collections::BTreeSet;

/// A function of the header.
pub(crate) struct Function {
    pub(crate) name: String,
    pub(crate) parameters: Vec<String>,
}

/// Every declared function.
pub(crate) fn functions(header: &str) -> Vec<Function> {
    let statements = without_comments(header);
    let statements =
        statements.split(';').map(|it| it.split_whitespace().collect::<Vec<_>>().join(" "));
    statements.filter(|it| !it.contains("typedef")).filter_map(|it| function(&it)).collect()
}

fn function(statement: &str) -> Option<Function> {
    let (head, rest) = statement.split_once('(')?;
    let name = head.rsplit([' ', '*']).next()?;
    let (parameters, after) = rest.rsplit_once(')')?;
    if !after.is_empty() || name.is_empty() || name.to_uppercase() == name {
        return None;
    }
    let parameters = parameters.split(',').map(|one| one.trim().to_owned());
    let parameters = parameters.filter(|one| !one.is_empty() && one != "void").collect();
    Some(Function { name: name.to_owned(), parameters })
}

/// The structs whose first member is their size.
pub(crate) fn sized_structs(header: &str) -> BTreeSet<String> {
    let text = without_comments(header);
    let bodies = text.split("typedef struct ").filter_map(|part| {
        let (name, rest) = part.split_once('{')?;
        rest.trim_start().starts_with("size_t size;").then(|| name.trim().to_owned())
    });
    bodies.collect()
}

fn without_comments(header: &str) -> String {
    let lines = header.lines().map(|line| line.split("//").next().unwrap_or_default());
    let lines = lines.filter(|line| !line.trim_start().starts_with('#'));
    lines.collect::<Vec<_>>().join("\n")
}
