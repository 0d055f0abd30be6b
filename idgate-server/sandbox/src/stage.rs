//! The setup before a sandbox serves: listeners, issuers and lists, a tenant, the gateway, and what
//! the gateway trusts.

use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use idgate_core::UnixMillis;
use idgate_core::crypto::aws_lc_rs::PROVIDER;
use idgate_core::shell::webhook::SigningSecret;
use idgate_core::shell::{AGE_DOC_TYPE, RootOrigin, TrustAnchor};
use idgate_testkit::codec::HashAlg;
use idgate_testkit::keys::pem;
use idgate_testkit::mdoc::MDL;
use idgate_testkit::samples;
use idgate_testkit::x509::Identity;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;

use super::asks::{EU_AV, EU_MDL, EU_PID, PHONE_CARDS, PHONES};
use super::certificate::Place;
use super::issuers::{PID, Provider};
use super::kept::{Kept, Running};
use super::memory::Memory;
use super::phones::{MEMBERSHIP, PhoneRoutes, Phones, is_public};
use super::plan::Plan;
use super::published::list_signer;
use super::state::{LISTS, Lists, State, lock};
use super::way::Way;
use super::{certificate, front, routes, serving};
use crate::demo::act::Material;
use crate::demo::certificate::certify;
use crate::demo::folder::Folder;
use crate::demo::plan::Said;
use crate::limits::FORGETTING_EVERY;
use idgate_base::clock::Clock;
use idgate_base::task::boxed;
use idgate_server::admin::trust::eu_av;
use idgate_server::config::Config;
use idgate_server::log;
use idgate_server::serve::{self, RunningGateway, Variations};
use idgate_server::stdio;
use idgate_server::work::{self, list_refresh};
use idgate_store::{NewTrustedList, OperatorStore, Review, Store, TrustChange};

/// The name of the sandbox's tenant.
const TENANT: &str = "sandbox";

/// A running sandbox.
pub(super) struct Stage {
    pub(super) state: Arc<State>,
    /// Whether its keys have never been shown.
    pub(super) is_new: bool,
    gateway: RunningGateway,
    listeners: Vec<JoinHandle<()>>,
}

