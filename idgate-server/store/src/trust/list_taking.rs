//! The rules for a new list of an entry, and the rows to store for it. These functions do not use
//! the database: the caller reads the current rows first, and writes the returned ones. It writes
//! nothing if the list is refused.

use idgate_core::UnixMillis;
use idgate_core::crypto::aws_lc_rs::PROVIDER;
use idgate_core::shell::{
    ListMark, ListRules, TrustedList, TrustedListError, TrustedListErrorKind, member_state,
};
use idgate_core::trust::ListType;
use idgate_xml_list::{import_trusted_list, is_xml};

use super::listed::{ListRow, ListSettings, NewTrustedList, SignerTrust, anchors};
use super::x509::sha256;
use super::{TrustChange, TrustRecord};
use crate::audit_chain::{AuditEvent, ListChange};
use crate::limits::MAX_LIST_SOURCES;
use crate::types::{FetchedList, Refreshed, StoreError};

/// The effect of a change on the list of an entry.
pub(crate) enum Step {
    Nothing,
    /// The entry uses its list with other settings.
    Settings(Box<ListRow>),
    /// The entry gets this list.
    List(Box<Prepared>),
}

impl TrustChange {
    /// Returns the effect on the list of the entry called `issuer_id`. `former`: its current list.
    ///
    /// # Errors
    /// The list is refused, or there are settings for a list and the entry has none.
    pub(crate) fn list_step(
        &self,
        issuer_id: &str,
        former: Option<ListRow>,
        now: UnixMillis,
    ) -> Result<Step, StoreError> {
        if let Some(new) = &self.trusted_list {
            let settings = (&self.list_settings, self.test_only);
            let entry = (issuer_id, self.named_for());
            let prepared = new.prepare(entry, settings, former.as_ref(), now)?;
            return Ok(Step::List(Box::new(prepared)));
        }
        if self.list_settings.is_empty() {
            return Ok(Step::Nothing);
        }
        let mut row = former.ok_or_else(|| {
            StoreError::Failed(format!(
                "{issuer_id} has no trusted list; --provider and --signer-profile need \
                 --trusted-list"
            ))
        })?;
        row.set(&self.list_settings);
        Ok(Step::Settings(Box::new(row)))
    }

    /// Returns the territory for which a list of lists names the list. `None`: the operator names
    /// the list.
    fn named_for(&self) -> Option<&str> {
        self.list_of_lists.as_ref().map(|lists| &*lists.country)
    }

    /// Returns whether its list of lists is for tests, and whether it may be past its next update.
    pub(super) fn of_lists(&self) -> (bool, bool) {
        (self.test_only, self.list_settings.allow_stale.unwrap_or(false))
    }
}

/// A list that an entry accepts if it is not older than the mark of its source.
pub(crate) struct Prepared {
    row: ListRow,
    /// The name of its source: the key under which the mark is stored.
    pub(crate) source: String,
    list: TrustedList,
    accept_rollback: bool,
    /// The entry's current list.
    former: Option<ListRow>,
}

/// An accepted list, with the new mark of its source.
pub(super) struct Taken {
    pub(super) row: ListRow,
    pub(super) source: String,
    pub(super) mark: ListMark,
    /// The change for the audit log; `None`: the content is that of the list in force.
    pub(super) change: Option<ListChange>,
}

/// The result of a fetched list, for all entries that follow its URL.
pub(crate) struct Refresh {
    pub(crate) outcome: Refreshed,
    pub(crate) taken: Vec<Taken>,
}

impl Refresh {
    /// Returns the names of the sources whose marks [`Refresh::decide`] needs: live, then test.
    pub(crate) fn sources(url: &str) -> [String; 2] {
        [false, true].map(|test_only| source_named(url, test_only))
    }

    /// Decides for each entry by itself whether it accepts the fetched list. `formers`: the current
    /// lists of these entries. `marks`: the marks of [`Refresh::sources`].
    ///
    /// # Errors
    /// A stored list cannot be read.
    pub(crate) fn decide(
        fetched: &FetchedList,
        formers: &[ListRow],
        marks: &[Option<ListMark>; 2],
        now: UnixMillis,
    ) -> Result<Self, StoreError> {
        let new = NewTrustedList {
            url: Some(fetched.url.clone()),
            token: fetched.token.clone(),
            list_type: None,
            anchors: None,
            crls: None,
            accept_rollback: fetched.accept_rollback,
        };
        let outcome = if formers.is_empty() { Refreshed::Unwanted } else { Refreshed::Same };
        let mut refresh = Self { outcome, taken: Vec::new() };
        let mut refused = Vec::new();
        let sha256 = sha256(&fetched.token);
        for former in formers {
            let [live, test] = marks;
            let mark = if former.test_only { test } else { live };
            let settings = (&ListSettings::default(), former.test_only);
            let entry = (&*former.issuer_id, former.named_for.as_deref());
            let prepare = || {
                // The list in force may come again.
                if former.sha256 != sha256 {
                    former.check_named(now)?;
                }
                let prepared = new.prepare(entry, settings, Some(former), now)?;
                prepared.check_in_force(now)?;
                prepared.take(mark.as_ref(), now)
            };
            match prepare() {
                Ok(taken) => refresh.add(taken),
                Err(Refused::List(why)) => refused.push((&*former.issuer_id, why)),
                Err(Refused::Store(error)) => return Err(error),
            }
        }
        if !refused.is_empty() {
            refresh.outcome = outcome_of(&refused, !refresh.taken.is_empty());
        }
        Ok(refresh)
    }

