//! The engine: validates a job, takes a jar, runs it, says what came of it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use carboy_protocol::{Job, JobFrame, Limits, Opening, Outcome, Policy, SetupFault, ToJar};
use tokio::sync::mpsc;

use crate::admit::budget::{Budget, LIGHT};
use crate::admit::files::{self, Zones};
use crate::admit::gate::{Gate, GateConfig};
use crate::admit::{language, outcome, request};
use crate::error::{EngineError, RequestError, RunError};
use crate::host::{Because, Host, Installation, Python, Versions};
use crate::kernel::blocking::elsewhere;
use crate::kernel::cgroup::{Bounds, Tree};
use crate::kernel::id::new_id;
use crate::plan::{self, Base, Plan};
use crate::pool::{Pool, PoolConfig};
use crate::run::{self, Contact};
use crate::runner::{Load, RunOptions, Runner, Witness};
use crate::session::{self, Session, SessionCore, Sessions};
use crate::tier::process::{Preload, Preloading, Process, ProcessJar, Renewal};
use crate::tier::{Inputs, Jar, Tier};
use crate::verdict::Given;

/// Code from this length on is checked on another thread: a megabyte takes half a second, in which nobody else
/// would have a turn.
const LONG_SOURCE: usize = 16 << 10;

/// What an engine is made of.
#[derive(Clone, Debug)]
pub struct Config {
    /// Where the parts of carboy are.
    pub installation: Installation,
    /// The interpreter: a path, or a name on `PATH`.
    pub python: PathBuf,
    /// Which versions of it are taken.
    pub versions: Versions,
    /// Modules that the zygote imports once, for every jar.
    pub preload: Vec<String>,
    /// Hears of each of these modules when it is done. What does not fit into the channel is not told.
    pub preloading: Option<mpsc::Sender<Preloading>>,
    /// No job gets more than this, whatever it asks for.
    pub ceiling: Option<Limits>,
    /// From which directories of the host jobs may be given files. `None` means from any, unless there is a
    /// ceiling: then from none.
    pub inputs_from: Option<Vec<PathBuf>>,
    /// Where private directories are made for jars in nested walls.
    pub scratch: PathBuf,
    /// How many jars stand ready.
    pub pool: PoolConfig,
    /// How many runs there may be at once, and how many may wait.
    pub gate: GateConfig,
}

impl Config {
    /// An interpreter without preloaded modules or a ceiling; private directories are made in the
    /// host's temporary one.
    pub fn new(installation: Installation, python: impl Into<PathBuf>) -> Config {
        Config {
            installation,
            python: python.into(),
            versions: Versions::default(),
            preload: vec![],
            preloading: None,
            ceiling: None,
            inputs_from: None,
            scratch: std::env::temp_dir(),
            pool: PoolConfig::default(),
            gate: GateConfig::default(),
        }
    }
}

/// Runs jobs. Dropping a run's future destroys its jar; dropping the engine ends everything.
pub struct Engine {
    ceiling: Option<Limits>,
    inputs_from: Zones,
    budget: Budget,
    groups: Result<Arc<Tree>, String>,
    gate: Arc<Gate>,
    pool: Pool<Process>,
}

impl Engine {
    /// An engine for one interpreter. Nothing is started yet.
    pub fn new(config: Config) -> Result<Engine, RunError> {
        let python = Python::find(&config.python, config.versions)?;
        let base = Base::resolve(Host::look(), config.installation, python, config.preload);
        let PoolConfig { ceiling, renew_after_forks, renew_after } = config.pool;
        let renewal = Renewal { after_forks: renew_after_forks, after: renew_after };
        let budget = Budget::new(config.gate.memory_bytes, &base.host.memory);
        let ceiling = budget.standing(ceiling);
        // As many tasks as it likes: each jar has a bound of its own, and the machine has one.
        let bounds = Bounds { memory_bytes: budget.bytes, tasks: 1 << 15 };
        let groups = Tree::own(bounds);
        let held = groups.clone().ok();
        let tier = Process::new(base, config.scratch, renewal, held, config.preloading);
        let pool = Pool::new(tier.up_to(ceiling), ceiling);
        // A place without descriptors for a jar would be none.
        let running = config.gate.running.min(Process::slots());
        let memory_bytes = Some(budget.bytes);
        let gate = Gate::new(GateConfig { running, memory_bytes, ..config.gate });
        let nowhere = config.ceiling.is_some().then(Vec::new);
        let inputs_from = config.inputs_from.or(nowhere);
        Ok(Engine { ceiling: config.ceiling, inputs_from, budget, groups, gate, pool })
    }

