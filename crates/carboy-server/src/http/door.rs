//! The door itself: what every handler needs.

use std::sync::{Arc, OnceLock};
use std::time::{Duration, SystemTime};

use axum::http::HeaderValue;
use carboy_engine::{RunError, Sessions};
use carboy_protocol::PythonVersion;
use carboy_protocol::pipe::FailureKind;
use carboy_store::RunFiles;
use tokio::sync::{Semaphore, watch};
use tokio_rustls::TlsAcceptor;

use super::config::{Bounds, DoorConfig, TenantConfig};
use super::durable::{Jobs, Offered};
use super::leased::{Lessor, Quota};
use super::metrics::{Gauges, Metrics, TenantGauges};
use super::problem::Problem;
use super::recorded::{Records, Shown};
use super::seat::Seats;
use super::sessions_held::HeldSessions;
use super::shares::Shares;
use super::shelf::Shelves;
use super::tenant_tools;
use super::tenants::{ConfigFault, Tenants};
use super::tls;
use super::tools::HttpTools;
use super::uploads::Uploads;
use super::webhook::Webhooks;
use crate::desk::Desk;
use crate::telemetry::Telemetry;

/// One connection in so many is kept for those who have not shown a key.
const FOR_STRANGERS: usize = 8;

/// How many sources are checked at once, each on a thread, of all tenants.
const CHECKS: usize = 4;

/// How many long bodies are parsed at once, each on a thread, of all tenants.
const PARSES: usize = 4;

/// Whether runs are taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Not yet: it is not known whether runs work here.
    Starting,
    /// They are.
    Ready,
    /// They do not work here, and the operator is told why.
    Failed,
    /// Not any more.
    Draining,
}

/// A failure of ours, for the operator's log.
#[derive(Debug)]
pub struct Told<'a> {
    /// The id of the request.
    pub request: &'a str,
    /// What failed.
    pub error: &'a RunError,
}