impl Stage {
    /// Sets up a sandbox in `folder`.
    ///
    /// # Errors
    /// The folder belongs to something else, an address is in use, or the gateway cannot start.
    pub(super) async fn set(
        plan: Plan,
        said: Said<'_>,
        folder: &Folder,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, String> {
        let now = clock.now();
        let dir = Path::new(folder.text());
        let pages = bind("--page-listen", plan.page_listen).await?;
        let (https, on_lan) = doors(plan.https_listen, plan.lan).await?;
        let (page_at, https_at) = (address_of(&pages)?, address_of(&https)?);
        let mut kept = Kept::of(dir, now)?;
        let is_new = !kept.shown;
        let page = format!("http://{page_at}");
        let providers = Provider::all(&kept.seed, kept.made_at, &page);
        let place = Place::of_machine(plan.name.as_deref());
        let authority = certificate::authority(&kept.seed, kept.made_at, &place, now.0);
        let acceptor = certificate::acceptor(&authority, &place, now.0)?;
        let on_network = match plan.lan {
            None => None,
            Some(address) => {
                let place = Place::of_network(address, plan.name.as_deref());
                let authority = certificate::authority(&kept.seed, kept.made_at, &place, now.0);
                let acceptor = certificate::acceptor(&authority, &place, now.0)?;
                Some((authority, acceptor))
            }
        };
        let (phone_authority, phone_acceptor) = on_network.unzip();
        let der = |authority: &Identity| authority.der.clone();
        let for_phones = phone_authority.as_ref().map(der);
        let given = plan.extra_ca_file();
        let ca = ca_files(dir, &authority.der, for_phones.as_deref(), given.as_deref())?;
        let config = plan.config(said, dir, &ca, https_at)?;
        log::init(&config)?;
        let operator = operator(&config, &mut kept, &providers, &clock)?;
        let routes = PhoneRoutes::default();
        let memory = Arc::new(Memory::new(clock.clone()));
        let gateway = start(&config, &clock, &routes, memory.clone()).await?;
        let (here, base_url) = (gateway.local_addr(), gateway.base_url().to_owned());
        let lists = page.clone();
        kept.running = Some(Running { base_url: base_url.clone(), gateway: here, lists });
        kept.write(dir)?;
        // The gateway does not fetch from its own address, so on loopback the console's listener
        // publishes the lists.
        let published_at = if is_public(&base_url) { &base_url } else { &page };
        let published_at = format!("{published_at}/vci");
        let [first, _] = &providers;
        let phones = Phones::new(first, &base_url, &published_at, dir, clock.clone())?;
        let phones = Arc::new(phones);
        routes.open(phones.clone());
        let egress = work::way_out(config.fetch_allow_cidrs.clone(), Some(&ca))?;
        let state = State {
            clock,
            list_signer: list_signer(&kept.seed, kept.made_at),
            providers,
            authority,
            phone_authority,
            phones,
            gateway: format!("http://{here}"),
            way: Way::default().over(&base_url, here),
            base_url,
            page,
            https: format!("https://localhost:{}", https_at.port()),
            profiles: config.profiles.enabled.iter().map(|profile| profile.name()).collect(),
            egress: Arc::new(egress),
            secret: SigningSecret::new(&*kept.signing_secret).map_err(explain)?,
            operator: Arc::new(Mutex::new(operator)),
            kept: Mutex::new((dir.to_owned(), kept)),
            lists: Mutex::new(Lists::default()),
            deliveries: Mutex::default(),
            shown_offer: Mutex::new(None),
            memory: memory.clone(),
            notice: Mutex::new(None),
        };
        let state = Arc::new(state);
        state.publish([true; 2])?;
        let mut listeners = vec![tokio::spawn(boxed(serving::serve(pages, None, {
            let state = state.clone();
            move |request| routes::handle(state.clone(), page_at, request)
        })))];
        listeners.push(tokio::spawn(boxed(forget_old(memory))));
        let doors = [Some((https, acceptor)), on_lan.zip(phone_acceptor)];
        for (listener, acceptor) in doors.into_iter().flatten() {
            let state = state.clone();
            let handle = move |request| front::handle(state.clone(), here, request);
            let serving = serving::serve(listener, Some(acceptor), handle);
            listeners.push(tokio::spawn(boxed(serving)));
        }
        let stage = Self { state, is_new, gateway, listeners };
        stage.follow_lists().await?;
        stage.receive_webhooks().await?;
        Ok(stage)
    }

    /// Records that the keys were shown; they are not shown again.
    ///
    /// # Errors
    /// That cannot be stored.
    pub(super) fn keys_are_shown(&self) -> Result<(), String> {
        let mut kept = lock(&self.state.kept);
        kept.1.shown = true;
        kept.1.write(&kept.0)
    }

    /// Stops the sandbox.
    pub(super) async fn strike(self) {
        self.gateway.shutdown().await;
        self.listeners.iter().for_each(JoinHandle::abort);
        let mut kept = lock(&self.state.kept);
        kept.1.running = None;
        // Best effort: a temporary folder is deleted anyway.
        let _unwritten = kept.1.write(&kept.0);
    }

    /// Trusts the lists by URL, as an operator would.
    async fn follow_lists(&self) -> Result<(), String> {
        let state = &self.state;
        let entries = [(EU_PID, Some(vec![String::from(samples::VCT)]), PID), (EU_MDL, None, MDL)];
        for ((issuer_id, vct, doc_type), (_, path)) in entries.into_iter().zip(LISTS) {
            let url = format!("{}{path}", state.https);
            let (egress, now) = (state.egress.clone(), state.clock.now());
            let anchor = state.list_signer.der.clone();
            let follow = move |operator: &mut OperatorStore| {
                let token = list_refresh::fetch_once(&egress, &url);
                let token = token.map_err(|why| format!("{url}: {why}"))?;
                let change = TrustChange {
                    vct,
                    doc_types: Some(vec![doc_type.into()]),
                    trusted_list: Some(NewTrustedList {
                        url: Some(url),
                        token,
                        list_type: None,
                        anchors: Some(anchor),
                        crls: None,
                        accept_rollback: false,
                    }),
                    test_only: true,
                    ..TrustChange::default()
                };
                operator.add_trust(issuer_id, &change, now).map(drop).map_err(explain)
            };
            state.operate(follow).await?;
        }
        Ok(())
    }

    /// Sets the receiver as the tenant's webhook endpoint, unless the tenant has set another one.
    async fn receive_webhooks(&self) -> Result<(), String> {
        const PATH: &str = "/v1/webhook-endpoint";
        let (state, now) = (&self.state, self.state.clock.now());
        let approve = move |operator: &mut OperatorStore| {
            for host in ["127.0.0.1", "[::1]", "localhost"] {
                operator.review_webhook_host(host, Review::Approve, now).map_err(explain)?;
            }
            Ok(())
        };
        state.operate(approve).await?;
        let before = state.tenant("GET", PATH, None).await?;
        let before = before.get("url").and_then(Value::as_str).map(String::from);
        let receiver = format!("{}/webhooks", state.page);
        let own = lock(&state.kept).1.receiver.clone();
        // The receiver's URL of the last run may have had another port. Any other URL is the
        // developer's.
        if before.is_some_and(|url| url != receiver && own.as_deref() != Some(&*url)) {
            return Ok(());
        }
        let wish = json!({ "url": receiver, "signing_secret": state.secret.expose() });
        let put = state.tenant("PUT", PATH, Some(&wish)).await?;
        if put.get("url").is_none() {
            return Err(format!("the gateway does not accept the webhook receiver: {put}"));
        }
        let mut kept = lock(&state.kept);
        kept.1.receiver = Some(receiver);
        kept.1.write(&kept.0)
    }
}

/// Creates the tenant, and trusts the first provider by its key and its root.
fn operator(
    config: &Config,
    kept: &mut Kept,
    providers: &[Provider; 2],
    clock: &Arc<dyn Clock>,
) -> Result<Box<OperatorStore>, String> {
    let now = clock.now();
    let operator = OperatorStore::open(&config.data_dir, config.instance_key.as_ref());
    let mut operator: Box<OperatorStore> = Box::new(operator.map_err(explain)?);
    if kept.client_id.is_empty() {
        let made = operator.create_client(TENANT, false, None, now).map_err(explain)?;
        kept.client_id = made.client_id;
        made.api_key.expose().clone_into(&mut kept.api_key);
        made.signing_secret.as_str().clone_into(&mut kept.signing_secret);
        // Write now: the keys cannot be read from the gateway again.
        kept.write(&config.data_dir)?;
    }
    let [first, _] = providers;
    drop_former_material(&mut operator, first, now)?;
    if !kept.marked {
        // The previous keys no longer sign anything.
        let note = "note: the sample issuers of this folder have new roots and keys, which are marked as samples; import \
                    /files/iaca.pem and /files/issuer.jwk.json again wherever you trusted the previous ones\n";
        stdio::to_stderr(note.to_owned());
        kept.marked = true;
        kept.write(&config.data_dir)?;
    }
    let phones = phone_trust(first, samples::VCT, &[MDL, PID, AGE_DOC_TYPE])?;
    let cards = phone_trust(first, MEMBERSHIP, &[])?;
    let ages = age_trust(first)?;
    for (issuer_id, change) in [(PHONES, phones), (PHONE_CARDS, cards), (EU_AV, ages)] {
        operator.add_trust(issuer_id, &change, now).map_err(explain)?;
    }
    let key = Material::Key(first.key.public_jwk());
    let root = Material::Root(first.root.der.clone());
    for (issuer_id, material) in [(samples::ISSUER, key), (samples::MDL_ISSUER, root)] {
        operator.add_trust(issuer_id, &material.trust()?, now).map_err(explain)?;
    }
    certify(&mut operator, config, now)?;
    Ok(operator)
}

/// Removes the roots and keys of previous starts: roots whose CRL has another address, and roots
/// and keys without the marker.
fn drop_former_material(
    operator: &mut OperatorStore,
    provider: &Provider,
    now: UnixMillis,
) -> Result<(), String> {
    let (own, own_key) = (anchor(provider)?, provider.key.public_spki());
    // The names of unmarked roots did not contain TEST.
    let unmarked = own.subject().replace(" TEST root", " root");
    for issuer_id in [samples::ISSUER, samples::MDL_ISSUER, PHONES, PHONE_CARDS, EU_AV] {
        let Some(record) = operator.trust_entry(issuer_id).map_err(explain)? else { continue };
        let roots = record.roots.iter().chain(&record.sd_jwt_roots).map(|root| &root.certificate);
        let former = roots.filter(|root| {
            [own.subject(), &*unmarked].contains(&root.subject()) && root.der() != own.der()
        });
        let mut former: BTreeSet<[u8; 32]> = former.map(TrustAnchor::sha256).collect();
        let keys = record.keys.iter().filter(|key| key.kid.as_deref() == Some(provider.is.key));
        let keys = keys.map(|key| key.key.spki_der()).filter(|key| *key != own_key);
        former.extend(keys.filter_map(|key| <[u8; 32]>::try_from(HashAlg::Sha256.hash(&key)).ok()));
        for sha256 in &former {
            operator.remove_trust_material(issuer_id, sha256, now).map_err(explain)?;
        }
    }
    Ok(())
}

fn anchor(provider: &Provider) -> Result<TrustAnchor, String> {
    TrustAnchor::from_der(&PROVIDER, &provider.root.der, RootOrigin::RootFile).map_err(explain)
}

/// Trust in the samples on phones, for SD-JWT VC and mdoc, by the provider's root.
fn phone_trust(provider: &Provider, vct: &str, doc_types: &[&str]) -> Result<TrustChange, String> {
    let root = anchor(provider)?;
    let is_of_mdocs = !doc_types.is_empty();
    Ok(TrustChange {
        vct: Some(vec![vct.into()]),
        doc_types: Some(doc_types.iter().map(|name| String::from(*name)).collect()),
        roots: is_of_mdocs.then(|| root.clone()).into_iter().collect(),
        sd_jwt_roots: vec![root],
        test_only: true,
        ..TrustChange::default()
    })
}

/// Trust in proofs of age, as `trust add --preset eu-av` sets it up.
fn age_trust(provider: &Provider) -> Result<TrustChange, String> {
    let roots = vec![anchor(provider)?];
    let mut change = TrustChange { roots, test_only: true, ..TrustChange::default() };
    eu_av(&mut change);
    Ok(change)
}

async fn start(
    config: &Config,
    clock: &Arc<dyn Clock>,
    routes: &PhoneRoutes,
    memory: Arc<Memory>,
) -> Result<RunningGateway, String> {
    let store = Store::open(&config.data_dir, config.store_options(), clock.now());
    let store = store.map_err(explain)?;
    let store: Arc<Store> = Arc::new(store);
    let variations = Variations {
        routes: Some(Arc::new(routes.clone())),
        // Behind a tunnel, every client is a peer on loopback.
        hides_admin: config.base_url.as_deref().is_some_and(is_public),
        observer: Some(memory),
        ..Variations::default()
    };
    serve::start_with(config, clock.clone(), store, variations).await
}

/// Removes expired claims from the console's memory, even while no browser polls.
async fn forget_old(memory: Arc<Memory>) {
    loop {
        tokio::time::sleep(FORGETTING_EVERY).await;
        memory.forget_old();
    }
}

/// Writes the CAs of the sandbox's https to files: one for programs on this machine, one to install
/// on a phone. Returns the file for the gateway, which holds both and the roots of `given`.
fn ca_files(
    folder: &Path,
    der: &[u8],
    for_phones: Option<&[u8]>,
    given: Option<&Path>,
) -> Result<PathBuf, String> {
    let own = pem("CERTIFICATE", der);
    let for_phones = for_phones.map(|der| pem("CERTIFICATE", der));
    let put = |name: &str, text: &str| {
        let path = folder.join(name);
        let written = std::fs::write(&path, text);
        written.map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(path)
    };
    let alone = put("sandbox-ca.pem", &own)?;
    if let Some(for_phones) = &for_phones {
        put("sandbox-phone-ca.pem", for_phones)?;
    }
    let both = for_phones.map(|for_phones| format!("{own}\n{for_phones}"));
    let Some(given) = given else {
        return both.map_or(Ok(alone), |both| put("sandbox-both-cas.pem", &both));
    };
    let own = both.unwrap_or(own);
    let wrong =
        |why: &dyn std::fmt::Display| format!("IDGATE_EXTRA_CA_FILE: {}: {why}", given.display());
    let text = std::fs::read_to_string(given).map_err(|error| wrong(&error))?;
    let all = CertificateDer::pem_slice_iter(text.as_bytes()).collect::<Result<Vec<_>, _>>();
    if all.map_err(|_| wrong(&"is not PEM; convert it to PEM"))?.is_empty() {
        return Err(wrong(&"holds no certificate in PEM"));
    }
    put("sandbox-ca-and-given.pem", &format!("{own}\n{text}"))
}

/// How many ports chosen by the system are tried until one is free at both addresses.
const CHOICES: usize = 16;

/// The https listeners of this machine and of the network, on the same port. If the port that the
/// system chose for the first is taken at the second address, another one is tried.
async fn doors(
    here: SocketAddr,
    lan: Option<IpAddr>,
) -> Result<(TcpListener, Option<TcpListener>), String> {
    let mut refused = Vec::new();
    loop {
        let https = bind("--https-listen", here).await?;
        let Some(address) = lan else { return Ok((https, None)) };
        match bind("--lan", (address, address_of(&https)?.port()).into()).await {
            Ok(on_lan) => return Ok((https, Some(on_lan))),
            Err(error) if here.port() != 0 || refused.len() == CHOICES => return Err(error),
            // Keep it until the search ends, so that the system does not choose the port again.
            Err(_) => refused.push(https),
        }
    }
}

async fn bind(option: &str, address: SocketAddr) -> Result<TcpListener, String> {
    TcpListener::bind(address).await.map_err(|error| {
        format!("{option}: cannot listen on {address}: {error}; choose another address or port")
    })
}

fn address_of(listener: &TcpListener) -> Result<SocketAddr, String> {
    listener.local_addr().map_err(|error| error.to_string())
}

fn explain(error: impl std::fmt::Display) -> String {
    error.to_string()
}
