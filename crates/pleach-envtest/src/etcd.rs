//! The program `etcd`: health checks, and the data directory for the API server. It stores nothing itself.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response, Uri};
use http_body_util::{BodyExt as _, Empty, Full, Limited};
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use pleach_json::{Map, Value};
use tokio::net::{TcpListener, TcpStream};
use tokio::signal::unix::{SignalKind, signal};

use crate::flags;

/// The path under which the data directory is found.
const STORE: &str = "/pleach/store";

/// How long a whole exchange may take.
const TIMEOUT: Duration = Duration::from_secs(5);

/// The answer to `--help`. envtest looks for `--unsafe-no-fsync` in it.
const HELP: &str = "\
Usage:
  etcd [flags]

Stands in for etcd in tests: answers health checks and names the directory in which kube-apiserver (the
program of the same installation) keeps its objects.

Flags:
  --data-dir 'default.etcd'
        The directory of the objects.
  --listen-client-urls 'http://localhost:2379'
        The addresses to listen on, without TLS.
  --unsafe-no-fsync 'false'
        Do not wait until objects are on disk.
  --version
        Print the version.

All other flags of etcd are accepted and have no effect.
";

/// Where objects are kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreLocation {
    /// The data directory.
    pub data_dir: PathBuf,
    /// Whether commits wait for the disk.
    pub fsync: bool,
}

/// Runs the program until SIGTERM or SIGINT.
pub fn run(arguments: &[String]) -> Result<(), String> {
    let flags = flags::parse_etcd(arguments);
    if flags::last(&flags, "help").or(flags::last(&flags, "h")).is_some() {
        print!("{HELP}");
        return Ok(());
    }
    if flags::last(&flags, "version").is_some() {
        println!("etcd Version: 3.6.5\nGit SHA: pleach");
        return Ok(());
    }
    crate::parent::end_with_parent();
    let data_dir = PathBuf::from(flags::last(&flags, "data-dir").unwrap_or("default.etcd"));
    std::fs::create_dir_all(&data_dir)
        .and_then(|()| std::path::absolute(&data_dir))
        .map_err(|error| format!("cannot make the data directory {}: {error}", data_dir.display()))
        .and_then(|data_dir| {
            let fsync = flags::last(&flags, "unsafe-no-fsync").is_none_or(|value| value != "true");
            let urls = flags::last(&flags, "listen-client-urls").unwrap_or("http://localhost:2379");
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            let runtime = runtime.map_err(|error| error.to_string())?;
            runtime.block_on(serve(urls, &StoreLocation { data_dir, fsync }))
        })
}

async fn serve(urls: &str, location: &StoreLocation) -> Result<(), String> {
    let mut terminate = signal(SignalKind::terminate()).map_err(|error| error.to_string())?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(|error| error.to_string())?;
    for url in urls.split(',').map(str::trim).filter(|url| !url.is_empty()) {
        let address = address(url)?;
        let listener = TcpListener::bind(&address).await;
        let listener = listener.map_err(|error| format!("cannot listen on {url}: {error}"))?;
        tokio::spawn(accept(listener, location.clone()));
    }
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    Ok(())
}

async fn accept(listener: TcpListener, location: StoreLocation) {
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            // Out of descriptors: some connection will end.
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        let location = location.clone();
        let service = service_fn(move |request: Request<_>| {
            let response = respond(request.uri().path(), &location);
            async move { Ok::<_, Infallible>(response) }
        });
        tokio::spawn(async move {
            let connection =
                hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service);
            // A client that goes away is no error.
            let _ = connection.await;
        });
    }
}

fn respond(path: &str, location: &StoreLocation) -> Response<Full<Bytes>> {
    let text = match path {
        "/health" => r#"{"health":"true","reason":""}"#.to_owned(),
        "/version" => r#"{"etcdserver":"3.6.5","etcdcluster":"3.6.0","storage":"3.6.0"}"#.to_owned(),
        STORE => {
            let mut store = Map::new();
            store.insert("dataDir", location.data_dir.to_string_lossy().into_owned());
            store.insert("fsync", location.fsync);
            pleach_json::to_string(&Value::from(store))
        }
        _ => {
            let mut response = Response::new(Full::from("404 page not found\n"));
            *response.status_mut() = http::status::StatusCode::NOT_FOUND;
            return response;
        }
    };
    Response::new(Full::from(text))
}

/// Asks the program at a URL where objects are kept; `None` if it is a real etcd.
pub async fn store_location(url: &str) -> Result<Option<StoreLocation>, String> {
    let failed = |error: &dyn std::fmt::Display| format!("cannot ask etcd at {url}: {error}");
    let uri: Uri = url.parse().map_err(|error| failed(&error))?;
    if uri.scheme_str().is_some_and(|scheme| scheme != "http") {
        return Ok(None);
    }
    let exchange = async {
        let stream = TcpStream::connect(address(url)?).await.map_err(|error| failed(&error))?;
        let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
            .await
            .map_err(|error| failed(&error))?;
        let connection = tokio::spawn(connection);
        let authority = uri.authority().map_or("localhost", http::uri::Authority::as_str);
        let request = Request::get(STORE).header(http::header::HOST, authority).body(Empty::<Bytes>::new());
        let response = sender.send_request(request.map_err(|error| failed(&error))?).await;
        let response = response.map_err(|error| failed(&error))?;
        let is_found = response.status().is_success();
        let body =
            Limited::new(response.into_body(), 1 << 16).collect().await.map_err(|error| failed(&error))?;
        connection.abort();
        let found = is_found.then(|| pleach_json::parse(&body.to_bytes()).ok()).flatten();
        Ok(found.as_ref().and_then(location_of))
    };
    tokio::time::timeout(TIMEOUT, exchange).await.map_err(|error| failed(&error))?
}

fn location_of(store: &Value) -> Option<StoreLocation> {
    let data_dir = Path::new(store.at(&["dataDir"])?.as_str()?).to_owned();
    let fsync = store.at(&["fsync"]).and_then(Value::as_bool).unwrap_or(true);
    Some(StoreLocation { data_dir, fsync })
}

/// The host and port of a URL.
fn address(url: &str) -> Result<String, String> {
    let rest = match url.split_once("://") {
        Some(("http", rest)) => rest,
        Some((scheme, _)) => return Err(format!("{url}: {scheme} is not served here, only http")),
        None => url,
    };
    let authority = rest.split('/').next().unwrap_or_default();
    let has_port = authority.parse::<SocketAddr>().is_ok() || authority.rsplit_once(':').is_some();
    Ok(if has_port { authority.to_owned() } else { format!("{authority}:2379") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_those_of_the_urls() {
        for (url, expected) in [
            ("http://127.0.0.1:2379", Ok("127.0.0.1:2379")),
            ("http://127.0.0.1:2379/", Ok("127.0.0.1:2379")),
            ("http://localhost", Ok("localhost:2379")),
            ("127.0.0.1:1", Ok("127.0.0.1:1")),
            ("https://a:1", Err("https://a:1: https is not served here, only http")),
        ] {
            assert_eq!(address(url).as_deref().map_err(String::as_str), expected, "{url}");
        }
    }

    #[tokio::test]
    async fn the_api_server_learns_the_data_directory() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let location = StoreLocation { data_dir: "/some/\"dir\"".into(), fsync: false };
        tokio::spawn(accept(listener, location.clone()));
        assert_eq!(store_location(&url).await, Ok(Some(location)));
        assert_eq!(store_location("https://127.0.0.1:1").await, Ok(None));
        assert!(store_location("http://127.0.0.1:1").await.is_err());
    }
}
