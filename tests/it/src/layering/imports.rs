//! The imports between the files of a crate, read from its sources without their tests. A file is
//! named by its module path, and the root of the crate by `crate`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use super::tokens::{Token, tokens};

/// For example `verify::mdoc`.
pub(super) type Module = String;

const ROOT: &str = "crate";

/// The files of a crate.
#[derive(Debug)]
pub(super) struct Imports {
    /// Each file with the files that it imports.
    pub(super) own: BTreeMap<Module, BTreeSet<Module>>,
    /// Each file with its paths to other crates, for example `std::fs::read`. Most begin with the
    /// name of a crate.
    elsewhere: BTreeMap<Module, BTreeSet<String>>,
}

impl Imports {
    /// The imports of the crate `name` with this source folder.
    pub(super) fn of(name: &str, folder: &Path) -> Self {
        let mut paths = Vec::new();
        files(folder, &mut paths);
        let read = |path: PathBuf| {
            let module = module_of(path.strip_prefix(folder).unwrap());
            (module, fs::read_to_string(path).unwrap())
        };
        Self::of_sources(name, &paths.into_iter().map(read).collect::<Vec<_>>())
    }

    /// The imports of modules given as texts.
    pub(super) fn of_sources(name: &str, sources: &[(Module, String)]) -> Self {
        let (mut files, mut of_tests) = (BTreeMap::new(), BTreeSet::new());
        for (module, text) in sources {
            let (code, test_modules) = without_tests(tokens(text));
            of_tests.extend(test_modules.iter().map(|child| child_of(module, child)));
            files.insert(module.clone(), code);
        }
        files.retain(|module, _| {
            !of_tests.iter().any(|test| module == test || module.starts_with(&format!("{test}::")))
        });
        let known: BTreeSet<Module> = files.keys().cloned().collect();
        let (mut own, mut elsewhere) = (BTreeMap::new(), BTreeMap::new());
        for (module, code) in &files {
            let (mut inside, mut outside) = (BTreeSet::new(), BTreeSet::new());
            for path in paths(code) {
                match resolve(&path, module, name, &known) {
                    Some(to) => drop(inside.insert(to)),
                    None => drop(outside.insert(path.join("::"))),
                }
            }
            inside.remove(module);
            own.insert(module.clone(), inside);
            elsewhere.insert(module.clone(), outside);
        }
        Self { own, elsewhere }
    }

    /// The files that name one of these crates, one of their modules, or something in them.
    pub(super) fn of_crates(&self, crates: &[&str]) -> BTreeSet<&str> {
        let is_in = |path: &String, name: &str| {
            path.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
        };
        let names = |found: &BTreeSet<String>| {
            found.iter().any(|path| crates.iter().any(|name| is_in(path, name)))
        };
        let users = self.elsewhere.iter().filter(|(_, found)| names(found));
        users.map(|(module, _)| &**module).collect()
    }

    /// The import edges between top-level modules, each with a file that causes it.
    pub(super) fn between_tops(&self) -> BTreeMap<(&str, &str), String> {
        let mut arrows = BTreeMap::new();
        for (from, imports) in &self.own {
            for to in imports.iter().filter(|to| top(from) != top(to)) {
                arrows.entry((top(from), top(to))).or_insert_with(|| format!("{from} -> {to}"));
            }
        }
        arrows
    }

    pub(super) fn tops(&self) -> BTreeSet<&str> {
        self.own.keys().map(|module| top(module)).collect()
    }

    /// The largest sets of files that all import each other, directly or not.
    pub(super) fn cycles(&self) -> Vec<BTreeSet<&str>> {
        let reach: BTreeMap<&str, BTreeSet<&str>> =
            self.own.keys().map(|from| (&**from, self.reached_from(from))).collect();
        let mut cycles: Vec<BTreeSet<&str>> = Vec::new();
        for (from, reached) in &reach {
            if cycles.iter().any(|cycle| cycle.contains(from)) {
                continue;
            }
            let mutual = |to: &&str| reach.get(to).is_some_and(|back| back.contains(from));
            let cycle: BTreeSet<&str> = reached.iter().copied().filter(mutual).collect();
            if cycle.len() > 1 {
                cycles.push(cycle);
            }
        }
        cycles
    }

    fn reached_from(&self, from: &str) -> BTreeSet<&str> {
        let (mut reached, mut open) = (BTreeSet::new(), vec![from]);
        while let Some(module) = open.pop() {
            for next in self.own.get(module).into_iter().flatten() {
                if reached.insert(&**next) {
                    open.push(next);
                }
            }
        }
        reached
    }
}

/// Whether every file of `cycle` is one module or a child of it.
pub(super) fn is_one_family(cycle: &BTreeSet<&str>) -> bool {
    let is_family_of =
        |head: &str| cycle.iter().all(|module| *module == head || parent(module) == head);
    cycle.iter().any(|module| is_family_of(module) || is_family_of(parent(module)))
}

fn parent(module: &str) -> &str {
    module.rsplit_once("::").map_or(ROOT, |(parent, _)| parent)
}

fn top(module: &str) -> &str {
    module.split("::").next().unwrap_or(module)
}

fn child_of(module: &str, child: &str) -> Module {
    if module == ROOT { child.into() } else { format!("{module}::{child}") }
}