    fn add(&mut self, taken: Taken) {
        if let Some(ListChange { from, to, providers, .. }) = taken.change {
            self.outcome = Refreshed::New { from, to, providers };
        }
        self.taken.push(taken);
    }

    /// Returns one entry for the audit log for each changed trust entry.
    pub(crate) fn events(&self, by: &str, now: UnixMillis) -> Vec<AuditEvent> {
        let event = |taken: &Taken| {
            let event = AuditEvent::trust_changed(&taken.row.issuer_id, now).by(by);
            taken.change.map(|change| event.with_list(change))
        };
        self.taken.iter().filter_map(event).collect()
    }
}

impl NewTrustedList {
    /// Returns the verified list before `change` stores it in the entry called `issuer_id`.
    /// `before`: that entry as it is now.
    ///
    /// # Errors
    /// The list is refused.
    pub fn authenticated(
        &self,
        (issuer_id, before): (&str, Option<&TrustRecord>),
        change: &TrustChange,
        now: UnixMillis,
    ) -> Result<TrustedList, StoreError> {
        let settings = (&change.list_settings, change.test_only);
        let former = before.and_then(|before| before.trusted_list.as_ref());
        let former = former.map(|former| &former.row);
        Ok(self.prepare((issuer_id, change.named_for()), settings, former, now)?.list)
    }

    /// Verifies and reads it for this entry. `named_for`: the territory for which a list of lists
    /// names it. `former`: the entry's current list. [`Prepared::take`] checks the mark of its
    /// source.
    ///
    /// # Errors
    /// The list is refused.
    pub(super) fn prepare(
        &self,
        (issuer_id, named_for): (&str, Option<&str>),
        (settings, test_only): (&ListSettings, bool),
        former: Option<&ListRow>,
        now: UnixMillis,
    ) -> Result<Prepared, Refused> {
        if former.is_some_and(|former| test_only && !former.test_only) {
            return Err(Refused::Store(StoreError::Failed(format!(
                "this list of {issuer_id} is for tests and would replace a live one; remove the list \
                 in force first with `idgate trust remove`"
            ))));
        }
        // Anchors of a list for tests, and anchors that a list of lists named, are not those of the
        // operator. They are kept only for another list of that kind.
        let is_alike = |former: &&ListRow| {
            former.test_only == test_only && former.named_for.as_deref() == named_for
        };
        let alike = former.filter(is_alike);
        let former_trust = alike.map(ListRow::signer_trust).unwrap_or_default();
        let SignerTrust { anchors, crls } =
            former_trust.with(self.anchors.as_ref(), self.crls.as_ref())?;
        // A former list for tests sets no rules for a live one.
        let of_mode = former.filter(|former| former.test_only == test_only);
        let mut row = ListRow {
            issuer_id: issuer_id.to_owned(),
            url: self.url.clone(),
            list_type: String::new(),
            organization: alike.and_then(|alike| alike.organization.clone()),
            token: self.token.clone(),
            sha256: sha256(&self.token).to_vec(),
            anchors,
            crls,
            providers: of_mode.map_or_else(|| "[]".into(), |former| former.providers.clone()),
            profile: of_mode.and_then(|former| former.profile.clone()),
            allow_stale: of_mode.is_some_and(|former| former.allow_stale),
            test_only,
            sequence: 0,
            listed: 0,
            next_update: now,
            added_at: now,
            named_for: named_for.map(str::to_owned),
            named_until: None,
        };
        row.set(settings);
        let before = former.cloned();
        let former = of_mode;
        let list = self.import(&row, former, now)?;
        if former.is_some_and(|former| is_xml(&former.token) != is_xml(&self.token)) {
            return Err(row.refused(TrustedListError::new(
                TrustedListErrorKind::Unusable,
                "is not in the format (JSON or XML) of the list in force; remove the entry first",
            )));
        }
        if row.named_for.is_some() && !is_xml(&self.token) {
            return Err(row.refused(TrustedListError::new(
                TrustedListErrorKind::Unusable,
                "is not XML, but the list of lists names it as XML",
            )));
        }
        row.list_type = list.list_type.name().to_owned();
        row.organization = row.organization.or_else(|| list.signer.organization.clone());
        row.sequence = list.sequence;
        row.listed = u64::try_from(list.providers.len()).unwrap_or(u64::MAX);
        row.next_update = list.next_update;
        let source = source(&row);
        let accept_rollback = self.accept_rollback;
        Ok(Prepared { row, source, list, accept_rollback, former: before })
    }

