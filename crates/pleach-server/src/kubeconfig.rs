//! The kubeconfig that a started server leaves for its users.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::tls::Leaf;

/// A kubeconfig for the admin: the server's CA, a client certificate and the bearer token.
pub fn write(server: &str, ca_certificate: &str, admin: &Leaf, token: &str) -> String {
    let ca = STANDARD.encode(ca_certificate);
    let certificate = STANDARD.encode(&admin.certificate);
    let key = STANDARD.encode(&admin.key);
    format!(
        "apiVersion: v1\n\
         kind: Config\n\
         clusters:\n\
         - name: pleach\n  cluster:\n    server: {server}\n    certificate-authority-data: {ca}\n\
         users:\n\
         - name: admin\n  user:\n    client-certificate-data: {certificate}\n    client-key-data: {key}\n    token: {token}\n\
         contexts:\n\
         - name: pleach\n  context:\n    cluster: pleach\n    user: admin\n\
         current-context: pleach\n"
    )
}