/// The sources below a folder with their texts.
pub(super) fn files_of(folder: &Path) -> Vec<(PathBuf, String)> {
    let mut paths = Vec::new();
    files(folder, &mut paths);
    let read = |path: PathBuf| {
        let text = fs::read_to_string(&path).unwrap();
        (path, text)
    };
    paths.into_iter().map(read).collect()
}

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// `main.rs` is a separate crate on top of the other.
fn module_of(path: &Path) -> Module {
    let path = path.with_extension("");
    let mut parts: Vec<&str> = path.iter().map(|part| part.to_str().unwrap()).collect();
    if matches!(parts[..], [.., "mod"] | ["lib"]) {
        parts.pop();
    }
    if parts.is_empty() { ROOT.into() } else { parts.join("::") }
}

/// The code without test-only parts, and the test-only modules.
fn without_tests(code: Vec<Token>) -> (Vec<Token>, Vec<Module>) {
    let (mut kept, mut modules, mut at) = (Vec::new(), Vec::new(), 0);
    while at < code.len() {
        if !is_for_tests(&code[at..]) {
            kept.push(code[at].clone());
            at += 1;
            continue;
        }
        while code.get(at).is_some_and(|token| token == "#") {
            at = after_group(&code, at + 1);
        }
        let end = end_of_item(&code, at);
        if let Some(place) = code[at..end].iter().position(|token| token == "mod") {
            modules.push(code[at + place + 1].clone());
        }
        at = end;
    }
    (kept, modules)
}

fn is_for_tests(code: &[Token]) -> bool {
    let starts = |pattern: &[&str]| {
        code.len() >= pattern.len()
            && pattern.iter().zip(code).all(|(wanted, token)| token == wanted)
    };
    starts(&["#", "[", "cfg", "(", "test"]) || starts(&["#", "[", "cfg", "(", "all", "(", "test"])
}

/// The position after the brackets that open at `at`.
fn after_group(code: &[Token], mut at: usize) -> usize {
    let mut depth = 0;
    while at < code.len() {
        match &*code[at] {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth -= 1,
            _ => {}
        }
        at += 1;
        if depth == 0 {
            break;
        }
    }
    at
}

/// The position after the item at `at`, which ends with a semicolon or with its braces.
fn end_of_item(code: &[Token], mut at: usize) -> usize {
    while at < code.len() {
        match &*code[at] {
            ";" => return at + 1,
            "{" => return after_group(code, at),
            "(" | "[" => at = after_group(code, at),
            _ => at += 1,
        }
    }
    at
}

/// Every path that may lead to another module, in parts.
fn paths(code: &[Token]) -> Vec<Vec<Token>> {
    let (mut found, mut at) = (Vec::new(), 0);
    while at < code.len() {
        match &*code[at] {
            // A visibility names an ancestor without depending on it.
            "pub" if code.get(at + 1).is_some_and(|token| token == "(") => {
                at = after_group(code, at + 1);
            }
            "mod" if code.get(at + 2).is_some_and(|token| token == ";") => {
                found.push(vec!["self".into(), code[at + 1].clone()]);
                at += 3;
            }
            "extern" if code.get(at + 1).is_some_and(|token| token == "crate") => {
                found.extend(code.get(at + 2).map(|name| vec![name.clone()]));
                at += 3;
            }
            "use" => {
                let end = at + code[at..].iter().position(|token| token == ";").unwrap_or(1);
                expand(&code[at + 1..end], &[], &mut found);
                at = end + 1;
            }
            sign if !sign.starts_with(|c: char| c.is_alphabetic() || c == '_') => at += 1,
            _ => {
                let path = path_at(&code[at..]);
                at += (2 * path.len()).max(2) - 1;
                if path.len() > 1 {
                    found.push(path);
                }
            }
        }
    }
    found
}

/// The parts of the path that begins here.
fn path_at(code: &[Token]) -> Vec<Token> {
    let mut parts = Vec::new();
    for pair in code.chunks(2) {
        parts.push(pair[0].clone());
        if pair.get(1).is_none_or(|token| token != "::") {
            break;
        }
    }
    parts
}

/// The paths of a use tree.
fn expand(tree: &[Token], before: &[Token], found: &mut Vec<Vec<Token>>) {
    let mut path = before.to_vec();
    let mut at = 0;
    while at < tree.len() {
        match &*tree[at] {
            "::" => at += 1,
            "as" => break,
            "{" => {
                let inner = &tree[at + 1..after_group(tree, at) - 1];
                for branch in branches(inner) {
                    expand(branch, &path, found);
                }
                return;
            }
            part => {
                path.push(part.into());
                at += 1;
            }
        }
    }
    found.push(path);
}

/// The parts of a group between its commas.
fn branches(group: &[Token]) -> Vec<&[Token]> {
    let (mut branches, mut start, mut at) = (Vec::new(), 0, 0);
    while at < group.len() {
        match &*group[at] {
            "{" => at = after_group(group, at),
            "," => {
                branches.push(&group[start..at]);
                at += 1;
                start = at;
            }
            _ => at += 1,
        }
    }
    branches.push(&group[start..]);
    branches.retain(|branch| !branch.is_empty());
    branches
}

/// The module that contains what `path` names in `module`. `None`: it is in another crate.
fn resolve(path: &[Token], module: &str, name: &str, known: &BTreeSet<Module>) -> Option<Module> {
    let mut base = String::from(module);
    let mut parts = path.iter().map(String::as_str).peekable();
    match parts.next()? {
        first if first == ROOT || first == name => base = ROOT.into(),
        "self" => {}
        "super" => {
            base = parent(&base).into();
            while parts.next_if(|part| *part == "super").is_some() {
                base = parent(&base).into();
            }
        }
        _ => return None,
    }
    for part in parts {
        let child = child_of(&base, part);
        if !known.contains(&child) {
            break;
        }
        base = child;
    }
    Some(base)
}
