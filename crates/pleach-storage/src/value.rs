//! Values: from a record to the bytes in etcd, and back.

use bytes::Bytes;
use pleach_crd::ApiVersion;
use pleach_engine::record::{self, Record};
use pleach_json::{InternedObjects, Value};
use pleach_pipeline::convert::version_of;
use pleach_pipeline::decode;
use pleach_pipeline::kinds::crd;
use pleach_pipeline::resource::{Resource, Subresource};
use pleach_store::Revision;

use crate::layout::BuiltIn;

const PROTOBUF: &[u8] = b"k8s\0";

/// How the objects of a resource are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Encoding {
    /// JSON with sorted keys.
    Json,
    /// JSON of v1beta1.
    Definition,
    /// The protobuf envelope.
    Protobuf,
}

/// The bytes in etcd of a record.
pub(crate) fn encode(encoding: Encoding, record: &Bytes) -> Result<Bytes, String> {
    let record = Record::open(record.clone(), Revision(0)).map_err(|error| error.to_string())?;
    let parse = || pleach_json::parse(record.json()).map_err(|error| error.to_string());
    match encoding {
        Encoding::Json => Ok(line(record.json())),
        Encoding::Definition => {
            let crd = crd::typed(&parse()?).map_err(|error| error.to_string())?;
            Ok(line(&pleach_json::to_vec(&crd.encode(ApiVersion::V1beta1))))
        }
        Encoding::Protobuf => match pleach_protobuf::encode(&parse()?) {
            Some(message) => Ok(message.into()),
            None => Ok(line(record.json())),
        },
    }
}

fn line(json: &[u8]) -> Bytes {
    [json, b"\n"].concat().into()
}

/// The object that bytes in etcd say.
pub(crate) fn read(bytes: &[u8]) -> Result<Value, String> {
    let object = if bytes.starts_with(PROTOBUF) {
        let (api_version, kind) = pleach_protobuf::type_meta(bytes)?;
        pleach_protobuf::object(bytes, api_version, kind).map_err(|error| format!("{error:?}"))?
    } else if bytes.starts_with(pleach_cbor::MAGIC) {
        // As kube-apiserver writes custom resources with the feature gate `CBORServingAndStorage`.
        pleach_cbor::read(bytes)?
    } else {
        pleach_json::parse(bytes).map_err(|error| error.to_string())?
    };
    match object.get("metadata") {
        Some(Value::Object(_)) => Ok(object),
        _ => Err("the value is no object with metadata".into()),
    }
}

/// An object of a built-in kind as it is stored here, with the fingerprint under which it may be sent as it is.
/// Values are decoded as request bodies are, defaults included: kube-apiserver does the same.
pub(crate) fn decode(resource: &BuiltIn, object: Value) -> Result<(Value, u64), String> {
    let BuiltIn { kind, encoding, .. } = resource;
    if *encoding == Encoding::Definition {
        let crd = crd::typed(&object).map_err(|error| error.to_string())?;
        return Ok((crd.encode(ApiVersion::V1), kind.storage_version().fingerprint()));
    }
    let version = version_of(kind, &object).map_err(|error| error.to_string())?;
    let decoded = decode::object(
        Resource { kind, version, subresource: Subresource::None },
        object,
        pleach_schema::Record::Nothing,
        None,
    )?;
    let fingerprint = if version == kind.storage { kind.storage_version().fingerprint() } else { 0 };
    let mut object = decoded.value.into_value();
    kind.strategy.complete(&mut object);
    Ok((object, fingerprint))
}

/// The record of an object.
pub(crate) fn to_record(mut object: Value, fingerprint: u64) -> Bytes {
    record::encode(&mut object, fingerprint, &InternedObjects::default())
}