    fn import(
        &self,
        row: &ListRow,
        former: Option<&ListRow>,
        now: UnixMillis,
    ) -> Result<TrustedList, Refused> {
        let anchors = anchors(&row.anchors)?;
        let crls = row.verified_crls()?;
        let mut rules = match &anchors {
            Some(anchors) => ListRules::new(anchors),
            None if row.test_only => ListRules::for_tests(),
            None => return Err(Refused::Store(lacks_anchor("--trusted-list"))),
        };
        rules.test_only = row.test_only;
        rules.crls = &crls;
        let fixed = former.and_then(|former| ListType::from_name(&former.list_type));
        rules.list_type = fixed.or(self.list_type);
        let stored = former.map(ListRow::recall).transpose()?;
        // A list in the other format is refused later, with a reason of its own.
        let has_form = former.is_some_and(|former| is_xml(&former.token) == is_xml(&self.token));
        let fixed = stored.as_ref().filter(|_| has_form);
        let fixed = fixed.map(|stored| stored.territory.as_str());
        rules.territory = row.named_for.as_deref().or(fixed);
        rules.organization = row.organization.as_deref();
        rules.allow_stale = row.allow_stale;
        // The mark shows that this is the stored list again. Its signer was valid when it first
        // came.
        let is_same = former.is_some_and(|former| former.sha256 == row.sha256);
        let in_force = stored.as_ref().filter(|_| is_same).map(|stored| stored.mark(None, now));
        rules.mark = in_force.as_ref();
        let list = import_trusted_list(&PROVIDER, &self.token, &rules, now)
            .map_err(|why| row.refused(why))?;
        match fixed.filter(|fixed| member_state(fixed) != member_state(&list.territory)) {
            Some(fixed) => Err(row.refused(unusable(format!(
                "is not of the territory of the list in force, {fixed}; remove the entry first"
            )))),
            None => Ok(list),
        }
    }
}

impl Prepared {
    /// Checks that the list is not older than the list in force, which may have another URL, if a
    /// list of lists names one of them.
    ///
    /// # Errors
    /// It is older, or a different one with the same number; or the list in force cannot be read.
    pub(super) fn check_in_force(&self, now: UnixMillis) -> Result<(), Refused> {
        let former = self.former.as_ref().filter(|former| former.test_only == self.row.test_only);
        let is_named = |row: &ListRow| row.named_for.is_some();
        match former.filter(|former| is_named(former) || is_named(&self.row)) {
            Some(former) => self.check_newer(&former.recall()?.mark(None, now)),
            None => Ok(()),
        }
    }

    /// Checks that it is not older than `in_force`, unless the operator accepts an older one.
    ///
    /// # Errors
    /// It is older, or has the same number and different content.
    pub(super) fn check_newer(&self, in_force: &ListMark) -> Result<(), Refused> {
        match self.accept_rollback {
            true => Ok(()),
            false => self.list.check_newer(in_force).map_err(|why| self.row.refused(why)),
        }
    }

    /// Accepts the list and adds the new mark of its source. `mark`: the current one.
    ///
    /// # Errors
    /// It is older than the mark, or has the same number and different content.
    pub(super) fn take(self, mark: Option<&ListMark>, now: UnixMillis) -> Result<Taken, Refused> {
        mark.map_or(Ok(()), |mark| self.check_newer(mark))?;
        let mark = self.list.mark(mark, now);
        let payload_sha256 = self.list.payload_sha256;
        // A list that was only signed again has no new content.
        let says_the_same = |former: &ListRow| {
            former.sha256 == self.row.sha256
                || former.recall().is_ok_and(|former| former.payload_sha256 == payload_sha256)
        };
        let another = self.former.filter(|former| !says_the_same(former));
        let change = another.map(|former| ListChange {
            from: former.sequence,
            providers: self.row.listed,
            providers_before: former.listed,
            to: self.row.sequence,
        });
        Ok(Taken { row: self.row, source: self.source, mark, change })
    }
}

/// Refuses more sources of lists than allowed. `count` includes the new one.
pub(crate) fn check_sources(count: usize) -> Result<(), StoreError> {
    if count <= MAX_LIST_SOURCES {
        return Ok(());
    }
    Err(StoreError::Failed(format!(
        "there are {MAX_LIST_SOURCES} sources of trusted lists already; remove one first"
    )))
}

/// The reason why a list is not accepted.
pub(crate) enum Refused {
    List(Refusal),
    Store(StoreError),
}

