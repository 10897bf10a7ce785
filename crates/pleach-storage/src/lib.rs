//! The storage codec: keys and values in etcd as kube-apiserver v1.36 writes them.
//!
//! ```text
//!                     key                                            value
//! custom resources    /registry/<group>/<plural>/[<namespace>/]<name>  JSON
//! CRDs                /registry/apiextensions.k8s.io/…                 JSON of v1beta1
//! APIServices         /registry/apiregistration.k8s.io/…               JSON
//! built-in kinds      /registry/<resource>/[<namespace>/]<name>        protobuf in its envelope
//! ```
//!
//! Values are encrypted as an EncryptionConfiguration says, in etcd and in the embedded store ([`EncryptedValues`]).
//!
//! Both JSON and protobuf are read, whatever the kind. In the cache an object is a record
//! ([`pleach_engine::record`]), which also says where its resource version belongs and under which schema it
//! is settled: both are found again from the value, and nothing of them is in etcd.
//!
//! **Invariant:** a record reads back as it was written; a value that kube-apiserver wrote is kept as it is
//! until it is changed.

mod codec;
mod encrypted;
mod layout;
#[cfg(test)]
mod tests;
mod value;

pub use codec::{Fingerprint, StorageCodec};
pub use encrypted::EncryptedValues;
