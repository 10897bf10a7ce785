//! The HTTP edge of a pleach server.
//!
//! TLS and connections ([`serve`]), [`authentication`], request attributes ([`request_info`], [`query`]),
//! [`authorization`], negotiation ([`accept`]) and responses ([`respond`]). Objects and decisions about them are the engine's
//! business: there is no schema keyword, no storage key and no decision about an object here.

pub mod accept;
pub mod access_record;
pub mod app;
pub mod audit;
pub mod audit_id;
pub mod authentication;
pub mod authorization;
pub mod body;
mod cbor;
pub mod chunk;
pub mod connection_state;
pub mod connections;
pub mod console;
pub mod cpu;
pub mod deadline;
pub mod discovery;
pub mod documents;
pub mod flow_control;
pub mod health;
mod http_date;
pub mod impersonation;
pub mod inflight;
pub mod kubeconfig;
pub mod listing;
pub mod memory;
pub mod metrics;
pub mod options;
pub mod outcome;
pub mod pieces;
pub mod pod_requests;
pub mod query;
pub mod request_body;
pub mod request_info;
pub mod resource;
pub mod respond;
pub mod reviews;
pub mod serve;
pub mod service_account;
pub mod stall;
pub mod tls;
pub mod watch_queue;
pub mod watching;
pub mod webhook_config;
pub mod websocket;

/// Reading and writing protobuf and CBOR, for fuzzing.
#[doc(hidden)]
pub mod fuzzing {
    use pleach_json::Value;

    use pleach_protobuf as protobuf;

    use crate::cbor;

    /// The value of a request body in CBOR.
    pub fn read_cbor(body: &[u8]) -> Option<Value> {
        cbor::read(body).ok()
    }

    /// A value as a response body in CBOR.
    pub fn write_cbor(value: &Value) -> Vec<u8> {
        cbor::write(value)
    }

    /// The object of this kind in a request body.
    pub fn read_protobuf(body: &[u8], api_version: &str, kind: &str) -> Option<Value> {
        protobuf::object(body, api_version, kind).ok()
    }

    /// The options in the body of a deletion.
    pub fn read_protobuf_delete_options(body: &[u8]) -> Option<Value> {
        protobuf::delete_options(body).ok()
    }

    /// An object as a response body.
    pub fn write_protobuf(object: &Value) -> Option<Vec<u8>> {
        protobuf::encode(object)
    }
}
