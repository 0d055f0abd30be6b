//! What a list has to satisfy that an entry is to take, and what is stored then. Whoever asks reads what
//! is there first, and writes what comes of it: nothing, if it is refused.

use idgate_core::UnixMillis;
use idgate_core::crypto::aws_lc_rs::PROVIDER;
use idgate_core::shell::{
    ListMark, ListRules, TrustedList, TrustedListError, TrustedListErrorKind,
};
use idgate_core::trust::ListType;
use idgate_xml_list::{import_trusted_list, is_xml};

use super::listed::{ListRow, ListSettings, NewTrustedList, anchors};
use super::x509::sha256;
use super::{TrustChange, TrustRecord};
use crate::audit_chain::{AuditEvent, ListChange};
use crate::limits::MAX_LIST_SOURCES;
use crate::types::{FetchedList, Refreshed, StoreError};

/// What a change of an entry does to its list.
pub(crate) enum Step {
    Nothing,
    /// The one that it has is taken in another way.
    Settings(Box<ListRow>),
    /// It takes this one.
    List(Box<Prepared>),
}

impl TrustChange {
    /// What this does to the list of the entry called `issuer_id`, which was `former` so far.
    ///
    /// # Errors
    /// The list is refused; or there are settings for one, and there is none.
    pub(crate) fn list_step(
        &self,
        issuer_id: &str,
        former: Option<ListRow>,
        now: UnixMillis,
    ) -> Result<Step, StoreError> {
        if let Some(new) = &self.trusted_list {
            let settings = (&self.list_settings, self.test_only);
            let prepared = new.prepare(issuer_id, settings, former.as_ref(), now)?;
            return Ok(Step::List(Box::new(prepared)));
        }
        if self.list_settings.is_empty() {
            return Ok(Step::Nothing);
        }
        let mut row = former.ok_or_else(|| {
            StoreError::Failed(format!(
                "{issuer_id} has no trusted list; --provider and --signer-profile go with \
                 --trusted-list"
            ))
        })?;
        row.set(&self.list_settings);
        Ok(Step::Settings(Box::new(row)))
    }
}

/// A list that an entry takes once the mark of its source was looked at.
pub(crate) struct Prepared {
    row: ListRow,
    /// The key of its mark.
    pub(crate) source: String,
    list: TrustedList,
    accept_rollback: bool,
    /// The entry's former one.
    former: Option<ListRow>,
}

/// A list that is taken, with the mark of its source.
pub(super) struct Taken {
    pub(super) row: ListRow,
    pub(super) source: String,
    pub(super) mark: ListMark,
    /// What changes, unless it says what the one in force said.
    change: Option<ListChange>,
}

/// What becomes of a list that was fetched, for all entries that take theirs from there.
pub(crate) struct Refresh {
    pub(crate) outcome: Refreshed,
    pub(crate) taken: Vec<Taken>,
}

impl Refresh {
    /// The keys of the marks that are looked at.
    pub(crate) fn sources(url: &str) -> [String; 2] {
        [false, true].map(|test_only| source_named(url, test_only))
    }

