//! HTTP clients, one for each set of roots, server name and credential; each keeps its own idle connections.
//!
//! Every configuration may add a client, so there is a limit: the least recently used are dropped. A client that is dropped closes its idle connections.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper_util::client::legacy;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use pleach_engine::webhooks::caller::{Address, Place};

use crate::connect::Connector;
use crate::credentials::Credential;
use crate::services::ServiceMap;
use crate::trust::Trust;

const KEPT: usize = 256;
const IDLE: Duration = Duration::from_secs(90);
/// How many bytes are read ahead, which is also the bound on the headers of a response.
const BUFFER: usize = 64 << 10;
/// The flow control window of HTTP/2.
const WINDOW: u32 = 256 << 10;
/// Idle connections kept to one host, as upstream's client keeps.
const IDLE_PER_HOST: usize = 25;

/// Sends requests and keeps connections.
pub(crate) type Client = legacy::Client<Connector, Full<Bytes>>;

/// The key of a connection pool.
#[derive(Clone, PartialEq, Eq)]
struct Key {
    ca_bundle: Bytes,
    /// The name that the server's certificate must be for, if it is not the host of the URL.
    server_name: Option<String>,
    /// Which credential is presented.
    credential: Option<u64>,
}

/// The clients in use, the latest used last.
#[derive(Default)]
pub(crate) struct Clients {
    kept: Mutex<Vec<(Key, Client)>>,
    services: Arc<ServiceMap>,
}

impl Clients {
    pub(crate) fn new(services: ServiceMap) -> Self {
        Self { services: Arc::new(services), ..Self::default() }
    }

    /// The client for an address.
    pub(crate) fn get(
        &self,
        address: &Address,
        credential: Option<&Arc<Credential>>,
    ) -> Result<Client, String> {
        let server_name = match &address.place {
            Place::Url(_) => None,
            Place::Service { namespace, name, .. } => Some(format!("{name}.{namespace}.svc")),
        };
        let key = Key {
            ca_bundle: address.ca_bundle.clone(),
            server_name,
            credential: credential.map(|credential| credential.id),
        };
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = kept.iter().rposition(|(other, _)| *other == key) {
            kept[found..].rotate_left(1);
            return Ok(kept[kept.len() - 1].1.clone());
        }
        let client = client(&key, credential, &self.services)?;
        if kept.len() >= KEPT {
            kept.remove(0);
        }
        kept.push((key, client.clone()));
        Ok(client)
    }
}

impl fmt::Debug for Clients {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Clients")
    }
}

fn client(
    key: &Key,
    credential: Option<&Arc<Credential>>,
    services: &Arc<ServiceMap>,
) -> Result<Client, String> {
    let trust =
        if key.ca_bundle.is_empty() { Trust::system() } else { Arc::new(Trust::pem(&key.ca_bundle)?) };
    let certificate = credential.and_then(|credential| credential.certificate.clone());
    let connector = Connector::new(trust, key.server_name.clone(), certificate, services.clone())?;
    Ok(legacy::Client::builder(TokioExecutor::new())
        .pool_timer(TokioTimer::new())
        .pool_idle_timeout(IDLE)
        .pool_max_idle_per_host(IDLE_PER_HOST)
        .http1_title_case_headers(true)
        .http1_max_buf_size(BUFFER)
        .http2_max_header_list_size(BUFFER as u32)
        .http2_initial_stream_window_size(WINDOW)
        .http2_initial_connection_window_size(4 * WINDOW)
        .build(connector))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_latest_used_are_kept() {
        let clients = Clients::default();
        let service = |name: usize| Address {
            place: Place::Service {
                namespace: "ns".into(),
                name: name.to_string().into(),
                path: "".into(),
                port: 443,
            },
            ca_bundle: Bytes::new(),
        };
        let names = || -> Vec<Option<String>> {
            clients
                .kept
                .lock()
                .expect("no panic while the lock was held")
                .iter()
                .map(|(key, _)| key.server_name.clone())
                .collect()
        };
        for name in 0..KEPT {
            clients.get(&service(name), None).expect("a client");
        }
        clients.get(&service(0), None).expect("a client");
        clients.get(&service(KEPT), None).expect("a client");
        let names = names();
        assert_eq!(names.len(), KEPT);
        assert!(names.contains(&Some("0.ns.svc".to_owned())), "it was used after the others");
        assert!(!names.contains(&Some("1.ns.svc".to_owned())), "it was not");
    }
}
