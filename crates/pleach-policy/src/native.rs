//! CEL values as JSON: for apply configurations and for the values of JSON patches.
//!
//! Values share their parts, so that their text can be far larger than they are: a conversion counts nodes and stops.

use pleach_apply::Unfit;
use pleach_cel::value::{List, Map as CelMap, Opaque};
use pleach_cel::{CelValue, ObjectValue};
use pleach_go::strconv::quote;
use pleach_json::{Map, Value, grow_stack};

/// No request is larger, in nodes.
const MOST_NODES: usize = 1 << 20;
/// Integers up to this are numbers in JSON, larger ones strings.
const LARGEST_JSON_INT: u64 = (1 << 53) - 1;

/// A conversion.
#[derive(Default)]
pub(crate) struct Native {
    nodes: usize,
    path: String,
    /// Values of an apply configuration that fit no type.
    pub(crate) unfit: Vec<Unfit>,
}

impl Native {
    fn count(&mut self, nodes: usize) -> Result<(), String> {
        self.nodes += nodes;
        pleach_work::charge(nodes as u64);
        if self.nodes > MOST_NODES {
            Err("the value of the expression is too large".to_owned())
        } else {
            Ok(())
        }
    }

    /// An apply configuration. Only the outermost level of list and map literals is converted, as upstream does it: what
    /// is deeper fits no type, like null. The error is why the object itself cannot be converted.
    pub(crate) fn object(&mut self, object: &ObjectValue<'_>) -> Result<Value, String> {
        self.count(1)?;
        let mut members = Map::new();
        let length = self.path.len();
        for (name, value) in &object.fields {
            self.path.push('.');
            self.path.push_str(name);
            let value = grow_stack(|| self.field(value));
            self.path.truncate(length);
            let value = value.map_err(|why| format!("fail to convert field {}: {why}", quote(name)))?;
            members.insert(name.as_str(), value);
        }
        Ok(members.into())
    }

    fn field(&mut self, value: &CelValue<'_>) -> Result<Value, String> {
        let length = self.path.len();
        match value {
            CelValue::List(list @ List::Owned(..)) => {
                let mut items = Vec::new();
                for (i, item) in list.iter().enumerate() {
                    self.path.push_str(&format!("[{i}]"));
                    items.push(self.inner(&item.map_err(|fault| fault.to_string())?)?);
                    self.path.truncate(length);
                }
                Ok(items.into())
            }
            CelValue::Map(map @ CelMap::Owned(_)) => {
                let mut members = Map::new();
                for (key, value) in map {
                    let Some(name) = key.as_str() else {
                        let (quoted, go_type) = quoted_key(&key);
                        return Err(format!("map key {quoted} is of type {go_type}, not string"));
                    };
                    self.path.push('.');
                    self.path.push_str(name);
                    let value = value.map_err(|fault| fault.to_string())?;
                    members.insert(name, self.inner(&value)?);
                    self.path.truncate(length);
                }
                Ok(members.into())
            }
            CelValue::Optional(Some(inner)) => grow_stack(|| self.field(inner)),
            other => self.inner(other),
        }
    }

    /// The result of Go's `Value()`.
    fn inner(&mut self, value: &CelValue<'_>) -> Result<Value, String> {
        self.count(1)?;
        Ok(match value {
            CelValue::Null => self.unfit("NULL_VALUE".to_owned(), "0", "structpb.NullValue"),
            CelValue::Object(object) => match grow_stack(|| self.object(object)) {
                Ok(object) => object,
                Err(why) if self.nodes > MOST_NODES => return Err(why),
                Err(why) => self.unfit(why, "", "*types.Err"),
            },
            CelValue::List(List::Owned(..)) => {
                self.unfit(go_text(value, 0), &go_syntax(value, 0), "[]ref.Val")
            }
            CelValue::Map(CelMap::Owned(_)) => {
                self.unfit(go_text(value, 0), &go_syntax(value, 0), "map[ref.Val]ref.Val")
            }
            CelValue::Bytes(bytes) => {
                self.count(bytes.len())?;
                let shown: Vec<String> = bytes.iter().map(u8::to_string).collect();
                let syntax: Vec<String> = bytes.iter().map(|byte| format!("{byte:#x}")).collect();
                let syntax = format!("[]uint8{{{}}}", syntax.join(", "));
                self.unfit(format!("[{}]", shown.join(" ")), &syntax, "[]uint8")
            }
            CelValue::Duration(duration) => {
                self.unfit(duration.to_go_text(), &duration.0.to_string(), "time.Duration")
            }
            CelValue::Timestamp(time) => {
                let text = time.to_text().replace('T', " ").replace('Z', " +0000 UTC");
                self.unfit(text, "", "time.Time")
            }
            CelValue::Opaque(_) | CelValue::Type(_) => {
                self.unfit(value.type_name().to_owned(), "", value.type_name())
            }
            CelValue::Int(i) => Value::Int(*i),
            CelValue::Uint(u) => i64::try_from(*u).map_or(Value::Float(*u as f64), Value::Int),
            CelValue::Double(d) => Value::Float(*d),
            other => return self.json(other),
        })
    }

