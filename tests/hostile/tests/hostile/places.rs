//! The places of all fields in the built-in kinds, by the table of their types, and all that is done with an object.

use std::collections::{HashSet, VecDeque};

use pleach_json::{Map, Value};
use pleach_meta::Status;
use pleach_pipeline::gates::Gates;
use pleach_pipeline::kind::Kind;
use pleach_pipeline::resource::{Resource, Subresource};
use pleach_pipeline::types::{TypeDef, TypeExpr, get};
use pleach_pipeline::{columns, kinds, offline};
use pleach_schema::Record;

/// A way from an object to a field.
#[derive(Clone, Debug)]
enum Step {
    Field(&'static str),
    Item,
    Key,
}

/// A field of a type, with the way to it.
pub(crate) struct Place {
    way: Vec<Step>,
    pub(crate) ty: &'static TypeExpr,
}

impl Place {
    pub(crate) fn name(&self) -> String {
        let parts = self.way.iter().map(|step| match step {
            Step::Field(name) => format!(".{name}"),
            Step::Item => "[]".to_owned(),
            Step::Key => "{}".to_owned(),
        });
        parts.collect()
    }

    /// The object with a value in this place, and with what lists are known by on the way.
    pub(crate) fn with(&self, kind: &Kind, version: usize, value: Value) -> Value {
        Self::made(kind, version, value, &self.way)
    }

    /// The same with a value in another place beside this one: in a field of the same object.
    #[allow(dead_code, reason = "one of the tests has pairs")]
    pub(crate) fn with_both(&self, other: &Self, kind: &Kind, version: usize, values: [Value; 2]) -> Value {
        let above = &self.way[..self.way.len() - 1];
        let fields = [&self.way, &other.way].map(|way| match way.last() {
            Some(Step::Field(name)) => *name,
            _ => unreachable!("lists are fields"),
        });
        let members: Map = fields.into_iter().zip(values).map(|(name, value)| (name.into(), value)).collect();
        Self::made(kind, version, members.into(), above)
    }

    /// Whether both are fields of the same object.
    #[allow(dead_code, reason = "one of the tests has pairs")]
    pub(crate) fn is_beside(&self, other: &Self) -> bool {
        let is_field = |place: &Self| matches!(place.way.last(), Some(Step::Field(_)));
        let above = |place: &Self| format!("{:?}", &place.way[..place.way.len() - 1]);
        is_field(self) && is_field(other) && above(self) == above(other)
    }

    fn made(kind: &Kind, version: usize, value: Value, way: &[Step]) -> Value {
        let mut made = value;
        for step in way.iter().rev() {
            made = match step {
                Step::Item => vec![made].into(),
                Step::Key => [("k".into(), made)].into_iter().collect::<Map>().into(),
                Step::Field(name) => [((*name).into(), made)].into_iter().collect::<Map>().into(),
            };
        }
        let Value::Object(mut object) = made else { unreachable!("an object has fields") };
        object.insert("apiVersion", kind.versions[version].api_version.clone());
        object.insert("kind", kind.kind.clone());
        if let Value::Object(metadata) = object.get_or_insert_with("metadata", Value::object) {
            metadata.insert("name", "x");
        }
        object.into()
    }
}

/// All places of all kinds with a type, a field of a struct once, however many ways lead to it.
pub(crate) fn places(wanted: impl Fn(&TypeExpr) -> bool) -> Vec<(Kind, usize, Place)> {
    let (mut seen, mut found) = (HashSet::new(), Vec::new());
    for kind in kinds::all(Gates::default()) {
        for version in 0..kind.versions.len() {
            let api_version = kind.versions[version].api_version.clone();
            let Some(root) = kinds::type_name(&api_version, &kind.kind) else { continue };
            let mut due: VecDeque<(&'static str, Vec<Step>)> = [(root, Vec::new())].into();
            while let Some((of, way)) = due.pop_front() {
                for (_, field) in get(of).into_iter().flat_map(TypeDef::flat) {
                    if !seen.insert((of, field.name)) {
                        continue;
                    }
                    let mut way = way.clone();
                    way.push(Step::Field(field.name));
                    let mut ty = &field.ty;
                    loop {
                        if wanted(ty) {
                            found.push((kind.clone(), version, Place { way: way.clone(), ty }));
                        }
                        match ty {
                            TypeExpr::Pointer(of) => ty = of,
                            TypeExpr::List(of) => {
                                way.push(Step::Item);
                                ty = of;
                            }
                            TypeExpr::Map(of) => {
                                way.push(Step::Key);
                                ty = of;
                            }
                            TypeExpr::Struct(name) => {
                                due.push_back((name, way));
                                break;
                            }
                            _ => break,
                        }
                    }
                }
            }
        }
    }
    found
}

/// All that is done with an object: it is created, replaces itself, and is shown.
pub(crate) fn written(kind: &Kind, version: usize, body: &[u8]) -> (Vec<String>, Vec<Value>, Option<Value>) {
    let resource = Resource::new(kind, version);
    let read = pleach_json::parse(body).unwrap();
    let decoded = match offline::decode(resource, read, Record::Nothing) {
        Ok(decoded) => decoded.value.into_value(),
        Err(_) => return Default::default(),
    };
    let mut object = decoded.clone();
    let verdict = offline::create(resource, &mut object);
    let status = Status::invalid(&kind.group, &kind.kind, "x", &verdict.errors).to_value();
    let (mut new, mut old) = (decoded.clone(), object.clone());
    offline::update(resource, &mut new, &mut old);
    if kind.versions[version].status {
        let resource = Resource { subresource: Subresource::Status, ..resource };
        let (mut new, mut old) = (decoded, object.clone());
        offline::update(resource, &mut new, &mut old);
    }
    let cells =
        kind.versions[version].columns.iter().map(|column| columns::cell(column, &object, 1_700_000_000));
    (verdict.warnings, cells.collect(), Some(status))
}
