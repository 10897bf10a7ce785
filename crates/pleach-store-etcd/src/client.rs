//! The client: calls to the members of an etcd cluster.
//!
//! A connection per member, made when it is needed and made anew, with the name resolved again, after
//! it broke. Calls go to the members in turn; a member that gave no answer is passed over until it has
//! answered a read again. A read that got no answer is sent to the next member; a write is sent to the
//! next member only if it certainly was not processed, since it could be applied twice otherwise. Where
//! no member can be reached, calls wait for one, as kube-apiserver's do.

use std::{
    sync::{
        Weak,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    time::Duration,
};

use bytes::Bytes;
use http::uri::PathAndQuery;
use pleach_store::StoreError;
use prost::Message;
use tokio::{
    sync::{Notify, mpsc},
    time::{Instant, sleep, timeout, timeout_at},
};
use tokio_stream::Stream;
use tonic::{Streaming, client::Grpc, metadata::MetadataValue, transport::Channel};
use tonic_prost::ProstCodec;

use crate::{
    error::{CallError, classify},
    member::{Member, invalid},
    messages::{
        AlarmRequest, AlarmResponse, CompactionRequest, CompactionResponse, LeaseGrantRequest,
        LeaseGrantResponse, LeaseKeepAliveRequest, LeaseKeepAliveResponse, RangeRequest, RangeResponse,
        StatusRequest, StatusResponse, TxnRequest, TxnResponse, WatchRequest, WatchResponse,
    },
    metrics::Metrics,
    options::Options,
    version::Version,
};

/// How long a read waits for one member before it asks the next.
const READ_ATTEMPT: Duration = Duration::from_secs(3);
/// The pause after all members failed.
const PAUSE: Duration = Duration::from_millis(50);
/// How often a member that gave no answer is asked again, and how long it has for the answer.
const PROBE: Duration = Duration::from_secs(1);
const PROBE_ATTEMPT: Duration = Duration::from_secs(2);

/// A client of one cluster.
#[derive(Debug)]
pub(crate) struct Client {
    pub(crate) members: Vec<Member>,
    next: AtomicUsize,
    call_timeout: Duration,
    /// A member gave no answer.
    failed: Notify,
    pub(crate) metrics: Metrics,
}

/// Whether a call writes, and the caller of a write.
#[derive(Debug, Clone, Copy)]
enum Effect<'a> {
    Read,
    Write(Option<&'a Weak<()>>),
}

impl Effect<'_> {
    fn is_write(self) -> bool {
        matches!(self, Self::Write(_))
    }

    /// Whether a write's caller has gone.
    fn is_abandoned(self) -> bool {
        matches!(self, Self::Write(Some(caller)) if caller.strong_count() == 0)
    }
}

/// An open watch stream.
pub(crate) struct WatchCall {
    /// The member that it is open on, by its place in the list.
    pub(crate) member: usize,
    /// That member's version.
    pub(crate) version: Version,
    pub(crate) requests: mpsc::Sender<WatchRequest>,
    pub(crate) responses: Streaming<WatchResponse>,
}

impl Client {
    pub(crate) fn new(options: &Options) -> Result<Self, StoreError> {
        let members = options.servers.iter().map(|url| Member::new(url, options));
        let members = members.collect::<Result<Vec<_>, _>>()?;
        if members.is_empty() {
            return Err(invalid("no etcd server is given".into()));
        }
        let (next, call_timeout) = (AtomicUsize::new(0), options.call_timeout);
        Ok(Self { members, next, call_timeout, failed: Notify::new(), metrics: Metrics::default() })
    }

    pub(crate) async fn range(&self, request: RangeRequest) -> Result<RangeResponse, CallError> {
        self.call("/etcdserverpb.KV/Range", request, Effect::Read).await
    }

    pub(crate) async fn txn(&self, request: TxnRequest) -> Result<TxnResponse, CallError> {
        self.call("/etcdserverpb.KV/Txn", request, Effect::Write(None)).await
    }

    /// The same for a caller who may go before it is answered: then it is not sent any more.
    pub(crate) async fn txn_for(
        &self,
        caller: &Weak<()>,
        request: TxnRequest,
    ) -> Result<TxnResponse, CallError> {
        self.call("/etcdserverpb.KV/Txn", request, Effect::Write(Some(caller))).await
    }

    /// Compacting twice is compacting once, so it may be sent twice.
    pub(crate) async fn compact(&self, request: CompactionRequest) -> Result<CompactionResponse, CallError> {
        self.call("/etcdserverpb.KV/Compact", request, Effect::Read).await
    }

