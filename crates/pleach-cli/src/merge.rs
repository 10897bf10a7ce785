//! Three-way merges of one object: the changes of two writers since the version that both started from, field by field.
//!
//! A field that one of them changed has the new value; one that both changed to different values is a conflict, for the
//! user to decide. Items of a list are merged by their keys where the schema says `map`, or where there is no schema and
//! all items have a unique `name`, `uid` or `type`; other lists are single values.

use std::collections::{HashMap, HashSet};

use pleach_json::{Map, Str, Value, grow_stack};
use pleach_meta::Path;
use pleach_schema::JSONSchemaProps;

/// Fields of the server, which always have the newest value.
const SERVER_FIELDS: &[&str] =
    &["metadata.resourceVersion", "metadata.generation", "metadata.uid", "metadata.creationTimestamp"];

/// A merged object.
#[derive(Debug, Default)]
pub struct Merged {
    /// The object; conflicts have their chosen value.
    pub object: Value,
    /// Fields that both changed, to different values.
    pub conflicts: Vec<Conflict>,
    /// Fields that only the other writer changed, with their new value.
    pub taken: Vec<(String, Option<Value>)>,
}

/// A field that both changed. Absent values are `None`.
#[derive(Debug, PartialEq)]
pub struct Conflict {
    /// The path, as field errors print it; items of keyed lists as `[name=a]`.
    pub field: String,
    /// The value before both changes.
    pub base: Option<Value>,
    /// The value of the user's text.
    pub mine: Option<Value>,
    /// The value on the server.
    pub theirs: Option<Value>,
}

/// The three versions of an object or a part of it.
#[derive(Clone, Copy)]
struct Versions<'a> {
    base: Option<&'a Value>,
    mine: Option<&'a Value>,
    theirs: Option<&'a Value>,
}

impl<'a> Versions<'a> {
    fn map(self, part: impl Fn(&'a Value) -> Option<&'a Value>) -> Self {
        Self {
            base: self.base.and_then(&part),
            mine: self.mine.and_then(&part),
            theirs: self.theirs.and_then(&part),
        }
    }

    fn each(self) -> impl Iterator<Item = &'a Value> {
        [self.mine, self.theirs, self.base].into_iter().flatten()
    }
}

/// Merges. At the fields `theirs_at` conflicts have the server's value, at others the user's. With `status_is_theirs`,
/// `status` is not part of what the user writes, as where it is a subresource.
pub fn merge(
    [base, mine, theirs]: [&Value; 3],
    schema: Option<&JSONSchemaProps>,
    theirs_at: &[&str],
    status_is_theirs: bool,
) -> Merged {
    let mut walk = Walk { theirs_at, status_is_theirs, out: Merged::default() };
    let versions = Versions { base: Some(base), mine: Some(mine), theirs: Some(theirs) };
    let object = walk.node(&Path::ROOT, versions, schema).unwrap_or_default();
    Merged { object, ..walk.out }
}

struct Walk<'a> {
    theirs_at: &'a [&'a str],
    status_is_theirs: bool,
    out: Merged,
}

