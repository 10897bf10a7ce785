//! The kubeconfig that a started server leaves for its users.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::tls::Leaf;

/// A kubeconfig: the CAs that verify the server, a client certificate and a bearer token, if there are.
pub fn write(server: &str, ca_certificate: &str, certificate: Option<&Leaf>, token: Option<&str>) -> String {
    let ca = STANDARD.encode(ca_certificate);
    let mut user = String::new();
    if let Some(leaf) = certificate {
        let (certificate, key) = (STANDARD.encode(&leaf.certificate), STANDARD.encode(&leaf.key));
        user += &format!("\n    client-certificate-data: {certificate}\n    client-key-data: {key}");
    }
    if let Some(token) = token {
        user += &format!("\n    token: {token}");
    }
    if user.is_empty() {
        user = " {}".into();
    }
    format!(
        "apiVersion: v1\n\
         kind: Config\n\
         clusters:\n\
         - name: pleach\n  cluster:\n    server: {server}\n    certificate-authority-data: {ca}\n\
         users:\n\
         - name: admin\n  user:{user}\n\
         contexts:\n\
         - name: pleach\n  context:\n    cluster: pleach\n    user: admin\n\
         current-context: pleach\n"
    )
}
