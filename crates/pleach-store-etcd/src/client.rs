//! The client: calls to the members of an etcd cluster.
//!
//! A connection per member, made when it is needed and made anew, with the name resolved again, after
//! it broke. Calls go to the members in turn. A read that got no answer is sent to the next member; a
//! write is sent to the next member only if it certainly was not processed, since it could be applied
//! twice otherwise.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    time::Duration,
};

use bytes::Bytes;
use http::uri::PathAndQuery;
use pleach_store::StoreError;
use prost::Message;
use tokio::{
    sync::{Mutex, mpsc},
    time::{Instant, sleep, timeout, timeout_at},
};
use tokio_stream::Stream;
use tonic::{
    Streaming,
    client::Grpc,
    metadata::MetadataValue,
    transport::{Certificate, Channel, ClientTlsConfig, Endpoint, Identity},
};
use tonic_prost::ProstCodec;

use crate::{
    error::{CallError, classify},
    messages::{
        AlarmRequest, AlarmResponse, CompactionRequest, CompactionResponse, LeaseGrantRequest,
        LeaseGrantResponse, RangeRequest, RangeResponse, TxnRequest, TxnResponse, WatchRequest,
        WatchResponse,
    },
    options::Options,
};

/// How long a read waits for one member before it asks the next.
const READ_ATTEMPT: Duration = Duration::from_secs(3);
/// The pause after all members failed.
const PAUSE: Duration = Duration::from_millis(50);
/// Connections are checked this often when nothing arrives.
const KEEP_ALIVE: Duration = Duration::from_secs(10);
const KEEP_ALIVE_TIMEOUT: Duration = Duration::from_secs(5);

/// A client of one cluster.
#[derive(Debug)]
pub(crate) struct Client {
    members: Vec<Member>,
    next: AtomicUsize,
    call_timeout: Duration,
}

#[derive(Debug)]
struct Member {
    endpoint: Endpoint,
    /// The connection, with a number that tells it from later ones.
    connection: Mutex<Option<(usize, Channel)>>,
    made: AtomicUsize,
}

/// Whether a call changes something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Effect {
    Read,
    Write,
}

/// An open watch stream.
pub(crate) struct WatchCall {
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
        Ok(Self { members, next: AtomicUsize::new(0), call_timeout: options.call_timeout })
    }

    pub(crate) async fn range(&self, request: RangeRequest) -> Result<RangeResponse, CallError> {
        self.call("/etcdserverpb.KV/Range", request, Effect::Read).await
    }

    pub(crate) async fn txn(&self, request: TxnRequest) -> Result<TxnResponse, CallError> {
        self.call("/etcdserverpb.KV/Txn", request, Effect::Write).await
    }

    /// Compacting twice is compacting once, so it may be sent twice.
    pub(crate) async fn compact(&self, request: CompactionRequest) -> Result<CompactionResponse, CallError> {
        self.call("/etcdserverpb.KV/Compact", request, Effect::Read).await
    }

    /// A lease that is granted twice expires twice, so it may be sent twice.
    pub(crate) async fn grant(&self, request: LeaseGrantRequest) -> Result<LeaseGrantResponse, CallError> {
        self.call("/etcdserverpb.Lease/LeaseGrant", request, Effect::Read).await
    }

    /// The alarms that are raised.
    pub(crate) async fn alarms(&self) -> Result<AlarmResponse, CallError> {
        self.call("/etcdserverpb.Maintenance/Alarm", AlarmRequest {}, Effect::Read).await
    }

    /// The revision of the cluster, not before that of any commit acknowledged before the call.
    pub(crate) async fn revision(&self, key: Bytes) -> Result<i64, CallError> {
        let response = self.range(RangeRequest { key, count_only: true, ..Default::default() }).await?;
        Ok(response.header.map_or(0, |header| header.revision))
    }

    async fn call<Q, A>(&self, path: &'static str, request: Q, effect: Effect) -> Result<A, CallError>
    where
        Q: Message + Clone + 'static,
        A: Message + Default + 'static,
    {
        let deadline = Instant::now() + self.call_timeout;
        let mut last = CallError::NotProcessed("etcd cannot be reached".into());
        loop {
            for _ in &self.members {
                let member = &self.members[self.next.fetch_add(1, Relaxed) % self.members.len()];
                let (number, channel) = match timeout_at(deadline, member.connection()).await {
                    Ok(Ok(connection)) => connection,
                    Ok(Err(reason)) => {
                        last = CallError::NotProcessed(reason);
                        continue;
                    }
                    Err(_) => return Err(last),
                };
                let until = match effect {
                    Effect::Read => deadline.min(Instant::now() + READ_ATTEMPT),
                    Effect::Write => deadline,
                };
                let error = match timeout_at(until, unary(channel, path, request.clone())).await {
                    Ok(Ok(answer)) => return Ok(answer),
                    Ok(Err(error)) => error,
                    Err(_) => CallError::NoAnswer("context deadline exceeded".into()),
                };
                match &error {
                    CallError::Refused(_) => return Err(error),
                    CallError::NotProcessed(_) => {}
                    CallError::NoAnswer(_) => {
                        member.drop_connection(number).await;
                        if effect == Effect::Write {
                            return Err(error);
                        }
                    }
                }
                last = error;
                if Instant::now() >= deadline {
                    return Err(last);
                }
            }
            if Instant::now() + PAUSE >= deadline {
                return Err(last);
            }
            sleep(PAUSE).await;
        }
    }

    /// Opens a watch stream on the next member.
    pub(crate) async fn watch(&self, first: WatchRequest) -> Result<WatchCall, CallError> {
        let member = &self.members[self.next.fetch_add(1, Relaxed) % self.members.len()];
        let (number, channel) = member.connection().await.map_err(CallError::NotProcessed)?;
        let opened = timeout(READ_ATTEMPT, open_watch(channel, first)).await;
        let opened = opened.unwrap_or_else(|_| Err(CallError::NoAnswer("the watch was not opened".into())));
        if let Err(CallError::NoAnswer(_)) = &opened {
            member.drop_connection(number).await;
        }
        opened
    }
}