    /// The host this engine is on.
    pub fn host(&self) -> &Host {
        &self.base().host
    }

    /// What all runs together may come to use, in bytes, and where that number comes from.
    pub fn memory_budget(&self) -> (u64, &str) {
        (self.budget.bytes, &self.budget.source)
    }

    /// Where the control groups of its jars are, or why there are none.
    pub fn cgroup(&self) -> Result<&Path, &str> {
        self.groups.as_ref().map(|tree| tree.place()).map_err(String::as_str)
    }

    /// The interpreter it runs.
    pub fn python(&self) -> &Python {
        &self.base().python
    }

    /// What of the host can be read, each with because of what.
    pub(crate) fn shown(&self) -> &BTreeMap<PathBuf, BTreeSet<Because>> {
        &self.base().because
    }

    /// Whether only the engine itself can reach something of that, and not its jars in nested walls.
    pub(crate) fn is_out_of_reach(&self, path: &Path) -> bool {
        self.base().is_out_of_reach(path)
    }

    /// The modules that are to be preloaded. Which of them are imported in each jar is known once a
    /// jar was made.
    pub fn preloads(&self) -> Vec<Preload> {
        self.pool.tier().preloads()
    }

    /// What a job under this policy would be sealed to.
    pub fn plan(&self, policy: &Policy) -> Result<Plan, RunError> {
        Ok(self.pool.tier().explain(&self.admitted(policy)?)?)
    }

    /// What this job would be sealed to, with what it is handed. Nothing of the host is handed in yet.
    pub fn plan_of(&self, job: &Job) -> Result<Plan, RunError> {
        let mut plan = self.plan(&job.policy)?;
        if let Some(open) = self.opening(&mut job.clone(), None) {
            plan.given = open()?.given();
        }
        Ok(plan)
    }

    /// Makes `count` jars for this policy stand, and waits until they do. They are kept standing.
    pub async fn stand(&self, policy: &Policy, count: usize) -> Result<(), RunError> {
        Ok(self.pool.stand(&self.admitted(policy)?, count).await?)
    }

    /// The processes of the jars that stand for this policy. For one that is not valid there are none.
    pub fn standing(&self, policy: &Policy) -> Vec<u32> {
        self.admitted(policy).map_or(vec![], |policy| self.pool.standing(&policy))
    }

    /// Runs a job to its end.
    pub async fn run(&self, job: Job) -> Result<Outcome, RunError> {
        self.run_with(job, RunOptions::default()).await
    }

