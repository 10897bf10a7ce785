//! API Priority and Fairness: which requests are executed now, which wait in fair queues, and which are refused.
//!
//! Upstream's place in the chain: after impersonation, before authorization. A request is classified by the first
//! FlowSchema that matches it; its priority level has a number of seats, of which it takes one or, for a long list,
//! several (`work.rs`), and queues that are served fairly (`queue_set.rs`). Levels lend seats that they do not use
//! (`allocation.rs`). Requests of exempt levels start at once, up to a bound that protects the server. The
//! configuration is that of the objects in the store; a change counts from the answer to its request on.

mod allocation;
mod debug;
mod demand;
mod dropped;
mod level;
mod max_inflight;
mod metrics;
mod place;
mod queue_set;
mod schema;
mod stats;
mod turns;
mod work;

use std::hash::BuildHasher as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

use foldhash::fast::RandomState;
use http::Response;
use http::header::{HeaderMap, HeaderName, HeaderValue, RETRY_AFTER};
use pleach_auth::Attributes;
use pleach_engine::Engine;
use pleach_engine::flow_control::FlowControlObjects;
use pleach_engine::kinds::flow_control::bootstrap;
use pleach_json::Value;

use self::allocation::{Claim, Limits, divide};
use self::level::{Level, header, most_seats};
use self::place::Inflight;
pub use self::place::Place;
pub(crate) use self::place::current;
use self::queue_set::{Queuing, Refusal, Slot, Start, Ticket};
use self::schema::{Distinguisher, LevelConfig, Schema};
use self::turns::Turns;
pub use self::turns::{Turn, worker_rests};
use crate::app::Call;
use crate::body::Body;
use crate::inflight::InflightLimits;
use crate::outcome::Outcome;
use crate::respond;

static SCHEMA_UID: HeaderName = HeaderName::from_static("x-kubernetes-pf-flowschema-uid");
static LEVEL_UID: HeaderName = HeaderName::from_static("x-kubernetes-pf-prioritylevel-uid");

/// How often seats that levels do not use are lent anew.
const ADJUSTED_EVERY: Duration = Duration::from_secs(10);

/// Subresources whose requests last as long as their clients want.
const LONG_RUNNING: [&str; 5] = ["attach", "exec", "log", "portforward", "proxy"];

/// Decides which requests are executed.
pub struct FlowControl {
    limits: InflightLimits,
    config: RwLock<Config>,
    inflight: Arc<Inflight>,
    /// Requests of exempt levels.
    exempt: Arc<Inflight>,
    hasher: RandomState,
    turns: Arc<Turns>,
    began: Instant,
    /// The seconds after `began` at which seats are divided anew.
    next_adjustment: AtomicU64,
}

#[derive(Default)]
struct Config {
    /// In the order in which they are asked.
    schemas: Vec<Classifier>,
    /// In the order of their names.
    levels: Vec<Arc<Level>>,
    fair_fraction: f64,
}

/// A flow schema with its level.
struct Classifier {
    schema: Schema,
    level: Arc<Level>,
    queuing: Queuing,
    /// The index of its counts in the level.
    flow: usize,
    uids: Uids,
    most_seats: usize,
}

/// How a request was classified: the uids of its flow schema and priority level, which its response has as headers.
#[derive(Clone)]
pub struct Uids {
    schema: HeaderValue,
    level: HeaderValue,
}

impl Uids {
    /// Adds the headers.
    pub fn add_to(self, headers: &mut HeaderMap) {
        if self.schema.is_empty() {
            return;
        }
        headers.insert(&SCHEMA_UID, self.schema);
        headers.insert(&LEVEL_UID, self.level);
    }
}

/// The decision about a request.
pub enum Begun {
    /// It is none that is limited: it lasts as long as its client wants.
    Unlimited,
    /// It is executed.
    Runs(Arc<Place>, Uids),
    /// It waits for its turn.
    Waits(Waiting, Uids),
    /// It is refused; its client may try again after so many seconds.
    Refused(u64, Uids),
}

impl FlowControl {
    /// Flow control by the objects of an engine, and as they change.
    pub fn of(engine: &Engine, limits: &InflightLimits) -> Arc<Self> {
        if !limits.priority_and_fairness {
            return Arc::new(Self::new(limits, &max_inflight::objects(limits)));
        }
        let control = Arc::new(Self::new(limits, &engine.flow_control_objects()));
        let follows = Arc::downgrade(&control);
        engine.on_flow_control_change(move |objects| {
            if let Some(control) = follows.upgrade() {
                control.configure(objects);
            }
        });
        control
    }

    fn new(limits: &InflightLimits, objects: &FlowControlObjects) -> Self {
        let control = Self {
            limits: *limits,
            config: RwLock::default(),
            inflight: Arc::default(),
            exempt: Arc::default(),
            hasher: RandomState::default(),
            turns: Turns::new(limits.turns),
            began: Instant::now(),
            next_adjustment: AtomicU64::new(ADJUSTED_EVERY.as_secs()),
        };
        control.configure(objects);
        control
    }