async fn unary<Q, A>(channel: Channel, path: &'static str, request: Q) -> Result<A, CallError>
where
    Q: Message + 'static,
    A: Message + Default + 'static,
{
    let mut grpc = grpc(channel);
    grpc.ready().await.map_err(|error| CallError::NotProcessed(error.to_string().into()))?;
    let path = PathAndQuery::from_static(path);
    let answer = grpc.unary(tonic::Request::new(request), path, ProstCodec::default()).await;
    answer.map(tonic::Response::into_inner).map_err(classify)
}

async fn open_watch(channel: Channel, first: WatchRequest) -> Result<WatchCall, CallError> {
    let mut grpc = grpc(channel);
    grpc.ready().await.map_err(|error| CallError::NotProcessed(error.to_string().into()))?;
    let (requests, sent) = mpsc::channel(8);
    let _ = requests.send(first).await;
    let mut request = tonic::Request::new(Requests(sent));
    // A member that has lost its leader ends the stream instead of staying silent.
    request.metadata_mut().insert("hasleader", MetadataValue::from_static("true"));
    let path = PathAndQuery::from_static("/etcdserverpb.Watch/Watch");
    let answer = grpc.streaming(request, path, ProstCodec::default()).await.map_err(classify)?;
    Ok(WatchCall { requests, responses: answer.into_inner() })
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

impl Member {
    fn new(url: &str, options: &Options) -> Result<Self, StoreError> {
        let refuse = |why: String| invalid(format!("etcd server {url:?}: {why}"));
        let mut endpoint = Endpoint::from_shared(url.to_owned())
            .map_err(|error| refuse(error.to_string()))?
            .connect_timeout(options.connect_timeout)
            .http2_keep_alive_interval(KEEP_ALIVE)
            .keep_alive_timeout(KEEP_ALIVE_TIMEOUT)
            .keep_alive_while_idle(true)
            .tcp_nodelay(true)
            .initial_stream_window_size(4 << 20)
            .initial_connection_window_size(16 << 20);
        match endpoint.uri().scheme_str() {
            Some("http") => {}
            Some("https") => {
                let mut tls = ClientTlsConfig::new();
                tls = match &options.ca {
                    Some(ca) => tls.ca_certificate(Certificate::from_pem(ca)),
                    None => tls.with_native_roots(),
                };
                if let Some((certificate, key)) = &options.identity {
                    tls = tls.identity(Identity::from_pem(certificate, key));
                }
                endpoint = endpoint.tls_config(tls).map_err(|error| refuse(with_causes(&error)))?;
            }
            _ => return Err(refuse("it must start with http:// or https://".into())),
        }
        Ok(Self { endpoint, connection: Mutex::default(), made: AtomicUsize::new(0) })
    }

    /// The connection, made if there is none.
    async fn connection(&self) -> Result<(usize, Channel), Arc<str>> {
        let mut connection = self.connection.lock().await;
        if let Some((number, channel)) = &*connection {
            return Ok((*number, channel.clone()));
        }
        let channel = self.endpoint.connect().await.map_err(|error| {
            Arc::<str>::from(format!("cannot connect to {}: {}", self.endpoint.uri(), with_causes(&error)))
        })?;
        let number = self.made.fetch_add(1, Relaxed);
        *connection = Some((number, channel.clone()));
        Ok((number, channel))
    }

    /// Drops a connection that broke, unless there is a new one already.
    async fn drop_connection(&self, broken: usize) {
        let mut connection = self.connection.lock().await;
        if matches!(&*connection, Some((number, _)) if *number == broken) {
            *connection = None;
        }
    }
}

fn invalid(why: String) -> StoreError {
    StoreError::io(why, std::io::ErrorKind::InvalidInput.into())
}

fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        source = cause.source();
    }
    text
}