    fn unfit(&mut self, shown: String, syntax: &str, go_type: &str) -> Value {
        let syntax = if syntax.is_empty() { shown.clone() } else { syntax.to_owned() };
        let path = self.path.clone();
        self.unfit.push(Unfit { path, shown, syntax, go_type: go_type.to_owned() });
        Value::Null
    }

    /// A value as `structpb` has it.
    pub(crate) fn json(&mut self, value: &CelValue<'_>) -> Result<Value, String> {
        self.count(1)?;
        let mismatch = |from: &str| Err(format!("type conversion error from '{from}' to '*structpb.Value'"));
        let number = |fits: bool, i: i64, text: String| if fits { Value::Int(i) } else { text.into() };
        Ok(match value {
            CelValue::Null => Value::Null,
            CelValue::Bool(b) => Value::Bool(*b),
            CelValue::Int(i) => number(i.unsigned_abs() <= LARGEST_JSON_INT, *i, i.to_string()),
            CelValue::Uint(u) => number(*u <= LARGEST_JSON_INT, *u as i64, u.to_string()),
            CelValue::Double(d) if d.fract() == 0.0 && d.abs() <= LARGEST_JSON_INT as f64 => {
                Value::Int(*d as i64)
            }
            CelValue::Double(d) => Value::Float(*d),
            CelValue::String(text) => text.as_str().into(),
            CelValue::Bytes(bytes) => pleach_go::base64::encode(bytes).into(),
            CelValue::Duration(duration) => duration.to_seconds_text().into(),
            CelValue::Timestamp(time) => time.to_text().into(),
            CelValue::List(list) => {
                let mut items = Vec::new();
                for item in list {
                    let item = item.map_err(|fault| fault.to_string())?;
                    items.push(grow_stack(|| self.json(&item))?);
                }
                items.into()
            }
            CelValue::Map(map) => {
                let mut members = Map::new();
                for (key, value) in map {
                    let key = key_text(&key)?;
                    let value = value.map_err(|fault| fault.to_string())?;
                    members.insert(key, grow_stack(|| self.json(&value))?);
                }
                members.into()
            }
            CelValue::Optional(Some(inner)) => return grow_stack(|| self.json(inner)),
            CelValue::Optional(None) => return Err("optional.none() dereference".to_owned()),
            CelValue::Object(object) => {
                let object = grow_stack(|| self.object(object))?;
                match self.unfit.first() {
                    // A null in an object is none of the types that a struct can hold.
                    Some(unfit) => return Err(format!("proto:\u{a0}invalid type: {}", unfit.go_type)),
                    None => object,
                }
            }
            CelValue::Opaque(opaque) if **opaque == Opaque::Empty => Value::object(),
            CelValue::Type(_) => return Err("type conversion not supported for 'type'".to_owned()),
            other => {
                let name = other.type_name();
                let is_check = name.starts_with("kubernetes.authorization.");
                return mismatch(if is_check { name } else { name.rsplit('.').next().unwrap_or(name) });
            }
        })
    }
}

/// A value as Go's `%v` prints it, up to some depth.
fn go_text(value: &CelValue<'_>, depth: usize) -> String {
    match value {
        CelValue::Null => "NULL_VALUE".to_owned(),
        CelValue::Bool(b) => b.to_string(),
        CelValue::Int(i) => i.to_string(),
        CelValue::Uint(u) => u.to_string(),
        CelValue::Double(d) => pleach_go::fmt::float_v(*d),
        CelValue::String(text) => text.as_str().to_owned(),
        CelValue::List(list) if depth < 8 => {
            let items = list.iter().flatten().take(64).map(|item| go_text(&item, depth + 1));
            format!("[{}]", items.collect::<Vec<_>>().join(" "))
        }
        CelValue::Map(map) if depth < 8 => {
            let entries = map.iter().filter_map(|(key, value)| Some((key, value.ok()?))).take(64);
            let entries = entries
                .map(|(key, value)| format!("{}:{}", go_text(&key, depth + 1), go_text(&value, depth + 1)));
            format!("map[{}]", entries.collect::<Vec<_>>().join(" "))
        }
        other => other.type_name().to_owned(),
    }
}

