//! The processed payload: disclosures are inserted in their places, and `_sd`, `_sd_alg` and
//! unmatched digests are removed (RFC 9901 7.1 step 3). Processing is one walk; values are written
//! on demand.

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;

use super::disclosures::{DisclosureIndex, Revealed, prefix, reveal};
use super::malformed;
use crate::codec::json::{Kind, NodeId, Tape, Text, Value};
use crate::error::{Check, Reason, VerifyError};
use crate::limits::MAX_DEPTH;
use crate::work;

/// Claims that must be in the plain payload, including their sub-members (SD-JWT VC 2.2.2.3).
pub(crate) const NEVER_DISCLOSED: &[&str] =
    &["iss", "nbf", "exp", "cnf", "vct", "vct#integrity", "aka_vcts", "status"];

/// A payload with all disclosures matched to digests.
pub(crate) struct ProcessedPayload<'t, 'a> {
    tape: &'t Tape<'a>,
    root: Value<'t, 'a>,
    index: DisclosureIndex,
    /// Top-level members, plain and disclosed, sorted by name.
    members: Vec<(Cow<'a, str>, NodeId)>,
}

impl<'t, 'a> ProcessedPayload<'t, 'a> {
    /// Matches every disclosure to its digest, which the issuer signed.
    pub(crate) fn bind(
        tape: &'t Tape<'a>,
        payload: NodeId,
        index: DisclosureIndex,
    ) -> Result<Self, VerifyError> {
        let root = tape.value(payload);
        if root.kind() != Kind::Object {
            return Err(malformed(Check::IssuerJwt, "the payload is not an object"));
        }
        let mut walk = Walk { tape, index, seen: Vec::with_capacity(32), names: Vec::new() };
        let members = walk.root(root)?;
        let Walk { index, seen, .. } = walk;
        refuse_repeated(seen)?;
        if !index.all_used() {
            let detail = "no digest references a disclosure";
            return Err(VerifyError::new(Reason::DigestMismatch, Check::AllReferenced, detail));
        }
        Ok(Self { tape, root, index, members })
    }

    /// A top-level member, plain or disclosed.
    pub(crate) fn get(&self, name: &str) -> Option<Value<'t, 'a>> {
        let at = self.members.binary_search_by(|(member, _)| (**member).cmp(name)).ok()?;
        self.members.get(at).map(|(_, id)| self.tape.value(*id))
    }

    /// The value at a path of member names.
    pub(crate) fn path(&self, path: &[String]) -> Option<Value<'t, 'a>> {
        let (first, rest) = path.split_first()?;
        rest.iter().try_fold(self.get(first)?, |value, name| self.member(value, name))
    }

    /// A member of an object below the top level, plain or disclosed.
    pub(crate) fn member(&self, object: Value<'t, 'a>, name: &str) -> Option<Value<'t, 'a>> {
        let mut found = None;
        self.each_member(object, &mut |member, value| {
            if member.is(name) {
                found = Some(value);
            }
        });
        found
    }

    /// The elements of an array, plain and disclosed, without hidden ones.
    pub(crate) fn elements(&self, array: Value<'t, 'a>) -> impl Iterator<Item = Value<'t, 'a>> {
        let elements = array.elements().into_iter().flatten();
        elements.filter_map(|element| match placeholder(element) {
            None => Some(element),
            Some(digest) => match self.revealed(digest) {
                Some(Revealed::Element(value)) => Some(value),
                _ => None,
            },
        })
    }