/// Who hears of our failures. It must not block.
pub type Log = Box<dyn Fn(&Told<'_>) + Send + Sync>;

/// An HTTP door to a desk.
pub struct Door<R: Sessions> {
    pub(super) desk: Desk<R, String>,
    pub(super) python: PythonVersion,
    pub(super) tenants: Tenants,
    pub(super) bounds: Bounds,
    pub(super) metrics: Metrics,
    pub(super) seats: Arc<Seats>,
    pub(super) sessions: Arc<HeldSessions>,
    /// Places for sources to be checked. Whoever waits for one is served in turn.
    pub(super) checks: Arc<Semaphore>,
    /// Places for long bodies to be parsed.
    pub(super) parses: Arc<Semaphore>,
    /// Connections that have a tenant's request under way, or an answer to one that is still to be sent.
    pub(super) busy: Arc<Shares>,
    /// Bytes of bodies whose runs are not over, and of answers that are still to be sent.
    pub(super) memory: Arc<Shares>,
    /// Records of runs, if any are kept.
    pub(super) records: Shown,
    /// Durable jobs, if any are queued.
    pub(super) jobs: Offered,
    /// Where the jobs of each tenant may tell of their ends, by its number.
    pub(super) webhooks: Vec<Option<Webhooks>>,
    /// Files that runs left.
    pub(super) shelves: Shelves,
    /// Files that runs of a fleet left, if they are kept in a store.
    pub(super) stored: Option<RunFiles>,
    /// Files that tenants sent.
    pub(super) uploads: Uploads,
    pub(super) preloads: Vec<String>,
    /// The tools of each tenant, by its number.
    pub(super) tools: Vec<HttpTools>,
    telemetry: OnceLock<Telemetry>,
    pub(super) tls: Option<TlsAcceptor>,
    hosts: Vec<String>,
    origins: Vec<String>,
    standing: watch::Sender<Standing>,
    log: Log,
}

/// Where the jobs of each tenant may tell of their ends, by its number.
fn webhooks(config: &DoorConfig) -> Result<Vec<Option<Webhooks>>, ConfigFault> {
    let of_tenant = |(name, tenant): (&String, &TenantConfig)| {
        let fault = |why| ConfigFault { setting: format!("tenants.{name}.webhooks.secret"), why };
        tenant.webhooks.as_ref().map(Webhooks::of).transpose().map_err(fault)
    };
    config.tenants.iter().map(of_tenant).collect()
}

/// How often files are looked for that are there for too long.
const SWEEP: Duration = Duration::from_secs(30);

/// Removes files that are there for too long, also of tenants that ask for nothing.
pub(super) async fn sweep<R: Sessions>(door: Arc<Door<R>>) {
    loop {
        tokio::time::sleep(SWEEP).await;
        let door = door.clone();
        // It cannot panic, and if it did, the next may work.
        tokio::task::spawn_blocking(move || {
            door.shelves.forget();
            door.uploads.forget();
        })
        .await
        .ok();
    }
}

impl<R: Sessions> Door<R> {
    /// A door with these settings, to a desk whose jobs run on this version of Python.
    pub fn new(
        desk: Desk<R, String>,
        python: PythonVersion,
        config: &DoorConfig,
        log: Log,
    ) -> Result<Arc<Door<R>>, ConfigFault> {
        let bounds = config.bounds.clone();
        if bounds.connections < 2 {
            let why = "must be at least 2: one is kept for those without a key".into();
            return Err(ConfigFault { setting: "bounds.connections".into(), why });
        }
        if bounds.bodies_bytes < bounds.body_bytes {
            let why = "must be at least bounds.body_bytes".into();
            return Err(ConfigFault { setting: "bounds.bodies_bytes".into(), why });
        }
        let tenants = Tenants::of(config)?;
        let count = tenants.all().len();
        let seats = Seats::new(bounds.connections);
        let for_tenants = bounds.connections - bounds.connections.div_ceil(FOR_STRANGERS);
        let mut hosts: Vec<_> = config.hosts.iter().map(|host| host.to_ascii_lowercase()).collect();
        hosts.extend(["localhost", "127.0.0.1", "[::1]"].map(Into::into));
        Ok(Arc::new(Door {
            desk,
            python,
            tenants,
            metrics: Metrics::default(),
            seats,
            sessions: Arc::new(HeldSessions::new()),
            checks: Arc::new(Semaphore::new(CHECKS)),
            parses: Arc::new(Semaphore::new(PARSES)),
            busy: Shares::new(for_tenants, count, 1),
            memory: Shares::new(bounds.bodies_bytes, count, bounds.body_bytes),
            records: Shown::default(),
            jobs: Offered::default(),
            webhooks: webhooks(config)?,
            shelves: Shelves::new(
                bounds.files_bytes,
                config.tenants.values().map(|tenant| tenant.files_bytes),
            ),
            stored: config.stored.clone(),
            uploads: Uploads::new(
                config.uploads.clone(),
                bounds.uploads_bytes,
                config.tenants.values().map(|tenant| tenant.uploads_bytes),
            ),
            preloads: config.preloads.clone(),
            tools: tenant_tools::of(config)?,
            telemetry: OnceLock::new(),
            tls: config.tls.as_ref().map(tls::acceptor).transpose()?,
            hosts,
            origins: config.origins.clone(),
            standing: watch::Sender::new(Standing::Starting),
            bounds,
            log,
        }))
    }

    /// Tells of every request and run from now on. The first that is told stays.
    pub fn observe(&self, telemetry: Telemetry) {
        self.telemetry.set(telemetry).ok();
    }

    /// Who is told of requests and runs, if somebody is.
    pub fn telemetry(&self) -> Option<&Telemetry> {
        self.telemetry.get()
    }

    /// Shows each tenant its own of these records.
    pub fn show_records(&self, records: Arc<dyn Records>) {
        self.records.set(records);
    }

    /// Offers each tenant durable jobs of these.
    pub fn offer_jobs(&self, jobs: Arc<dyn Jobs>) {
        self.jobs.set(jobs);
    }

    /// Counts processor time that a tenant's job has used.
    pub fn used_cpu(&self, tenant: &str, seconds: f64) {
        if let Some(tenant) = self.tenants.all().iter().find(|known| known.name == tenant) {
            tenant.used_cpu(seconds);
        }
    }

    /// Says whether runs are taken. A door that drains goes on draining.
    pub fn set_standing(&self, standing: Standing) {
        self.standing.send_if_modified(|now| {
            let changes = *now != Standing::Draining && *now != standing;
            if changes {
                *now = standing;
            }
            changes
        });
    }

    /// Whether runs are taken.
    pub fn standing(&self) -> Standing {
        self.standing.borrow().clone()
    }

    /// Tenants whose keys have all expired, so that nobody can speak for them.
    pub fn locked_out(&self) -> Vec<String> {
        self.tenants.locked_out(SystemTime::now())
    }

    /// Who runs the jobs.
    pub fn runner(&self) -> &R {
        self.desk.runner()
    }

    pub(super) fn is_host(&self, name: &str) -> bool {
        let name = name.to_ascii_lowercase();
        self.hosts.iter().any(|host| *host == name || host == "*")
    }

    pub(super) fn is_origin(&self, origin: &HeaderValue) -> bool {
        self.origins.iter().any(|known| known.as_bytes() == origin.as_bytes())
    }

    /// The problem that a run without an outcome is answered with. The operator hears of our own failures.
    pub(super) fn problem(&self, request: &str, error: &RunError) -> Problem {
        let demanded = matches!(error, RunError::Engine(error) if error.missing_layer().is_some());
        if error.kind() == FailureKind::Engine && !demanded {
            self.failed(request, error);
        }
        Problem::of(error)
    }

    /// Tells the operator of a failure.
    pub fn failed(&self, request: &str, error: &RunError) {
        (self.log)(&Told { request, error });
    }

    /// What each tenant wants of this server: runs under way, and those that came since this was last asked.
    pub fn demands(&self) -> Vec<(String, f64)> {
        let tenants = self.tenants.all().iter();
        tenants
            .map(|tenant| {
                let wanted = tenant.under_way() as u64 + tenant.part.asked();
                (tenant.name.clone(), u32::try_from(wanted).map_or(f64::MAX, f64::from))
            })
            .collect()
    }

    /// Sets what of each tenant's quota this server may give out, from 0 to 1: several servers may share it.
    pub fn set_shares(&self, share: impl Fn(&str) -> f64) {
        for tenant in self.tenants.all() {
            tenant.part.set(share(&tenant.name));
        }
    }

    /// Has the exact quotas of tenants leased from now on. Nothing of them is given out that is not.
    pub fn lease_from(&self, lessor: &Arc<dyn Lessor>) {
        for tenant in self.tenants.all().iter().filter(|tenant| tenant.is_exact) {
            tenant.leased.set(lessor.clone(), &tenant.name);
        }
    }

    /// What is in use of a tenant's quota.
    pub fn in_use(&self, tenant: &str) -> Quota {
        let known = self.tenants.all().iter().find(|known| known.name == tenant);
        let runs = known.map_or(0, |tenant| tenant.under_way());
        Quota { runs, sessions: self.sessions.count(tenant) }
    }

    /// What is the case now, for whoever watches.
    pub(super) fn gauges(&self) -> Gauges {
        let tenants = self.tenants.all().iter();
        Gauges {
            load: self.desk.runner().load(),
            connections: self.seats.count(),
            spans: self.telemetry().map_or((0, 0), Telemetry::spans),
            ready: self.standing() == Standing::Ready && self.runner().unready().is_none(),
            tenants: tenants
                .map(|tenant| TenantGauges {
                    name: tenant.name.clone(),
                    runs: tenant.under_way(),
                    runs_most: tenant.runs_at_once,
                    sessions: self.sessions.count(&tenant.name),
                    sessions_most: tenant.sessions_at_once,
                    cpu_left: tenant.cpu_left(),
                })
                .collect(),
        }
    }

    /// Ends every run that is under way, and begins no more. Each is still answered.
    pub(super) fn cancel_all(&self) {
        for tenant in self.tenants.all() {
            for id in tenant.stop_all() {
                self.desk.cancel(&id);
            }
        }
    }

    /// How long runs under way are waited for at the end.
    pub(super) fn drain_time(&self) -> Duration {
        self.bounds.drain_time()
    }
}
