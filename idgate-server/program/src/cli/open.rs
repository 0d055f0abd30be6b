//! Opens the store of a command, by the settings.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use super::warn;
use idgate_base::clock::Clock;
#[cfg(feature = "sandbox")]
use idgate_sandbox as sandbox;
use idgate_server::admin::Failure;
use idgate_server::config::{Config, DataDir, Settings};
#[cfg(feature = "sandbox")]
use idgate_server::stdio;
use idgate_store::{OperatorStore, PostgresOptions, Store, StoreError};

/// The pause between two attempts to reach a database that is not available yet.
const DATABASE_PAUSE: Duration = Duration::from_millis(500);

/// The store of a gateway, once its database is available.
pub(super) fn open_store(
    config: &Config,
    clock: Arc<dyn Clock>,
    migrates: bool,
) -> Result<Arc<Store>, Failure> {
    if let (Some(address), Some(instance_key)) = (&config.database, &config.instance_key) {
        let (environment, quotas) = (config.environment, config.quotas);
        let open = || {
            let options = PostgresOptions { address, instance_key, environment, quotas, migrates };
            Store::connect(options, clock.now())
        };
        return Ok(Arc::new(open_when_there(&*clock, config.database_wait, thread::sleep, open)?));
    }
    Store::open(&config.data_dir, config.store_options(), clock.now())
        .map(|store| {
            for what in idgate_store::missing(&config.data_dir) {
                tracing::warn!("{what}");
            }
            Arc::new(store)
        })
        .map_err(Failure::from)
}

/// Opens a store whose database may start at the same time as the gateway.
fn open_when_there<S>(
    clock: &dyn Clock,
    most: Duration,
    rest: impl Fn(Duration),
    open: impl Fn() -> Result<S, StoreError>,
) -> Result<S, StoreError> {
    let (began, mut is_told) = (clock.steady(), false);
    loop {
        let opened = open();
        let Err(StoreError::Unavailable(cause)) = &opened else { return opened };
        if clock.steady().saturating_sub(began) >= most {
            return opened;
        }
        if !is_told {
            let seconds = most.as_secs();
            tracing::warn!(
                cause,
                "the database is not available yet; waiting up to {seconds} s for it"
            );
            is_told = true;
        }
        rest(DATABASE_PAUSE);
    }
}

/// The store of a command that developers run. If no store is named and none exists, it is that of
/// a running sandbox.
pub(super) fn open_to_develop(
    settings: &Settings,
    creates: bool,
) -> Result<Box<OperatorStore>, Failure> {
    #[cfg(feature = "sandbox")]
    {
        use idgate_server::config::Environment;

        let is_named = settings.names("data_dir") || settings.names("database_url");
        let environment = settings.get("environment").map(|value| value.text.to_string());
        let is_development =
            environment.is_none_or(|it| it.is_empty() || it == Environment::Development.name());
        let DataDir { path, instance_key, .. } = DataDir::new(settings)?;
        if !is_named
            && is_development
            && !path.exists()
            && let Some(folder) = sandbox::running_folder()?
        {
            let folder_is = format!(
                "note: this command works on the running sandbox, in {}\n",
                folder.display()
            );
            stdio::to_stderr(stdio::for_people(&folder_is));
            return Ok(Box::new(OperatorStore::open_existing(&folder, instance_key.as_ref())?));
        }
    }
    open_operator(settings, creates)
}

/// The store of `keys reseal`, which may remove a required key.
pub(super) fn open_to_reseal(settings: &Settings) -> Result<Box<OperatorStore>, Failure> {
    let DataDir { path, database, instance_key } = DataDir::new(settings)?;
    if let (Some(address), Some(key)) = (&database, &instance_key) {
        return Ok(Box::new(OperatorStore::connect_to_reseal(address, key)?));
    }
    idgate_store::exposed(&path).iter().for_each(|warning| warn(warning));
    Ok(Box::new(OperatorStore::open_to_reseal(&path, instance_key.as_ref())?))
}

/// The database, or else the data directory. Only a command that `creates` something makes the
/// directory, and with a settings file only if the operator named it. A gateway that was started
/// differently would use another directory, and refuse the keys of this one.
pub(super) fn open_operator(
    settings: &Settings,
    creates: bool,
) -> Result<Box<OperatorStore>, Failure> {
    let DataDir { path, database, instance_key } = DataDir::new(settings)?;
    if let (Some(address), Some(key)) = (&database, &instance_key) {
        return Ok(Box::new(OperatorStore::connect(address, key)?));
    }
    idgate_store::exposed(&path).iter().for_each(|warning| warn(warning));
    if !creates || path.is_dir() {
        return Ok(Box::new(OperatorStore::open_existing(&path, instance_key.as_ref())?));
    }
    if let (Some(file), false) = (settings.file(), settings.names("data_dir")) {
        return Err(Failure::Error(format!(
            "the settings file {} has no data_dir, and there is no data directory {}; write \
             data_dir = \"…\" into the file, or set IDGATE_DATA_DIR, with the directory of the \
             gateway",
            file.display(),
            path.display()
        )));
    }
    let store = OperatorStore::open(&path, instance_key.as_ref())?;
    let whole = path.canonicalize().unwrap_or(path);
    warn(&format!(
        "{} is a new data directory; a gateway with another data directory will not see this \
         change",
        whole.display()
    ));
    Ok(Box::new(store))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::cell::Cell;

    use idgate_core::UnixMillis;

    use super::*;
    use idgate_base::clock::VirtualClock;

    #[test]
    fn a_start_waits_for_an_unavailable_database_and_for_no_other_fault() {
        let away =
            || StoreError::Unavailable("PostgreSQL: the database system is starting up".into());
        let tried = |most: u64, outcomes: &[Option<StoreError>]| {
            let (clock, tries) = (VirtualClock::at(UnixMillis(0)), Cell::new(0));
            let rest = |time: Duration| clock.advance(u64::try_from(time.as_millis()).unwrap());
            let open = || {
                let outcome = outcomes.get(tries.replace(tries.get() + 1)).cloned().flatten();
                outcome.map_or(Ok(()), Err)
            };
            let opened = open_when_there(&clock, Duration::from_secs(most), rest, open);
            (opened.is_ok(), tries.get(), clock.steady())
        };
        let half = Duration::from_millis(500);
        assert_eq!(tried(30, &[None]), (true, 1, Duration::ZERO));
        assert_eq!(tried(30, &[Some(away()), Some(away()), None]), (true, 3, 2 * half));
        let always = vec![Some(away()); 100];
        assert_eq!(tried(30, &always), (false, 61, 60 * half));
        assert_eq!(tried(0, &always), (false, 1, Duration::ZERO));
        let wrong = StoreError::Failed("PostgreSQL: password authentication failed".into());
        assert_eq!(tried(30, &[Some(away()), Some(wrong)]), (false, 2, half));
    }
}