impl Walk<'_> {
    fn node(
        &mut self,
        path: &Path<'_>,
        versions: Versions<'_>,
        schema: Option<&JSONSchemaProps>,
    ) -> Option<Value> {
        let Versions { base, mine, theirs } = versions;
        // Charges for the comparisons, which every level makes.
        if let Some(theirs) = theirs {
            theirs.extent(usize::MAX);
        }
        if mine == theirs || base == theirs {
            return mine.cloned();
        }
        let is_atomic = schema.is_some_and(|schema| schema.rare().x_map_type.as_deref() == Some("atomic"));
        if let (Some(Value::Object(_)), Some(Value::Object(_)), false) = (mine, theirs, is_atomic) {
            return Some(grow_stack(|| self.members(path, versions, schema)));
        }
        if let (Some(Value::Array(_)), Some(Value::Array(_))) = (mine, theirs)
            && let Some(keys) = item_keys(path, versions, schema)
            && let Some(order) = item_order(&keys, versions)
        {
            return Some(grow_stack(|| self.items(path, versions, schema, &keys, &order)));
        }
        let field = path.to_string();
        if base == mine {
            self.out.taken.push((field, theirs.cloned()));
            return theirs.cloned();
        }
        let chosen = if self.theirs_at.contains(&field.as_str()) { theirs } else { mine };
        let [base, mine, theirs] = [base, mine, theirs].map(Option::<&Value>::cloned);
        let chosen = chosen.cloned();
        self.out.conflicts.push(Conflict { field, base, mine, theirs });
        chosen
    }

    fn members(
        &mut self,
        path: &Path<'_>,
        versions: Versions<'_>,
        schema: Option<&JSONSchemaProps>,
    ) -> Value {
        let mut names: Vec<&Str> = versions.each().filter_map(Value::as_object).flat_map(Map::keys).collect();
        names.sort_unstable();
        names.dedup();
        let mut out = Map::new();
        for name in names {
            let schema =
                schema.and_then(|schema| schema.property(name).or_else(|| schema.additional_properties()));
            let versions = versions.map(|object| object.get(name));
            let below = path.child(name);
            let merged = if self.is_servers(&below) {
                versions.theirs.cloned()
            } else {
                self.node(&below, versions, schema)
            };
            if let Some(merged) = merged {
                out.insert(name.clone(), merged);
            }
        }
        out.into()
    }

    fn is_servers(&self, path: &Path<'_>) -> bool {
        is_near(path) && {
            let field = path.to_string();
            SERVER_FIELDS.contains(&field.as_str()) || (self.status_is_theirs && field == "status")
        }
    }

    fn items<'a>(
        &mut self,
        path: &Path<'_>,
        versions: Versions<'a>,
        schema: Option<&JSONSchemaProps>,
        keys: &[Str],
        order: &[String],
    ) -> Value {
        let schema = schema.and_then(JSONSchemaProps::items);
        let by_id = |list: Option<&'a Value>| -> HashMap<String, &'a Value> {
            let items = list.and_then(Value::as_array).map_or(&[][..], |list| list);
            pleach_work::charge(items.len() as u64);
            items.iter().filter_map(|item| Some((id_of(item, keys)?, item))).collect()
        };
        let Versions { base, mine, theirs } = versions;
        let [base, mine, theirs] = [base, mine, theirs].map(by_id);
        let mut out = Vec::new();
        for id in order {
            let [base, mine, theirs] = [&base, &mine, &theirs].map(|items| items.get(id).copied());
            out.extend(self.node(&path.key(id), Versions { base, mine, theirs }, schema));
        }
        out.into()
    }
}

/// Whether a path has at most two steps.
fn is_near(path: &Path<'_>) -> bool {
    // The root counts.
    std::iter::successors(Some(path), |path| path.parent()).take(4).count() <= 3
}

/// The keys by which the items of a list are told apart. Items that are their own keys, as those of sets, have none.
fn item_keys(path: &Path<'_>, versions: Versions<'_>, schema: Option<&JSONSchemaProps>) -> Option<Vec<Str>> {
    let is_keyed = |keys: &Vec<Str>| {
        versions.each().filter_map(Value::as_array).all(|list| {
            let mut ids: Vec<Option<String>> = list.iter().map(|item| id_of(item, keys)).collect();
            ids.sort_unstable();
            ids.iter().all(Option::is_some) && ids.windows(2).all(|pair| pair[0] != pair[1])
        })
    };
    let candidates: Vec<Vec<Str>> = match schema {
        Some(schema) => match schema.rare().x_list_type.as_deref() {
            Some("map") => vec![schema.rare().x_list_map_keys.clone().unwrap_or_default()],
            Some("set") => vec![Vec::new()],
            _ => Vec::new(),
        },
        None if is_near(path) && path.to_string() == "metadata.finalizers" => vec![Vec::new()],
        None => ["name", "uid", "type"].map(|key| vec![Str::from(key)]).into(),
    };
    candidates.into_iter().find(is_keyed)
}

/// The identity of an item: `name=a`, or the scalar itself without keys.
fn id_of(item: &Value, keys: &[Str]) -> Option<String> {
    if keys.is_empty() {
        return (!item.is_container()).then(|| pleach_json::to_string(item));
    }
    let item = item.as_object()?;
    let scalar = |key: &Str| match item.get(key) {
        Some(Value::String(text)) => Some(format!("{key}={text}")),
        Some(value) if !value.is_container() => Some(format!("{key}={value}")),
        // Keys may have defaults.
        None if keys.len() > 1 => Some(format!("{key}=")),
        _ => None,
    };
    Some(keys.iter().map(scalar).collect::<Option<Vec<_>>>()?.join(","))
}

