//! Kubernetes protobuf: a `Status` is written in it for clients that ask, bodies of built-in kinds are
//! read from it ([`object`]).
//!
//! A message is wrapped in the `runtime.Unknown` envelope behind the magic `k8s\0`. Fields are
//! numbered as the API's protobuf definitions number them; strings are always written, as the
//! generated Go code writes non-pointer fields.

mod body;
mod messages;

use pleach_meta::Status;

pub(crate) use body::object;

const MAGIC: &[u8; 4] = b"k8s\0";

fn varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push((value as u8) | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn bytes_field(out: &mut Vec<u8>, number: u64, bytes: &[u8]) {
    varint(out, number << 3 | 2);
    varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

fn int_field(out: &mut Vec<u8>, number: u64, value: i64) {
    varint(out, number << 3);
    varint(out, value as u64);
}

/// A message in its envelope.
fn envelope(api_version: &str, kind: &str, message: &[u8]) -> Vec<u8> {
    let mut type_meta = Vec::new();
    bytes_field(&mut type_meta, 1, api_version.as_bytes());
    bytes_field(&mut type_meta, 2, kind.as_bytes());
    let mut unknown = Vec::new();
    bytes_field(&mut unknown, 1, &type_meta);
    bytes_field(&mut unknown, 2, message);
    bytes_field(&mut unknown, 3, b"");
    bytes_field(&mut unknown, 4, b"");
    [MAGIC.as_slice(), &unknown].concat()
}

/// A `Status`.
pub(crate) fn status(status: &Status) -> Vec<u8> {
    let mut list_meta = Vec::new();
    for number in 1..=3 {
        bytes_field(&mut list_meta, number, b"");
    }
    let mut message = Vec::new();
    bytes_field(&mut message, 1, &list_meta);
    bytes_field(&mut message, 2, if status.success { b"Success" } else { b"Failure" });
    bytes_field(&mut message, 3, status.message.as_bytes());
    bytes_field(&mut message, 4, status.reason.as_str().as_bytes());
    if let Some(details) = &status.details {
        let mut out = Vec::new();
        bytes_field(&mut out, 1, details.name.as_bytes());
        bytes_field(&mut out, 2, details.group.as_bytes());
        bytes_field(&mut out, 3, details.kind.as_bytes());
        for cause in &details.causes {
            let mut part = Vec::new();
            bytes_field(&mut part, 1, cause.reason.as_bytes());
            bytes_field(&mut part, 2, cause.message.as_bytes());
            bytes_field(&mut part, 3, cause.field.as_bytes());
            bytes_field(&mut out, 4, &part);
        }
        int_field(&mut out, 5, i64::from(details.retry_after_seconds));
        bytes_field(&mut out, 6, details.uid.as_bytes());
        bytes_field(&mut message, 5, &out);
    }
    int_field(&mut message, 6, i64::from(status.code));
    envelope("v1", "Status", &message)
}
