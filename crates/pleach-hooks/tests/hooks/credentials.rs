//! Client certificates, tokens, and services at addresses of their own.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use pleach_engine::webhooks::caller::{Address, Caller as _, Place, WebhookPlugin};
use pleach_hooks::{HttpCaller, ServiceAddress, WebhookCredentials};
use pleach_json::json;
use rustls::RootCertStore;
use rustls::server::WebPkiClientVerifier;
use tokio::io::AsyncWriteExt as _;

use crate::REVIEW;
use crate::server::{Identity, ca, config, leaf, request, sign, tls};

/// Requests that a server got: the client's certificate, and the head of the request.
type Heard = Arc<Mutex<Vec<(Option<Vec<u8>>, String)>>>;

/// A server for a service, which asks for client certificates of a root.
async fn server(root: &Identity, identity: &Identity, heard: Heard) -> String {
    let mut roots = RootCertStore::empty();
    roots.add(root.der.clone()).expect("a root");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider.clone())
        .allow_unauthenticated()
        .build()
        .expect("a verifier");
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_client_cert_verifier(verifier)
        .with_cert_resolver(config(&[identity]).cert_resolver.clone());
    tls(config, move |mut stream| {
        let heard = heard.clone();
        async move {
            while let Some((head, _)) = request(&mut stream).await {
                let certificate =
                    stream.get_ref().1.peer_certificates().map(|chain| chain[0].as_ref().to_vec());
                heard.lock().expect("not poisoned").push((certificate, head));
                let answer =
                    b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}";
                if stream.write_all(answer).await.is_err() {
                    return;
                }
            }
        }
    })
    .await
}

#[tokio::test]
async fn webhooks_are_shown_the_credentials_that_are_meant_for_them() {
    let root = sign(ca("root"), None);
    let identity = sign(leaf("x", &["guard.checks.svc"]), Some(&root));
    let mut client = leaf("apiserver", &[]);
    client.extended_key_usages = vec![rcgen::ExtendedKeyUsagePurpose::ClientAuth];
    let client = sign(client, Some(&root));
    let heard = Heard::default();
    let url = server(&root, &identity, heard.clone()).await;
    let port = url.trim_end_matches("/hook").rsplit_once(':').expect("a port").1.to_owned();

    let directory = tempfile::tempdir().expect("a directory");
    std::fs::write(directory.path().join("client.pem"), &client.pem).expect("written");
    std::fs::write(directory.path().join("client.key"), client.key.serialize_pem()).expect("written");
    let kubeconfig = json!({"users": [{"name": "guard.checks.svc", "user": {
        "token": "secret", "client-certificate": "client.pem", "client-key": "client.key"}}]});
    let credentials = WebhookCredentials::read(&kubeconfig, directory.path()).expect("a kubeconfig");
    let entry: ServiceAddress = format!("checks/guard=127.0.0.1:{port}").parse().expect("an entry");
    let caller = HttpCaller::new()
        .with_services([entry].into_iter().collect())
        .with_credentials(WebhookPlugin::Validating, credentials);
    let place =
        Place::Service { namespace: "checks".into(), name: "guard".into(), path: "/p".into(), port: 443 };
    let address = Address { place, ca_bundle: Bytes::from(root.pem.clone()) };
    let (body, timeout) = (Bytes::from_static(REVIEW), Duration::from_secs(30));
    for plugin in [Some(WebhookPlugin::Validating), Some(WebhookPlugin::Mutating), None] {
        let call = match plugin {
            Some(plugin) => caller.call_for(plugin, &address, body.clone(), timeout),
            None => caller.call(&address, body.clone(), timeout),
        };
        call.await.expect("an answer");
    }
    let heard = heard.lock().expect("not poisoned");
    let [(certificate, head), others @ ..] = &heard[..] else { panic!("three calls") };
    assert_eq!(certificate.as_deref(), Some(client.der.as_ref()));
    let head = head.to_ascii_lowercase();
    assert!(head.contains("authorization: bearer secret"), "{head}");
    assert!(head.contains("host: guard.checks.svc:443"), "{head}");
    for (certificate, head) in others {
        assert_eq!(*certificate, None, "the connection with the certificate is not shared");
        assert!(!head.to_ascii_lowercase().contains("authorization"), "{head}");
    }
}