/// All items in their merged order: that of the writer who moved some, with the items that the other added behind those
/// they followed. `None` if both moved items.
fn item_order(keys: &[Str], versions: Versions<'_>) -> Option<Vec<String>> {
    let ids = |list: Option<&Value>| -> Vec<String> {
        let items = list.and_then(Value::as_array).map_or(&[][..], |list| list);
        items.iter().filter_map(|item| id_of(item, keys)).collect()
    };
    let [base, mine, theirs] = [versions.base, versions.mine, versions.theirs].map(ids);
    let known: HashSet<&String> = base.iter().collect();
    let moved = |list: &[String]| {
        let kept: HashSet<&String> = list.iter().collect();
        !base.iter().filter(|id| kept.contains(id)).eq(list.iter().filter(|id| known.contains(id)))
    };
    let (first, other) = match (moved(&mine), moved(&theirs)) {
        (true, true) if mine != theirs => return None,
        (false, true) => (theirs, mine),
        _ => (mine, theirs),
    };
    let places: HashMap<&String, usize> = first.iter().enumerate().map(|(at, id)| (id, at + 1)).collect();
    // The items that the other writer added, by the place that they come behind; nought is the beginning.
    let mut added: Vec<Vec<String>> = vec![Vec::new(); first.len() + 1];
    let mut behind = 0;
    for id in other {
        match places.get(&id) {
            Some(at) => behind = *at,
            None => added[behind].push(id),
        }
    }
    let mut order = std::mem::take(&mut added[0]);
    for (id, more) in first.iter().zip(&mut added[1..]) {
        order.push(id.clone());
        order.append(more);
    }
    Some(order)
}

#[cfg(test)]
mod tests {
    use pleach_json::json;

    use super::*;

    fn merged(base: Value, mine: Value, theirs: Value) -> Merged {
        merge([&base, &mine, &theirs], None, &[], false)
    }

    #[test]
    fn fields_that_one_changed_have_the_new_value() {
        let out = merged(
            json!({"spec": {"size": 1, "color": "red", "old": 1, "kept": 1}}),
            json!({"spec": {"size": 7, "color": "red", "kept": 1, "mine": {"a": 1}}}),
            json!({"spec": {"size": 1, "color": "blue", "old": 1, "note": "new"}}),
        );
        let want = json!({"spec": {"size": 7, "color": "blue", "mine": {"a": 1}, "note": "new"}});
        assert_eq!(out.object, want);
        assert!(out.conflicts.is_empty(), "{:?}", out.conflicts);
        let taken: Vec<&str> = out.taken.iter().map(|(field, _)| field.as_str()).collect();
        assert_eq!(taken, ["spec.color", "spec.kept", "spec.note"]);
    }

    #[test]
    fn fields_that_both_changed_are_conflicts_and_chosen_one_by_one() {
        let base = json!({"spec": {"size": 1, "color": "red", "gone": {"a": 1}}});
        let mine = json!({"spec": {"size": 2, "color": "blue"}});
        let theirs = json!({"spec": {"size": 3, "color": "green", "gone": {"a": 2}}});
        let out = merge([&base, &mine, &theirs], None, &["spec.color"], false);
        assert_eq!(out.object, json!({"spec": {"size": 2, "color": "green"}}));
        let fields: Vec<&str> = out.conflicts.iter().map(|conflict| conflict.field.as_str()).collect();
        assert_eq!(fields, ["spec.color", "spec.gone", "spec.size"]);
        assert_eq!(out.conflicts[1].mine, None);
        assert_eq!(out.conflicts[1].theirs, Some(json!({"a": 2})));
        assert!(out.taken.is_empty());
        // The same change by both is none.
        let same = merged(base, theirs.clone(), theirs.clone());
        assert_eq!((same.object, same.conflicts.len()), (theirs, 0));
    }

    #[test]
    fn fields_of_the_server_are_never_conflicts() {
        let base =
            json!({"metadata": {"resourceVersion": "1", "generation": 1, "name": "a"}, "status": {"n": 1}});
        let mine = json!({"metadata": {"name": "a"}, "spec": {}});
        let theirs =
            json!({"metadata": {"resourceVersion": "5", "generation": 2, "name": "a"}, "status": {"n": 2}});
        let out = merge([&base, &mine, &theirs], None, &[], true);
        let want = json!({"metadata": {"resourceVersion": "5", "generation": 2, "name": "a"}, "spec": {}, "status": {"n": 2}});
        assert_eq!((out.object, out.conflicts, out.taken), (want, vec![], vec![]));
        let out = merge([&base, &mine, &theirs], None, &[], false);
        assert_eq!(out.conflicts[0].field, "status");
    }