    /// A lease that is granted twice expires twice, so it may be sent twice.
    pub(crate) async fn grant(&self, request: LeaseGrantRequest) -> Result<LeaseGrantResponse, CallError> {
        self.call("/etcdserverpb.Lease/LeaseGrant", request, Effect::Read).await
    }

    /// Renews a lease; how many seconds it has from now, zero if it is gone.
    pub(crate) async fn keep_alive(&self, lease: i64) -> Result<i64, CallError> {
        // A stream of one request, which is a call.
        let request = LeaseKeepAliveRequest { id: lease };
        let path = "/etcdserverpb.Lease/LeaseKeepAlive";
        let response: LeaseKeepAliveResponse = self.call(path, request, Effect::Read).await?;
        Ok(response.ttl)
    }

    /// The alarms that are raised.
    pub(crate) async fn alarms(&self) -> Result<AlarmResponse, CallError> {
        self.call("/etcdserverpb.Maintenance/Alarm", AlarmRequest {}, Effect::Read).await
    }

    /// The revision of the cluster, not before that of any commit acknowledged before the call.
    pub(crate) async fn revision(&self, key: Bytes) -> Result<i64, CallError> {
        let response = self.range(RangeRequest { key, count_only: true, ..Default::default() }).await?;
        let revision = response.header.map_or(0, |header| header.revision);
        self.metrics.reached(revision);
        Ok(revision)
    }

    /// Calls, and counts the call.
    async fn call<Q, A>(&self, path: &'static str, request: Q, effect: Effect<'_>) -> Result<A, CallError>
    where
        Q: Message + Clone + 'static,
        A: Message + Default + 'static,
    {
        let began = Instant::now();
        let answer = self.call_uncounted(path, request, effect).await;
        self.metrics.called(path, began.elapsed(), answer.is_ok());
        answer
    }

    async fn call_uncounted<Q, A>(
        &self,
        path: &'static str,
        request: Q,
        effect: Effect<'_>,
    ) -> Result<A, CallError>
    where
        Q: Message + Clone + 'static,
        A: Message + Default + 'static,
    {
        let deadline = Instant::now() + self.call_timeout;
        let mut last = CallError::NotProcessed("etcd cannot be reached".into());
        loop {
            for index in self.order() {
                let member = &self.members[index];
                let (number, channel) = match timeout_at(deadline, member.connection()).await {
                    Ok(Ok(connection)) => connection,
                    Ok(Err(reason)) => {
                        self.has_failed(index);
                        last = CallError::NotProcessed(reason);
                        continue;
                    }
                    Err(_) => return Err(last),
                };
                let until = match effect {
                    Effect::Read => deadline.min(Instant::now() + READ_ATTEMPT),
                    Effect::Write(_) => deadline,
                };
                let sending = unary(channel, path, request.clone(), effect);
                let error = match timeout_at(until, sending).await {
                    Ok(Ok(answer)) => return Ok(answer),
                    Ok(Err(error)) => error,
                    Err(_) => CallError::NoAnswer("context deadline exceeded".into()),
                };
                match &error {
                    CallError::Refused(_) => return Err(error),
                    CallError::NotProcessed(_) if effect.is_abandoned() => return Err(error),
                    CallError::NotProcessed(_) => {
                        self.has_failed(index);
                        if !error.is_answer() {
                            member.drop_connection(number).await;
                        }
                    }
                    CallError::NoAnswer(_) => {
                        self.has_failed(index);
                        member.drop_connection(number).await;
                        if effect.is_write() {
                            return Err(error);
                        }
                    }
                }
                last = error;
                if Instant::now() >= deadline {
                    return Err(last);
                }
            }
            if Instant::now() + PAUSE >= deadline || effect.is_abandoned() {
                return Err(last);
            }
            sleep(PAUSE).await;
        }
    }