/// The refusal of a list.
pub(crate) struct Refusal {
    pub(super) kind: TrustedListErrorKind,
    /// The reason, as text for people.
    pub(super) text: String,
    /// Whether a list could not be fetched.
    pub(super) is_unreachable: bool,
}

impl Refused {
    /// Refuses a list of lists because the list that it names was not fetched.
    pub(super) fn unreachable(location: &str, why: &str) -> Self {
        let text = format!("the list of lists names {location}, which was not fetched: {why}");
        let kind = TrustedListErrorKind::Unusable;
        Self::List(Refusal { kind, text, is_unreachable: true })
    }

    /// Refuses a list of lists. For an unknown signer, the text names the option for its CA.
    pub(super) fn of_lists(error: TrustedListError) -> Self {
        let why = match error.kind {
            TrustedListErrorKind::UnknownSigner => UNKNOWN.into(),
            _ => error.why,
        };
        let text = format!("the list of lists {why}");
        Self::List(Refusal { kind: error.kind, text, is_unreachable: false })
    }
}

impl ListRow {
    fn signer_trust(&self) -> SignerTrust {
        SignerTrust { anchors: self.anchors.clone(), crls: self.crls.clone() }
    }

    /// Checks that a list of lists still names it.
    ///
    /// # Errors
    /// The list of lists is overdue.
    fn check_named(&self, now: UnixMillis) -> Result<(), Refused> {
        match self.named_until.filter(|until| *until <= now && !self.allow_stale) {
            Some(until) => Err(Refused::of_lists(unusable(format!(
                "was due to be replaced on {until}; new lists of {} are not accepted until a new list \
                 of lists is",
                self.issuer_id
            )))),
            None => Ok(()),
        }
    }

    /// Refuses this list. For an unknown signer, the text names the option or the list of lists
    /// that determines the accepted signers.
    fn refused(&self, error: TrustedListError) -> Refused {
        let text = match (error.kind, &self.named_for) {
            (TrustedListErrorKind::UnknownSigner, None) => format!("the trusted list {UNKNOWN}"),
            (TrustedListErrorKind::UnknownSigner, Some(_)) => {
                "the trusted list has a signer that the list of lists does not name".into()
            }
            _ => error.to_string(),
        };
        Refused::List(Refusal { kind: error.kind, text, is_unreachable: false })
    }
}

/// An error of a list that is not usable here.
pub(super) fn unusable(why: impl Into<std::borrow::Cow<'static, str>>) -> TrustedListError {
    TrustedListError::new(TrustedListErrorKind::Unusable, why)
}

const UNKNOWN: &str = "has a signer that does not lead to --list-signer-ca";

impl From<StoreError> for Refused {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// Keeps a damaged list (`Damaged`) distinct from other failures.
impl From<Refused> for StoreError {
    fn from(why: Refused) -> Self {
        match why {
            Refused::List(why) if why.kind.is_integrity() => Self::Damaged(why.text),
            Refused::List(why) => Self::Failed(why.text),
            Refused::Store(error) => error,
        }
    }
}

/// Returns the outcome of a refresh that these entries refuse. If other entries accepted it, or the
/// reasons differ, the text names each entry that keeps its former list.
pub(super) fn outcome_of(refused: &[(&str, Refusal)], others_took_it: bool) -> Refreshed {
    let mut told: Vec<String> = refused.iter().map(|(_, why)| why.text.clone()).collect();
    told.dedup();
    if others_took_it || told.len() > 1 {
        let named = |(issuer_id, why): &(&str, Refusal)| format!("{issuer_id}: {}", why.text);
        told = refused.iter().map(named).collect();
    }
    let told = told.join("; ");
    if refused.iter().any(|(_, why)| why.kind == TrustedListErrorKind::Rollback) {
        return Refreshed::Rollback(told);
    }
    match refused.iter().all(|(_, why)| why.is_unreachable) {
        true => Refreshed::Unreachable(told),
        false => Refreshed::Refused(told),
    }
}

/// `option`: the option that gives the list.
pub(super) fn lacks_anchor(option: &str) -> StoreError {
    StoreError::Failed(format!(
        "{option} needs --list-signer-ca FILE, or --test: without a CA, anyone could have made the \
         list"
    ))
}

/// Returns the name of its source, under which the mark is stored. Lists for tests have marks of
/// their own, because anyone may have made them.
fn source(row: &ListRow) -> String {
    let organization = row.organization.as_deref().unwrap_or_default();
    match &row.url {
        Some(url) => source_named(url, row.test_only),
        None => source_named(&format!("{} O={organization}", row.list_type), row.test_only),
    }
}

pub(super) fn source_named(name: &str, test_only: bool) -> String {
    if test_only { format!("test {name}") } else { name.to_owned() }
}