    #[test]
    fn items_are_merged_by_name() {
        let out = merged(
            json!({"c": [{"name": "a", "v": 1}, {"name": "b", "v": 1}, {"name": "c", "v": 1}]}),
            json!({"c": [{"name": "a", "v": 2}, {"name": "b", "v": 1}, {"name": "mine"}, {"name": "c", "v": 3}]}),
            json!({"c": [{"name": "first"}, {"name": "a", "v": 1, "w": 1}, {"name": "c", "v": 4}, {"name": "last"}]}),
        );
        let want = json!({"c": [
            {"name": "first"}, {"name": "a", "v": 2, "w": 1}, {"name": "mine"}, {"name": "c", "v": 3}, {"name": "last"},
        ]});
        assert_eq!(out.object, want);
        let conflicts: Vec<&str> = out.conflicts.iter().map(|conflict| conflict.field.as_str()).collect();
        assert_eq!(conflicts, ["c[name=c].v"]);
        let taken: Vec<&str> = out.taken.iter().map(|(field, _)| field.as_str()).collect();
        assert_eq!(taken, ["c[name=first]", "c[name=a].w", "c[name=b]", "c[name=last]"]);
    }

    #[test]
    fn lists_without_keys_are_single_values() {
        let (base, mine, theirs) =
            (json!({"args": ["a"]}), json!({"args": ["a", "b"]}), json!({"args": ["c", "a"]}));
        let out = merged(base.clone(), mine.clone(), theirs.clone());
        assert_eq!((out.conflicts[0].field.as_str(), out.object), ("args", mine));
        assert_eq!(merged(base.clone(), base.clone(), theirs.clone()).object, theirs);
        // Both moved items: neither order contains the other's.
        let list = |names: [&str; 3]| json!({"c": (names.map(|name| json!({"name": name})).to_vec())});
        let out = merged(list(["a", "b", "c"]), list(["b", "a", "c"]), list(["a", "c", "b"]));
        assert_eq!(out.conflicts[0].field, "c");
        let out = merged(list(["a", "b", "c"]), list(["a", "b", "c"]), list(["a", "c", "b"]));
        assert_eq!(out.object, list(["a", "c", "b"]));
        let finalizers = |names: &[&str]| json!({"metadata": {"finalizers": (names.iter().map(|name| Value::from(*name)).collect::<Vec<_>>())}});
        let out =
            merged(finalizers(&["a", "b"]), finalizers(&["a", "b", "mine"]), finalizers(&["b", "theirs"]));
        assert_eq!(out.object, finalizers(&["b", "theirs", "mine"]));
    }

    #[test]
    fn long_lists_are_merged_in_linear_time() {
        let list = |names: std::ops::Range<usize>| {
            let items = names.map(|n| json!({"name": (format!("n{n}").as_str()), "v": (n as i64)}));
            json!({"c": (items.collect::<Vec<_>>())})
        };
        let steps = |n: usize| {
            let (out, steps) =
                pleach_work::measure(|| merged(list(0..n), list(n / 2..2 * n), list(n / 4..n + n / 2)));
            let names = out.object.get("c").and_then(Value::as_array).unwrap().len();
            assert_eq!(names, 2 * n - n / 2, "{n}");
            steps
        };
        let (few, many) = (steps(1_000), steps(10_000));
        assert!(many <= 12 * few, "{few} {many}");
    }

    #[test]
    fn the_schema_says_how_lists_and_maps_are_merged() {
        let schema = json!({"type": "object", "properties": {
            "ports": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["port", "protocol"],
                "items": {"type": "object", "properties": {"port": {"type": "integer"}, "protocol": {"type": "string"}}}},
            "atomic": {"type": "array", "items": {"type": "object", "properties": {"name": {"type": "string"}}}},
            "selector": {"type": "object", "x-kubernetes-map-type": "atomic", "additionalProperties": {"type": "string"}},
        }});
        let schema = JSONSchemaProps::decode(&mut pleach_schema::Decoder::new("v1"), &schema);
        let base = json!({"ports": [{"port": 1, "protocol": "TCP"}], "atomic": [{"name": "a"}], "selector": {"a": "1"}});
        let mine = json!({"ports": [{"port": 1, "protocol": "TCP", "name": "x"}], "atomic": [{"name": "a", "v": 1}], "selector": {"a": "2"}});
        let theirs = json!({"ports": [{"port": 1, "protocol": "UDP"}, {"port": 1, "protocol": "TCP", "node": 2}],
            "atomic": [{"name": "a", "w": 1}], "selector": {"a": "1", "b": "1"}});
        let out = merge([&base, &mine, &theirs], Some(&schema), &["atomic", "selector"], false);
        let want = json!({"ports": [{"port": 1, "protocol": "UDP"}, {"port": 1, "protocol": "TCP", "name": "x", "node": 2}],
            "atomic": [{"name": "a", "w": 1}], "selector": {"a": "1", "b": "1"}});
        assert_eq!(out.object, want);
        let conflicts: Vec<&str> = out.conflicts.iter().map(|conflict| conflict.field.as_str()).collect();
        assert_eq!(conflicts, ["atomic", "selector"]);
    }
}