    /// Calls `each` with the members of `object` as they are after processing.
    fn each_member(&self, object: Value<'t, 'a>, each: &mut dyn FnMut(Text<'a>, Value<'t, 'a>)) {
        let top = object.id() == self.root.id();
        for (name, value) in object.members().into_iter().flatten() {
            if name.is("_sd") {
                for digest in value.elements().into_iter().flatten() {
                    if let Some(Revealed::Member(name, value)) = self.revealed(digest) {
                        each(name, value);
                    }
                }
            } else if !(top && name.is("_sd_alg")) {
                each(name, value);
            }
        }
    }

    fn revealed(&self, digest: Value<'t, 'a>) -> Option<Revealed<'t, 'a>> {
        let id = self.index.find(digest.as_text()?.plain()?)?;
        reveal(self.tape, id).ok()
    }

    /// Writes a value as JSON, processed. Values without digests keep their source text.
    pub(crate) fn write(&self, value: Value<'t, 'a>, out: &mut String) {
        match value.kind() {
            Kind::Object => {
                let mut separator = '{';
                self.each_member(value, &mut |name, value| {
                    out.push(separator);
                    separator = ',';
                    out.push('"');
                    out.push_str(name.source());
                    out.push_str("\":");
                    self.write(value, out);
                });
                out.push_str(if separator == '{' { "{}" } else { "}" });
            }
            Kind::Array => {
                let mut separator = '[';
                for shown in self.elements(value) {
                    out.push(separator);
                    separator = ',';
                    self.write(shown, out);
                }
                out.push_str(if separator == '[' { "[]" } else { "]" });
            }
            _ => value.write_source(out),
        }
    }

    /// Whether `value` is an empty shell because the holder withheld its content: it has only
    /// digests without disclosures, or such shells. A null is a value, and so is a container that
    /// the issuer left empty. The search stops at the first value, so that honest claims cost one
    /// step.
    pub(crate) fn is_withheld(&self, value: Value<'t, 'a>) -> bool {
        let mut withheld = false;
        let mut shows = |shell: bool| {
            withheld |= shell;
            !shell
        };
        let shows_something = match value.kind() {
            Kind::Object => value.members().into_iter().flatten().any(|(name, member)| {
                if name.is("_sd") {
                    let mut digests = member.elements().into_iter().flatten();
                    digests.any(|digest| shows(self.reveals_nothing(digest)))
                } else {
                    shows(self.is_withheld(member))
                }
            }),
            Kind::Array => value.elements().into_iter().flatten().any(|element| {
                shows(match placeholder(element) {
                    Some(digest) => self.reveals_nothing(digest),
                    None => self.is_withheld(element),
                })
            }),
            _ => return false,
        };
        withheld && !shows_something
    }

    fn reveals_nothing(&self, digest: Value<'t, 'a>) -> bool {
        match self.revealed(digest) {
            Some(Revealed::Member(_, value) | Revealed::Element(value)) => self.is_withheld(value),
            None => true,
        }
    }

    /// Writes the whole processed payload as JSON, for comparison with the specifications'
    /// examples.
    #[cfg(test)]
    pub(crate) fn write_all(&self, out: &mut String) {
        self.write(self.root, out);
    }
}

/// The value of `...` when `element` is `{"...": value}`.
fn placeholder<'t, 'a>(element: Value<'t, 'a>) -> Option<Value<'t, 'a>> {
    let (name, value) = element.members()?.next()?;
    name.is("...").then_some(value)
}

/// One walk over payload and disclosed values.
struct Walk<'t, 'a> {
    tape: &'t Tape<'a>,
    index: DisclosureIndex,
    /// All digests seen so far, to find repeated ones.
    seen: Vec<(u64, &'a str)>,
    /// Reusable buffer for the names of one object.
    names: Vec<(Cow<'a, str>, NodeId)>,
}

impl<'t, 'a> Walk<'t, 'a> {
    fn root(&mut self, root: Value<'t, 'a>) -> Result<Vec<(Cow<'a, str>, NodeId)>, VerifyError> {
        self.collect(root, true)?;
        let members = core::mem::take(&mut self.names);
        for (name, id) in &members {
            let plain_only = NEVER_DISCLOSED.contains(&&**name);
            self.value(self.tape.value(*id), 1, plain_only)?;
        }
        Ok(members)
    }

    fn value(
        &mut self,
        value: Value<'t, 'a>,
        depth: usize,
        plain_only: bool,
    ) -> Result<(), VerifyError> {
        if depth > MAX_DEPTH {
            let detail = "disclosures nest deeper than 32";
            return Err(VerifyError::new(Reason::LimitExceeded, Check::DigestPlaces, detail));
        }
        match value.kind() {
            Kind::Object => self.object(value, depth, plain_only),
            Kind::Array => self.array(value, depth, plain_only),
            _ => Ok(()),
        }
    }

    fn object(
        &mut self,
        object: Value<'t, 'a>,
        depth: usize,
        plain_only: bool,
    ) -> Result<(), VerifyError> {
        let disclosed = self.collect(object, false)?;
        if plain_only && disclosed {
            return Err(forbidden());
        }
        self.names.clear();
        for (name, value) in object.members().into_iter().flatten() {
            if name.is("_sd") {
                for digest in value.elements().into_iter().flatten() {
                    if let Some(id) = self.lookup(digest)? {
                        let Revealed::Member(_, value) = reveal(self.tape, id)? else { continue };
                        self.value(value, depth + 1, plain_only)?;
                    }
                }
            } else {
                self.value(value, depth + 1, plain_only)?;
            }
        }
        Ok(())
    }

    fn array(
        &mut self,
        array: Value<'t, 'a>,
        depth: usize,
        plain_only: bool,
    ) -> Result<(), VerifyError> {
        for element in array.elements().into_iter().flatten() {
            let Some(digest) = placeholder(element) else {
                self.value(element, depth + 1, plain_only)?;
                continue;
            };
            let alone = element.members().into_iter().flatten().count() == 1;
            if !alone {
                return Err(malformed(
                    Check::DigestPlaces,
                    "`...` is not the only member of its object",
                ));
            }
            if plain_only {
                return Err(forbidden());
            }
            if let Some(id) = self.take(digest)? {
                match reveal(self.tape, id)? {
                    Revealed::Element(value) => self.value(value, depth + 1, false)?,
                    Revealed::Member(..) => {
                        let detail = "a disclosure of a member is used for an array element";
                        return Err(malformed(Check::DisclosureFormat, detail));
                    }
                }
            }
        }
        Ok(())
    }

    /// Collects the names of one object, plain and disclosed, sorted; returns whether it has `_sd`.
    fn collect(&mut self, object: Value<'t, 'a>, top: bool) -> Result<bool, VerifyError> {
        self.names.clear();
        let mut has_digests = false;
        for (name, value) in object.members().into_iter().flatten() {
            if name.is("_sd") {
                has_digests = true;
                self.collect_disclosed(value, top)?;
            } else if name.is("...") {
                return Err(malformed(Check::DigestPlaces, "`...` outside an array"));
            } else if name.is("_sd_alg") {
                if !top {
                    return Err(malformed(Check::DigestPlaces, "`_sd_alg` is below the top level"));
                }
            } else {
                self.names.push((name.unescape(), value.id()));
            }
        }
        self.names.sort_unstable_by(|(a, _), (b, _)| {
            work::comparison(a.len().min(b.len()));
            a.cmp(b)
        });
        let collide = |pair: &[(Cow<'_, str>, NodeId)]| matches!(pair, [(a, _), (b, _)] if a == b);
        if has_digests && self.names.windows(2).any(collide) {
            return Err(malformed(Check::DisclosedName, "a disclosed name exists already"));
        }
        Ok(has_digests)
    }

    fn collect_disclosed(&mut self, digests: Value<'t, 'a>, top: bool) -> Result<(), VerifyError> {
        let bad = |detail| malformed(Check::DigestPlaces, detail);
        let digests = digests.elements().ok_or_else(|| bad("`_sd` is not an array"))?;
        for digest in digests {
            let Some(id) = self.take(digest)? else { continue };
            let Revealed::Member(name, value) = reveal(self.tape, id)? else {
                let detail = "a disclosure of an array element is used for a member";
                return Err(malformed(Check::DisclosureFormat, detail));
            };
            let name = name.unescape();
            if top && NEVER_DISCLOSED.contains(&&*name) {
                return Err(forbidden());
            }
            self.names.push((name, value.id()));
        }
        Ok(())
    }

    /// Records a digest and finds its disclosure.
    fn take(&mut self, digest: Value<'t, 'a>) -> Result<Option<NodeId>, VerifyError> {
        let digest = digest_text(digest)?;
        self.seen.push((prefix(digest), digest));
        self.index.take(digest)
    }

    /// Finds the disclosure of a recorded digest.
    fn lookup(&self, digest: Value<'t, 'a>) -> Result<Option<NodeId>, VerifyError> {
        Ok(self.index.find(digest_text(digest)?))
    }
}

fn digest_text<'a>(digest: Value<'_, 'a>) -> Result<&'a str, VerifyError> {
    let text = digest.as_text().and_then(Text::plain);
    text.ok_or_else(|| malformed(Check::DigestPlaces, "a digest is not a plain string"))
}

fn forbidden() -> VerifyError {
    malformed(
        Check::NeverDisclosed,
        "a claim that must always be visible is selectively disclosable",
    )
}

/// RFC 9901 7.1 step 3: refuses a digest that occurs twice anywhere.
fn refuse_repeated(mut seen: Vec<(u64, &str)>) -> Result<(), VerifyError> {
    seen.sort_unstable_by(|a, b| {
        work::comparison(0);
        a.cmp(b)
    });
    if seen.windows(2).any(|pair| matches!(pair, [a, b] if a == b)) {
        return Err(malformed(Check::DigestsUnique, "a digest appears twice"));
    }
    Ok(())
}