    /// How many writes are executed.
    pub fn mutating(&self) -> usize {
        self.inflight.mutating.load(Ordering::Relaxed) + self.exempt.mutating.load(Ordering::Relaxed)
    }

    /// A turn at the processor for a request that has its seats; `None` if it need not wait for one.
    pub fn turn(&self, place: &Place, now: Instant) -> Option<Turn> {
        if place.is_exempt { None } else { self.turns.take(place.user, now) }
    }

    /// Begins a request.
    pub fn begin(&self, call: &Call<'_>, engine: &Engine, now: Instant) -> Begun {
        let attributes = &call.attributes;
        if attributes.resource.as_ref().is_some_and(|asked| LONG_RUNNING.contains(&asked.subresource)) {
            return Begun::Unlimited;
        }
        self.start(attributes, now, |most| work::seats(call, engine, most))
    }

    fn start(&self, attributes: &Attributes<'_>, now: Instant, seats: impl FnOnce(usize) -> usize) -> Begun {
        self.adjust_if_due(now);
        let config = self.config.read().unwrap_or_else(PoisonError::into_inner);
        let found = config.schemas.iter().find(|classifier| classifier.schema.matches(attributes));
        // The last one matches all users that authentication knows; it is for the others, too.
        let Some(found) = found.or_else(|| config.schemas.last()) else { return Begun::Unlimited };
        let uids = found.uids.clone();
        let mutating = !attributes.verb.is_read_only();
        let is_exempt = found.queuing == Queuing::Exempt;
        let seats = if is_exempt { 1 } else { seats(found.most_seats) };
        let hash = match (found.queuing, found.schema.distinguisher) {
            (Queuing::Exempt | Queuing::Reject, _) => 0,
            (_, Distinguisher::None) => self.hasher.hash_one(&*found.schema.name),
            (_, Distinguisher::User) => self.hasher.hash_one((&*found.schema.name, &*attributes.user.name)),
            (_, Distinguisher::Namespace) => {
                let namespace = attributes.resource.as_ref().map_or("", |asked| asked.namespace);
                self.hasher.hash_one((&*found.schema.name, namespace))
            }
        };
        let (level, flow) = (&found.level, found.flow);
        let inflight = if is_exempt { &self.exempt } else { &self.inflight };
        let mut queues = level.queues();
        if is_exempt && inflight.of(mutating).load(Ordering::Relaxed) >= self.limits.exempt(mutating) {
            queues.flows[flow].refused(Refusal::ConcurrencyLimit);
            drop(queues);
            return Begun::Refused(self.retry_after(level, now), uids);
        }
        queues.flows[flow].estimated(seats);
        let started = queues.start(flow, hash, seats, now);
        let user = if is_exempt { 0 } else { self.hasher.hash_one(&*attributes.user.name) };
        let place =
            |ticket| Place::new(level.clone(), inflight.clone(), ticket, mutating, is_exempt, user, now);
        match started {
            Start::Run(ticket) => {
                if !is_exempt {
                    queues.flows[flow].waited(true, Duration::ZERO);
                }
                drop(queues);
                Begun::Runs(place(ticket), uids)
            }
            Start::Wait(ticket, slot) => {
                drop(queues);
                let (level, inflight) = (level.clone(), inflight.clone());
                Begun::Waits(
                    Waiting { level, inflight, ticket, slot, mutating, user, since: now, is_over: false },
                    uids,
                )
            }
            Start::Refused => {
                queues.flows[flow].waited(false, Duration::ZERO);
                drop(queues);
                Begun::Refused(self.retry_after(level, now), uids)
            }
        }
    }

    fn retry_after(&self, level: &Level, now: Instant) -> u64 {
        let second = now.saturating_duration_since(self.began).as_secs() + 1;
        level.state().dropped.refuse(second)
    }

    /// A request waited too long: after how many seconds its client may try again.
    pub fn refuse_after_waiting(&self, uids: &Uids, now: Instant) -> u64 {
        let config = self.config.read().unwrap_or_else(PoisonError::into_inner);
        let found = config.schemas.iter().find(|classifier| classifier.uids.level == uids.level);
        found.map_or(1, |found| self.retry_after(&found.level, now))
    }