    /// `formers`: the lists of those entries, each of which takes it or not for itself; `marks`: of
    /// [`Refresh::sources`].
    ///
    /// # Errors
    /// Something that is stored cannot be read.
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
        for former in formers {
            let [live, test] = marks;
            let mark = if former.test_only { test } else { live };
            let settings = (&ListSettings::default(), former.test_only);
            let prepared = new.prepare(&former.issuer_id, settings, Some(former), now);
            match prepared.and_then(|prepared| prepared.take(mark.as_ref(), now)) {
                Ok(taken) => refresh.add(taken),
                Err(Refused::List(error)) => refused.push((&former.issuer_id, error)),
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

    /// What the audit log says of it: an entry for each trust entry that changed.
    pub(crate) fn events(&self, by: &str, now: UnixMillis) -> Vec<AuditEvent> {
        let event = |taken: &Taken| {
            let event = AuditEvent::trust_changed(&taken.row.issuer_id, now).by(by);
            taken.change.map(|change| event.with_list(change))
        };
        self.taken.iter().filter_map(event).collect()
    }
}

impl NewTrustedList {
    /// What it says, for whoever has to know that before `change` gives it to the entry called `issuer_id`,
    /// which was `before` so far.
    ///
    /// # Errors
    /// It is refused.
    pub fn authenticated(
        &self,
        (issuer_id, before): (&str, Option<&TrustRecord>),
        change: &TrustChange,
        now: UnixMillis,
    ) -> Result<TrustedList, StoreError> {
        let settings = (&change.list_settings, change.test_only);
        let former = before.and_then(|before| before.trusted_list.as_ref());
        Ok(self.prepare(issuer_id, settings, former.map(|former| &former.row), now)?.list)
    }

    /// Reads it for this entry, whose list was `former` so far. The mark of its source is looked at by
    /// [`Prepared::take`].
    ///
    /// # Errors
    /// It is refused.
    fn prepare(
        &self,
        issuer_id: &str,
        (settings, test_only): (&ListSettings, bool),
        former: Option<&ListRow>,
        now: UnixMillis,
    ) -> Result<Prepared, Refused> {
        if former.is_some_and(|former| test_only && !former.test_only) {
            return Err(Refused::Store(StoreError::Failed(format!(
                "this list of {issuer_id} would replace a live one by one for tests; `idgate trust \
                 remove` the list in force first"
            ))));
        }
        let kept = |own: &Option<Vec<u8>>, of: fn(&ListRow) -> &Vec<u8>| {
            own.clone().or_else(|| former.map(of).cloned()).unwrap_or_default()
        };
        let mut row = ListRow {
            issuer_id: issuer_id.to_owned(),
            url: self.url.clone(),
            list_type: String::new(),
            organization: None,
            token: self.token.clone(),
            sha256: sha256(&self.token).to_vec(),
            anchors: kept(&self.anchors, |former| &former.anchors),
            crls: kept(&self.crls, |former| &former.crls),
            providers: former.map_or_else(|| "[]".into(), |former| former.providers.clone()),
            profile: former.and_then(|former| former.profile.clone()),
            allow_stale: former.is_some_and(|former| former.allow_stale),
            test_only,
            sequence: 0,
            listed: 0,
            next_update: now,
            added_at: now,
        };
        row.set(settings);
        let before = former.cloned();
        // What a list for tests was is no rule for a live one.
        let former = former.filter(|former| former.test_only == test_only);
        let list = self.import(&row, former, now)?;
        if former.is_some_and(|former| is_xml(&former.token) != is_xml(&self.token)) {
            return Err(Refused::List(TrustedListError::new(
                TrustedListErrorKind::Unusable,
                "is in another form (JSON or XML) than the list in force; remove the entry first",
            )));
        }
        row.list_type = list.list_type.name().to_owned();
        let organization = former.and_then(|former| former.organization.clone());
        row.organization = organization.or_else(|| list.signer.organization.clone());
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
            None => return Err(Refused::Store(lacks_anchor())),
        };
        rules.test_only = row.test_only;
        rules.crls = &crls;
        let fixed = former.and_then(|former| ListType::from_name(&former.list_type));
        rules.list_type = fixed.or(self.list_type);
        let stored = former.map(ListRow::recall).transpose()?;
        // A list in another form is refused as such.
        let has_form = former.is_some_and(|former| is_xml(&former.token) == is_xml(&self.token));
        let fixed = stored.as_ref().filter(|_| has_form);
        rules.territory = fixed.map(|stored| stored.territory.as_str());
        rules.organization = former.and_then(|former| former.organization.as_deref());
        rules.allow_stale = row.allow_stale;
        // It shows that the stored list came again, whose signer was valid when it came.
        let is_same = former.is_some_and(|former| former.sha256 == row.sha256);
        let in_force = stored.as_ref().filter(|_| is_same).map(|stored| stored.mark(None, now));
        rules.mark = in_force.as_ref();
        import_trusted_list(&PROVIDER, &self.token, &rules, now).map_err(Refused::List)
    }
}

impl Prepared {
    /// With the mark that is to be stored with it, if `mark` is the one of its source so far.
    ///
    /// # Errors
    /// It is an older list, or another one of the same number.
    pub(super) fn take(self, mark: Option<&ListMark>, now: UnixMillis) -> Result<Taken, Refused> {
        if let Some(mark) = mark.filter(|_| !self.accept_rollback) {
            self.list.check_newer(mark).map_err(Refused::List)?;
        }
        let mark = self.list.mark(mark, now);
        let payload_sha256 = self.list.payload_sha256;
        // One that was only signed again says nothing new.
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

/// Refuses another source than those that there are when these are as many as allowed.
pub(crate) fn check_sources(count: usize) -> Result<(), StoreError> {
    if count <= MAX_LIST_SOURCES {
        return Ok(());
    }
    Err(StoreError::Failed(format!(
        "there are {MAX_LIST_SOURCES} sources of trusted lists already; remove one first"
    )))
}

/// Why a list is not taken.
pub(crate) enum Refused {
    List(TrustedListError),
    Store(StoreError),
}

impl From<StoreError> for Refused {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// Tampering is told apart from mistakes.
impl From<Refused> for StoreError {
    fn from(why: Refused) -> Self {
        match why {
            Refused::List(error) if error.kind.is_integrity() => Self::Damaged(text_of(&error)),
            Refused::List(error) => Self::Failed(text_of(&error)),
            Refused::Store(error) => error,
        }
    }
}

/// What a refresh is counted as that these entries refuse, though others may have taken it: whoever is
/// told has to know which entries stay behind.
fn outcome_of(refused: &[(&String, TrustedListError)], others_took_it: bool) -> Refreshed {
    let mut told: Vec<String> = refused.iter().map(|(_, error)| text_of(error)).collect();
    told.dedup();
    if others_took_it || told.len() > 1 {
        let named = |(issuer_id, error): &_| format!("{issuer_id}: {}", text_of(error));
        told = refused.iter().map(named).collect();
    }
    let told = told.join("; ");
    match refused.iter().any(|(_, error)| error.kind == TrustedListErrorKind::Rollback) {
        true => Refreshed::Rollback(told),
        false => Refreshed::Refused(told),
    }
}

/// Names the option that gives the CA or the signer.
fn text_of(error: &TrustedListError) -> String {
    match error.kind {
        TrustedListErrorKind::UnknownSigner => {
            "the trusted list has a signer that does not lead to --list-signer-ca".into()
        }
        _ => error.to_string(),
    }
}

fn lacks_anchor() -> StoreError {
    StoreError::Failed(
        "--trusted-list needs --list-signer-ca FILE, or --test: without it anybody could have made \
         the list"
            .into(),
    )
}

/// What is remembered of lists for tests says nothing about live ones: anybody may have made them.
fn source(row: &ListRow) -> String {
    let organization = row.organization.as_deref().unwrap_or_default();
    match &row.url {
        Some(url) => source_named(url, row.test_only),
        None => source_named(&format!("{} O={organization}", row.list_type), row.test_only),
    }
}

fn source_named(name: &str, test_only: bool) -> String {
    if test_only { format!("test {name}") } else { name.to_owned() }
}