    /// The members in the order in which a call asks them: in turn, and those that gave no answer last.
    fn order(&self) -> impl Iterator<Item = usize> + '_ {
        let (first, count) = (self.next.fetch_add(1, Relaxed), self.members.len());
        let is_wanted =
            move |(failed, index): &(bool, usize)| self.members[*index].failed.load(Relaxed) == *failed;
        (0..2 * count)
            .map(move |n| (n >= count, (first.wrapping_add(n)) % count))
            .filter(is_wanted)
            .map(|(_, index)| index)
    }

    /// Notes that a member gave no answer.
    pub(crate) fn has_failed(&self, index: usize) {
        if self.members.len() > 1 && !self.members[index].failed.swap(true, Relaxed) {
            self.failed.notify_one();
        }
    }

    /// Asks members that gave no answer until they do. The read needs a quorum: a member that is cut off from the
    /// others does not answer it.
    pub(crate) async fn probe(&self, key: Bytes) {
        loop {
            self.failed.notified().await;
            while self.members.iter().any(|member| member.failed.load(Relaxed)) {
                sleep(PROBE).await;
                for member in self.members.iter().filter(|member| member.failed.load(Relaxed)) {
                    if timeout(PROBE_ATTEMPT, answers(member, key.clone())).await.unwrap_or(false) {
                        member.failed.store(false, Relaxed);
                    }
                }
            }
        }
    }

    /// Opens a watch stream on the next member. What it asks for depends on the member's version.
    pub(crate) async fn watch(
        &self,
        first: impl FnOnce(Version) -> WatchRequest,
    ) -> Result<WatchCall, CallError> {
        let index = self.order().next().unwrap_or_default();
        let member = &self.members[index];
        let opened = async {
            let (number, channel) = member.connection().await.map_err(CallError::NotProcessed)?;
            let opening = async {
                let path = "/etcdserverpb.Maintenance/Status";
                let status = unary(channel.clone(), path, StatusRequest {}, Effect::Read).await;
                let version = match status {
                    Ok(StatusResponse { version }) => Version::parse(&version),
                    Err(CallError::Refused(_)) => Version::default(),
                    Err(error) => return Err(error),
                };
                let (requests, responses) = open_watch(channel, first(version)).await?;
                Ok(WatchCall { member: index, version, requests, responses })
            };
            let opened = timeout(READ_ATTEMPT, opening).await;
            let opened =
                opened.unwrap_or_else(|_| Err(CallError::NoAnswer("the watch was not opened".into())));
            if opened.as_ref().is_err_and(|error| !error.is_answer()) {
                member.drop_connection(number).await;
            }
            opened
        };
        let opened = opened.await;
        if matches!(opened, Err(CallError::NoAnswer(_) | CallError::NotProcessed(_))) {
            self.has_failed(index);
        }
        opened
    }
}

/// Whether a member answers a read.
async fn answers(member: &Member, key: Bytes) -> bool {
    let Ok((number, channel)) = member.connection().await else { return false };
    let request = RangeRequest { key, count_only: true, ..Default::default() };
    match unary::<_, RangeResponse>(channel, "/etcdserverpb.KV/Range", request, Effect::Read).await {
        Ok(_) | Err(CallError::Refused(_)) => true,
        Err(error) => {
            if !error.is_answer() {
                member.drop_connection(number).await;
            }
            false
        }
    }
}

/// Sends a call, unless its caller has gone by then.
async fn unary<Q, A>(
    channel: Channel,
    path: &'static str,
    request: Q,
    effect: Effect<'_>,
) -> Result<A, CallError>
where
    Q: Message + 'static,
    A: Message + Default + 'static,
{
    let mut grpc = grpc(channel);
    grpc.ready().await.map_err(|error| CallError::NotProcessed(error.to_string().into()))?;
    if effect.is_abandoned() {
        return Err(CallError::NotProcessed("context canceled".into()));
    }
    let path = PathAndQuery::from_static(path);
    let answer = grpc.unary(tonic::Request::new(request), path, ProstCodec::default()).await;
    answer.map(tonic::Response::into_inner).map_err(classify)
}

/// Both directions of a watch stream.
type Directions = (mpsc::Sender<WatchRequest>, Streaming<WatchResponse>);

async fn open_watch(channel: Channel, first: WatchRequest) -> Result<Directions, CallError> {
    let mut grpc = grpc(channel);
    grpc.ready().await.map_err(|error| CallError::NotProcessed(error.to_string().into()))?;
    let (requests, sent) = mpsc::channel(8);
    let _ = requests.send(first).await;
    let mut request = tonic::Request::new(Requests(sent));
    // A member that has lost its leader ends the stream instead of staying silent.
    request.metadata_mut().insert("hasleader", MetadataValue::from_static("true"));
    let path = PathAndQuery::from_static("/etcdserverpb.Watch/Watch");
    let answer = grpc.streaming(request, path, ProstCodec::default()).await.map_err(classify)?;
    Ok((requests, answer.into_inner()))
}

/// Sizes are bounded by etcd's own limits.
fn grpc(channel: Channel) -> Grpc<Channel> {
    Grpc::new(channel).max_decoding_message_size(usize::MAX).max_encoding_message_size(usize::MAX)
}

/// The requests of a watch stream.
struct Requests(mpsc::Receiver<WatchRequest>);

impl Stream for Requests {
    type Item = WatchRequest;

    fn poll_next(
        mut self: std::pin::Pin<&mut Self>,
        cx: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<WatchRequest>> {
        self.0.poll_recv(cx)
    }
}