    /// Reads the configuration.
    fn configure(&self, objects: &FlowControlObjects) {
        let now = Instant::now();
        let mut config = self.config.write().unwrap_or_else(PoisonError::into_inner);
        let mut levels: Vec<LevelConfig> = objects.levels.iter().map(LevelConfig::read).collect();
        let mut schemas: Vec<Schema> = objects.schemas.iter().map(Schema::read).collect();
        // Without the mandatory objects requests are classified as if they were there.
        for name in ["exempt", "catch-all"] {
            if !objects.levels.iter().any(|object| name_of(object) == name) {
                levels.extend(bootstrap::mandatory_priority_level(name).as_ref().map(LevelConfig::read));
            }
            if !objects.schemas.iter().any(|object| name_of(object) == name) {
                schemas.extend(bootstrap::mandatory_flow_schema(name).as_ref().map(Schema::read));
            }
        }
        levels.sort_by(|a, b| a.name.cmp(&b.name));
        schemas.sort_by(Schema::order);
        let shares = levels.iter().map(|level| level.shares.max(0)).sum();
        let total = self.limits.seats();
        let levels: Vec<Arc<Level>> = levels
            .into_iter()
            .map(|new| {
                let known = config.levels.iter().find(|level| level.name == new.name).cloned();
                let level = known.unwrap_or_else(|| Level::new(new.clone(), now));
                let mut state = level.state();
                state.limits = Limits::new(total, new.shares, shares, new.lendable, new.borrowing);
                let (queuing, limit) = (new.queuing, level.queues().limit());
                state.config = new;
                level.queues().configure(queuing, limit, now);
                drop(state);
                level
            })
            .collect();
        config.schemas = schemas
            .into_iter()
            .filter_map(|schema| {
                let level = levels.iter().find(|level| level.name == schema.level)?.clone();
                let flow = level.queues().flow(&schema.name);
                let state = level.state();
                let queuing = state.config.queuing;
                let uids = Uids { schema: header(&schema.uid), level: header(&state.config.uid) };
                let most_seats = most_seats(queuing, state.limits.nominal);
                drop(state);
                Some(Classifier { schema, level, queuing, flow, uids, most_seats })
            })
            .collect();
        config.levels = levels;
        adjust(&mut config, now);
    }

    /// Every few seconds, and by whichever request comes then: levels without requests need no adjustment.
    fn adjust_if_due(&self, now: Instant) {
        let second = now.saturating_duration_since(self.began).as_secs();
        let due = self.next_adjustment.load(Ordering::Relaxed);
        if second < due {
            return;
        }
        let next = second + ADJUSTED_EVERY.as_secs();
        if self.next_adjustment.compare_exchange(due, next, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
            adjust(&mut self.config.write().unwrap_or_else(PoisonError::into_inner), now);
        }
    }
}

fn name_of(object: &Value) -> &str {
    object.at(&["metadata", "name"]).and_then(Value::as_str).unwrap_or_default()
}

/// Divides the seats among the levels by their demand since the last time.
fn adjust(config: &mut Config, now: Instant) {
    let claims: Vec<Claim> = config
        .levels
        .iter()
        .map(|level| {
            let mut state = level.state();
            let mut queues = level.queues();
            queues.sync(now);
            queues.demand.take(&mut state.demand);
            let is_exempt = state.config.queuing == Queuing::Exempt;
            Claim { is_exempt, limits: state.limits, demand: state.demand }
        })
        .collect();
    let division = divide(&claims);
    for ((level, limit), target) in config.levels.iter().zip(division.limits).zip(division.targets) {
        level.state().target = target;
        level.queues().set_limit(limit, now);
    }
    config.fair_fraction = division.fair_fraction;
}

/// A request that waits for its turn.
pub struct Waiting {
    level: Arc<Level>,
    inflight: Arc<Inflight>,
    ticket: Ticket,
    slot: Arc<Slot>,
    mutating: bool,
    user: u64,
    since: Instant,
    is_over: bool,
}

impl Waiting {
    /// Waits for so long; `None` if that was not enough.
    pub async fn wait(mut self, most: Duration) -> Option<Arc<Place>> {
        let granted = tokio::time::timeout(most, self.slot.granted()).await.is_ok();
        let now = Instant::now();
        let mut queues = self.level.queues();
        let granted = granted || !queues.cancel(self.ticket, &self.slot, now);
        let flow = &mut queues.flows[self.ticket.flow];
        flow.waited(granted, now.saturating_duration_since(self.since));
        if !granted {
            flow.refused(Refusal::TimeOut);
        }
        drop(queues);
        self.is_over = true;
        let place = || {
            let (level, inflight) = (self.level.clone(), self.inflight.clone());
            Place::new(level, inflight, self.ticket, self.mutating, false, self.user, now)
        };
        granted.then(place)
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if !self.is_over {
            let (now, mut queues) = (Instant::now(), self.level.queues());
            if !queues.cancel(self.ticket, &self.slot, now) {
                queues.finish(self.ticket, now);
            }
        }
    }
}

/// The response to a request that is refused.
pub fn too_many_requests(retry_after: u64) -> Response<Body> {
    let mut response =
        respond::text(Outcome::TooManyRequests, "Too many requests, please try again later.\n");
    response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(retry_after));
    response
}

#[cfg(test)]
mod tests;
