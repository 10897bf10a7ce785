//! A 64-bit hash of schemas that stays the same across runs, platforms and releases.
//!
//! Stored objects carry the fingerprint of the schema they were settled under, so the hash of a
//! schema must not change between releases; the standard library promises that for none of its hashers.
//! It is not collision resistant: where equality matters, nodes are compared whole.

use pleach_json::{Value, grow_stack};
use pleach_work::charge;

/// Bytes mixed in so far.
#[derive(Clone, Copy)]
pub(crate) struct Digest(u64);

/// Folds the 128 bits of a product: each input bit reaches half of the output.
fn mix(a: u64, b: u64) -> u64 {
    let product = u128::from(a ^ 0x2d35_8dcc_aa6c_78a5) * u128::from(b ^ 0x8bb8_4b93_962e_acc9);
    (product as u64) ^ ((product >> 64) as u64)
}

impl Digest {
    /// An empty digest; different `domain`s never give equal digests for the same input.
    pub(crate) fn new(domain: u64) -> Self {
        Self(mix(domain, 0x9e37_79b9_7f4a_7c15))
    }

    /// Mixes in a number.
    pub(crate) fn number(&mut self, number: u64) {
        self.0 = mix(self.0, number);
    }

    /// Mixes in a text, its length first.
    pub(crate) fn text(&mut self, text: &str) {
        self.number(text.len() as u64);
        let mut chunks = text.as_bytes().chunks_exact(8);
        for chunk in &mut chunks {
            self.number(u64::from_le_bytes(chunk.try_into().expect("chunks_exact gives eight bytes")));
        }
        let rest = chunks.remainder();
        if !rest.is_empty() {
            let mut last = [0; 8];
            last[..rest.len()].copy_from_slice(rest);
            self.number(u64::from_le_bytes(last));
        }
    }

    /// Mixes in a value; integers and floats differ, as they do in [`Value`].
    pub(crate) fn value(&mut self, value: &Value) {
        match value {
            Value::Null => self.number(0),
            Value::Bool(b) => self.number(1 + u64::from(*b)),
            Value::Int(i) => {
                self.number(3);
                self.number(*i as u64);
            }
            Value::Float(f) => {
                self.number(4);
                self.number(f.to_bits());
            }
            Value::String(s) => {
                self.number(5);
                self.text(s);
            }
            Value::Array(items) => grow_stack(|| {
                charge(items.len() as u64);
                self.number(6);
                self.number(items.len() as u64);
                items.iter().for_each(|item| self.value(item));
            }),
            Value::Object(members) => grow_stack(|| {
                charge(2 * members.len() as u64);
                self.number(7);
                self.number(members.len() as u64);
                for (key, member) in members {
                    self.text(key);
                    self.value(member);
                }
            }),
        }
    }

    /// The hash of all that was mixed in.
    pub(crate) fn finish(self) -> u64 {
        mix(self.0, 0x5851_f42d_4c95_7f2d)
    }
}

#[cfg(test)]
mod tests {
    use pleach_json::json;

    use super::*;

    fn of(value: &Value) -> u64 {
        let mut digest = Digest::new(1);
        digest.value(value);
        digest.finish()
    }

    #[test]
    fn different_values_differ() {
        let values = [
            json!(null),
            json!(true),
            json!(false),
            json!(0),
            json!(1),
            json!(1.0),
            json!(""),
            json!("a"),
            json!("a\0"),
            json!([]),
            json!([[]]),
            json!(["a", "b"]),
            json!(["ab"]),
            json!({}),
            json!({"a": 1}),
            json!({"a": {}}),
        ];
        for (i, a) in values.iter().enumerate() {
            for b in &values[i + 1..] {
                assert_ne!(of(a), of(b), "{a:?} {b:?}");
            }
        }
    }

    #[test]
    fn the_hash_is_part_of_the_storage_format() {
        assert_eq!(of(&json!({"a": [1, 2.5, "text of more than eight bytes"]})), 0x981b_2492_f0ae_e4f5);
    }
}