/// A value as Go's `%#v` prints it, up to some depth.
fn go_syntax(value: &CelValue<'_>, depth: usize) -> String {
    match value {
        CelValue::String(text) => quote(text.as_str()),
        CelValue::Null => "0".to_owned(),
        CelValue::List(list) if depth < 8 => {
            let items = list.iter().flatten().take(64).map(|item| go_syntax(&item, depth + 1));
            format!("[]ref.Val{{{}}}", items.collect::<Vec<_>>().join(", "))
        }
        CelValue::Map(map) if depth < 8 => {
            let entries = map.iter().filter_map(|(key, value)| Some((key, value.ok()?))).take(64);
            let entries = entries.map(|(key, value)| {
                format!("{}:{}", go_syntax(&key, depth + 1), go_syntax(&value, depth + 1))
            });
            format!("map[ref.Val]ref.Val{{{}}}", entries.collect::<Vec<_>>().join(", "))
        }
        other => go_text(other, depth),
    }
}

/// A key that is no text, as Go's `%q` prints it, and its type.
fn quoted_key(key: &CelValue<'_>) -> (String, &'static str) {
    let code = match key {
        CelValue::Int(i) => u32::try_from(*i).ok(),
        CelValue::Uint(u) => u32::try_from(*u).ok(),
        _ => None,
    };
    let go_type = match key {
        CelValue::Int(_) => "types.Int",
        CelValue::Uint(_) => "types.Uint",
        CelValue::Bool(_) => "types.Bool",
        CelValue::Double(_) => "types.Double",
        _ => "ref.Val",
    };
    let character = code.map(|code| char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
    let quoted = match (key, character) {
        (_, Some(character)) => {
            let quoted = quote(character.encode_utf8(&mut [0; 4]));
            let inner = quoted.get(1..quoted.len() - 1).unwrap_or_default();
            match inner {
                "\\\"" => "'\"'".to_owned(),
                "'" => "'\\''".to_owned(),
                inner => format!("'{inner}'"),
            }
        }
        (CelValue::Int(_) | CelValue::Uint(_), None) => "'\u{fffd}'".to_owned(),
        (other, None) => format!("%!q({go_type}={})", go_text(other, 0)),
    };
    (quoted, go_type)
}

fn key_text(key: &CelValue<'_>) -> Result<String, String> {
    match key {
        CelValue::String(text) => Ok(text.as_str().to_owned()),
        CelValue::Int(_) | CelValue::Uint(_) => {
            Err(format!("unsupported type conversion from '{}' to string", key.type_name()))
        }
        other => Err(format!("type conversion error from {} to 'string'", other.type_name())),
    }
}

/// Names of `Object` types that do not follow the path to them.
pub(crate) fn type_mismatches(object: &ObjectValue<'_>) -> Vec<String> {
    let mut found = Vec::new();
    visit(&CelObject::Object(object), object.type_name.as_str(), &mut found);
    found
}

enum CelObject<'v, 'a> {
    Object(&'v ObjectValue<'a>),
    Value(&'v CelValue<'a>),
}

fn visit(value: &CelObject<'_, '_>, path: &str, found: &mut Vec<String>) {
    pleach_work::charge(1);
    let object = match value {
        CelObject::Object(object) => *object,
        CelObject::Value(CelValue::Object(object)) => object,
        CelObject::Value(CelValue::List(list @ List::Owned(..))) => {
            for item in list.iter().flatten().take(MOST_NODES) {
                grow_stack(|| visit(&CelObject::Value(&item), path, found));
            }
            return;
        }
        CelObject::Value(CelValue::Map(map @ CelMap::Owned(_))) => {
            for item in map.iter().filter_map(|(_, value)| value.ok()) {
                grow_stack(|| visit(&CelObject::Value(&item), path, found));
            }
            return;
        }
        CelObject::Value(_) => return,
    };
    if object.type_name != path && found.len() < 100 {
        found.push(format!(
            "unexpected type name \"{}\", expected \"{path}\", which matches field name path from root Object type",
            object.type_name
        ));
    }
    for (name, value) in &object.fields {
        let below = format!("{path}.{name}");
        grow_stack(|| visit(&CelObject::Value(value), &below, found));
    }
}
