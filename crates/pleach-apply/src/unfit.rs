//! Errors about values that are no JSON: expressions of MutatingAdmissionPolicies can make such.

use pleach_json::{Value, grow_stack};

use crate::shape::{Scalar, Shape, Type};

/// A value that fits no type. Its place in the configuration is null.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unfit {
    /// `.spec.list[0]`
    pub path: String,
    /// As Go's `%v` prints it.
    pub shown: String,
    /// As `%#v` prints it.
    pub syntax: String,
    /// As `%T` prints it.
    pub go_type: String,
}

/// The errors of values that fit no type, in one text.
pub fn check_unfit(config: &Value, of: Type<'_>, unfit: &[Unfit]) -> Result<(), String> {
    if unfit.is_empty() {
        return Ok(());
    }
    let mut errors = Vec::new();
    visit(config, of, &mut String::new(), unfit, &mut errors);
    match errors.as_slice() {
        [] => Ok(()),
        [only] => Err(only.clone()),
        several => Err(format!("errors:\n  {}", several.join("\n  "))),
    }
}

fn visit(value: &Value, of: Type<'_>, path: &mut String, unfit: &[Unfit], errors: &mut Vec<String>) {
    let length = path.len();
    match (of.shape(Some(value)), value) {
        (shape, Value::Null) => {
            if let Some(unfit) = unfit.iter().find(|unfit| unfit.path == *path) {
                errors.push(format!("{path}: {}", expected(shape, unfit)));
            }
        }
        (Shape::Map(map), Value::Object(members)) => {
            let (mut fields, others) = (map.fields(), map.others());
            for (name, member) in members.iter() {
                if let Some(of) = fields.next(name).or(others) {
                    path.push('.');
                    path.push_str(name);
                    grow_stack(|| visit(member, of, path, unfit, errors));
                    path.truncate(length);
                }
            }
        }
        (Shape::List(list), Value::Array(items)) => {
            for (i, item) in items.iter().enumerate() {
                path.push_str(&format!("[{i}]"));
                grow_stack(|| visit(item, list.items, path, unfit, errors));
                path.truncate(length);
            }
        }
        _ => {}
    }
}

fn expected(shape: Shape<'_>, unfit: &Unfit) -> String {
    let Unfit { shown, syntax, go_type, .. } = unfit;
    match shape {
        Shape::Map(_) => format!("expected map, got &{{{shown}}}"),
        Shape::List(_) => format!("expected list, got &{{{shown}}}"),
        Shape::Scalar(Scalar::Numeric) => format!("expected numeric (int or float), got {go_type}"),
        Shape::Scalar(Scalar::String) => {
            format!("expected string, got &value.valueUnstructured{{Value:{syntax}}}")
        }
        Shape::Scalar(Scalar::Boolean) => format!("expected boolean, got &{{{shown}}}"),
        Shape::Scalar(Scalar::Untyped) => format!("expected any scalar, got &{{{shown}}}"),
    }
}
