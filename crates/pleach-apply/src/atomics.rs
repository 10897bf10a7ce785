//! Atomic containers that a configuration names: MutatingAdmissionPolicies must not apply any.

use pleach_json::{Value, grow_stack};
use pleach_work::charge;

use crate::shape::{Relation, Shape, Type};

/// The paths of atomic lists, maps and structs in a configuration that fits its type.
pub fn atomics(config: &Value, of: Type<'_>) -> Vec<String> {
    let mut found = Vec::new();
    visit(config, of, &mut String::new(), &mut found);
    found
}

fn visit(value: &Value, of: Type<'_>, path: &mut String, found: &mut Vec<String>) {
    charge(1);
    let length = path.len();
    match (of.shape(Some(value)), value) {
        (Shape::Map(map), Value::Object(members)) => {
            if map.is_atomic {
                found.push(path.clone());
            }
            let mut fields = map.fields();
            for (name, member) in members.iter() {
                // What is not declared is not looked into.
                if let Some(of) = fields.next(name) {
                    path.push('.');
                    path.push_str(name);
                    grow_stack(|| visit(member, of, path, found));
                    path.truncate(length);
                }
            }
        }
        (Shape::List(list), Value::Array(items)) => {
            if matches!(list.relation, Relation::Atomic) {
                found.push(path.clone());
            }
            for (i, item) in items.iter().enumerate() {
                path.push_str(&format!("[{i}]"));
                grow_stack(|| visit(item, list.items, path, found));
                path.truncate(length);
            }
        }
        _ => {}
    }
}