    /// Runs a job to its end, with output as it comes or a way to cancel it.
    pub async fn run_with(&self, mut job: Job, options: RunOptions) -> Result<Outcome, RunError> {
        let policy = self.admitted(&job.policy)?;
        request::check(&job, &options)?;
        let mut needs = self.budget.needs(&policy.limits, self.pool.tier().holds(&policy))?;
        let id = options.id.map_or_else(new_id, Ok)?;
        let asked = Instant::now();
        let language = language::language(&policy, &job);
        let version = self.base().python.language;
        let report = if job.code.len() < LONG_SOURCE {
            carboy_guard::check_job(&job, &language, version)
        } else {
            let (wanted, granted) = (job, language.clone());
            let check = move || (carboy_guard::check_job(&wanted, &granted, version), wanted);
            let (report, wanted) = elsewhere(check).await.ok_or(RunError::Cancelled)?;
            job = wanted;
            report
        };
        if !report.is_clean() {
            return Ok(language::rejected(id, policy.walls, &report));
        }
        let given = Given::of(&job);
        let inputs = match self.opening(&mut job, options.witness.clone()) {
            Some(open) => {
                let inputs = Arc::new(elsewhere(open).await.ok_or(RunError::Cancelled)??);
                needs.own_bytes = (needs.own_bytes + inputs.bytes()).min(self.budget.bytes);
                Some(inputs)
            }
            None => None,
        };
        let mut cancel = options.cancel;
        // In a box: what it takes to make a jar is large, and most runs find one that stands.
        let admitted = Box::pin(async {
            let place = self.gate.enter(&options.tenant, needs, options.deadline).await?;
            let taking = self.take(&policy, inputs.as_ref());
            let jar = match options.deadline {
                None => taking.await?,
                Some(deadline) => tokio::time::timeout_at(deadline.into(), taking)
                    .await
                    .map_err(|_| RunError::Busy(self.gate.late()))??,
            };
            Ok::<_, RunError>((place, jar))
        });
        let (place, mut jar) = tokio::select! {
            both = admitted => both?,
            () = run::cancelled(&mut cancel) => return Err(RunError::Cancelled),
        };
        if let Some(begun) = options.begun {
            begun.send(()).ok(); // Whoever wanted to know may be gone.
        }
        let running = self.pool.running();
        let queue_ms = asked.elapsed().as_secs_f64() * 1e3;
        let limits = &policy.limits;
        let frames = request::frames(&mut job);
        let code = Arc::new(job.code);
        let frame = JobFrame {
            code: code.clone(),
            frames,
            inputs: job.inputs,
            environment: self.pool.tier().environment(limits, &jar),
            guard: language::frame(language, report),
            tools: job.tools.clone(),
            strict: policy.strict,
            displays: run::display_frame(&policy),
        };
        let contact = Contact {
            sink: options.chunks,
            cancel,
            tools: &job.tools,
            host: options.tools,
            run: &id,
            artifacts: options.artifacts,
            owed: vec![],
        };
        let mut record = run::run(&mut jar, ToJar::Job(frame), limits, contact).await?;
        if inputs.is_some() {
            record.facts.leave_out_files();
        }
        let held_bytes = record.facts.held_bytes;
        let isolation = jar.about().isolation.clone();
        let outcome = outcome(id, queue_ms, record, limits, &code, &given, isolation);
        // One that has ended holds nothing, and its end was heard.
        if held_bytes > LIGHT && jar.is_alive() {
            self.pool.bury_now(jar, place);
        } else {
            self.pool.bury(jar);
        }
        drop(running);
        Ok(outcome)
    }

    /// Opens a session: code that is run piece by piece and keeps its state.
    pub async fn session(&self, policy: &Policy) -> Result<Session, RunError> {
        self.session_with(Opening::under(policy.clone())).await
    }

