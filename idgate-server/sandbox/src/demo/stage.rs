//! The setup of the demo: sample issuers, a tenant, a certificate, and the gateways.

use std::path::Path;
use std::sync::Arc;

use idgate_core::Profile;

use super::act::Act;
use super::certificate::certify;
use super::desk::Desk;
use super::plan::Plan;
use idgate_base::clock::Clock;
use idgate_store::{OperatorStore, Store};

/// The name of the demo's tenant.
const TENANT: &str = "demo";

/// The gateways, a tenant and the two acts, ready to run.
pub(super) struct Stage {
    pub(super) main: Desk,
    /// A second gateway for `draft` by value.
    pub(super) inline: Option<Desk>,
    pub(super) acts: [Act; 2],
    pub(super) clock: Arc<dyn Clock>,
}

impl Stage {
    /// Puts the sample issuers and one test-mode tenant into the data directory, and starts the
    /// gateways of `plan` on it.
    ///
    /// # Errors
    /// The data directory is not the demo's, or a gateway cannot start.
    pub(super) async fn set(plan: Plan, clock: Arc<dyn Clock>) -> Result<Self, String> {
        let Plan { main, inline } = plan;
        let now = clock.now();
        let acts = [Act::sd_jwt_vc(now), Act::mdoc(now)];
        let operator = OperatorStore::open(&main.data_dir, main.instance_key.as_ref());
        let mut operator: Box<OperatorStore> = Box::new(operator.map_err(explain)?);
        check_owner(&operator, &main.data_dir, &acts)?;
        let tenant = operator.create_client(TENANT, false, None, now).map_err(explain)?;
        for act in &acts {
            operator.add_trust(act.issuer_id, &act.material.trust()?, now).map_err(explain)?;
        }
        let authority = certify(&mut operator, &main, now)?;
        drop(operator);
        let store = Store::open(&main.data_dir, main.store_options(), now).map_err(explain)?;
        let store: Arc<Store> = Arc::new(store);
        let open = |config| {
            let (clock, store) = (clock.clone(), store.clone());
            Desk::open(config, clock, store, tenant.api_key.expose(), authority.clone())
        };
        let main = open(main).await?;
        let inline = match inline {
            Some(config) => Some(open(config).await?),
            None => None,
        };
        Ok(Self { main, inline, acts, clock })
    }

    /// The gateway for sessions of this profile.
    pub(super) fn desk(&self, profile: Profile) -> &Desk {
        self.inline.as_ref().filter(|_| profile == Profile::Draft).unwrap_or(&self.main)
    }

    /// Stops the gateways.
    pub(super) async fn strike(self) {
        let inline = async {
            if let Some(desk) = self.inline {
                desk.gateway.shutdown().await;
            }
        };
        tokio::join!(self.main.gateway.shutdown(), inline);
    }
}

/// The keys of the sample issuers are public, so other tenants must not come to trust them.
fn check_owner(operator: &OperatorStore, folder: &Path, acts: &[Act]) -> Result<(), String> {
    let is_ours = |issuer_id: &str| acts.iter().any(|act| act.issuer_id == issuer_id);
    let clients = operator.clients().map_err(explain)?;
    let issuers = operator.trust_entries().map_err(explain)?;
    if clients.iter().all(|client| client.name == TENANT)
        && issuers.iter().all(|entry| is_ours(&entry.issuer_id))
    {
        return Ok(());
    }
    Err(format!(
        "{} has clients or issuers of its own, and the demo would add issuers whose keys are \
         public; choose a new directory, or omit --data-dir",
        folder.display()
    ))
}

fn explain(error: impl std::fmt::Display) -> String {
    error.to_string()
}