    /// Opens a session whose code finds what it is opened with.
    pub async fn session_with(&self, opening: Opening) -> Result<Session, RunError> {
        let Opening { policy, inputs, files, mounts, frames } = opening;
        let mut job = Job { policy, inputs, files, mounts, frames, ..Job::default() };
        let policy = self.admitted(&job.policy)?;
        session::check(&policy)?;
        request::check(&job, &RunOptions::default())?;
        let tier = self.pool.tier();
        let mut needs = self.budget.session(&policy, tier.holds(&policy))?;
        let inputs = match self.opening(&mut job, None) {
            Some(open) => Some(Arc::new(elsewhere(open).await.ok_or(RunError::Cancelled)??)),
            None => None,
        };
        if let Some(inputs) = &inputs {
            needs.own_bytes = (needs.own_bytes + inputs.bytes()).min(self.budget.bytes);
        }
        // The first jar may show what imports take, and have less left than was promised.
        for _ in 0..2 {
            let held = self.gate.reserve(needs)?;
            let mut jar = tier.make_for_session(&policy).await?;
            if let Some(inputs) = &inputs {
                // Before its first process is asked for anything.
                jar.hand_in(inputs).await?;
            }
            let environment = tier.environment(&policy.limits, &jar);
            let (gate, is_given) = (self.gate.clone(), inputs.is_some());
            let core = SessionCore::new(jar, policy.clone(), environment, gate, held, is_given);
            if let Some(session) = Session::begin(core).await? {
                if !job.inputs.is_empty() || !job.frames.is_empty() {
                    session.lay_out(job).await?;
                }
                return Ok(session);
            }
        }
        Err(EngineError::ZygoteGone.into())
    }

    /// Ends every zygote and jar and waits until they are gone.
    pub async fn shutdown(&self) {
        self.pool.shutdown().await;
    }

    /// A sealed jar for this policy, with what its run is given in it.
    async fn take(
        &self,
        policy: &Policy,
        inputs: Option<&Arc<Inputs>>,
    ) -> Result<ProcessJar, EngineError> {
        let mut jar = self.pool.take(policy, inputs).await?;
        if let Some(inputs) = inputs {
            jar.hand_in(inputs).await?;
        }
        Ok(jar)
    }

    /// Opens what the job's run is given, when it is called; that may take long. The files are taken out of
    /// the job.
    fn opening(
        &self,
        job: &mut Job,
        witness: Option<Arc<dyn Witness>>,
    ) -> Option<impl FnOnce() -> Result<Inputs, RequestError> + Send + use<>> {
        if job.files.is_empty() && job.mounts.is_empty() {
            return None;
        }
        let (files, mounts) = (std::mem::take(&mut job.files), std::mem::take(&mut job.mounts));
        let offered = self.pool.tier().folders().to_vec();
        let zones = [self.inputs_from.clone(), job.policy.inputs_from.clone()];
        Some(move || {
            let inputs = files::take(files, mounts, &offered, &zones)?;
            if let Some(witness) = witness {
                inputs.show(&*witness);
            }
            Ok(inputs)
        })
    }

    fn base(&self) -> &Base {
        self.pool.tier().base()
    }

    /// The policy as it will be obeyed: valid, lowered to the ceiling, and one that this kernel can keep.
    fn admitted(&self, policy: &Policy) -> Result<Policy, RunError> {
        policy.validate().map_err(RequestError::Policy)?;
        plan::demand_landlock(self.host(), policy.landlock_abi)?;
        if let (true, Err(why)) = (policy.cgroup, self.cgroup()) {
            return Err(EngineError::Walls(no_cgroup(why)).into());
        }
        let mut policy = policy.clone();
        if let Some(ceiling) = &self.ceiling {
            policy.limits = policy.limits.clamped(ceiling);
        }
        Ok(policy)
    }
}

/// A policy demands a control group, and there is none.
fn no_cgroup(why: &str) -> SetupFault {
    SetupFault {
        layer: "cgroup".into(),
        step: "policy".into(),
        object: "cgroup".into(),
        answer: why.into(),
    }
}

impl Sessions for Engine {
    type Session = Session;

    async fn session_with(&self, opening: Opening, _tenant: &str) -> Result<Session, RunError> {
        Engine::session_with(self, opening).await
    }
}

impl Runner for Engine {
    async fn run_with(&self, job: Job, options: RunOptions) -> Result<Outcome, RunError> {
        Engine::run_with(self, job, options).await
    }

    async fn shutdown(&self) {
        Engine::shutdown(self).await;
    }

    fn load(&self) -> Option<Load> {
        Some(Load { standing: self.pool.standing_in_all(), ..self.gate.load() })
    }
}
