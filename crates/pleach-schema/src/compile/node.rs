//! One node of a compiled schema.
//!
//! Nodes are immutable and shared: equal nodes are one node, however many CRDs have them (see
//! `intern`). A node therefore has no path, no name and no description; explanations for people are
//! made from the schema as written.

use std::fmt;
use std::sync::{Arc, OnceLock};

use pleach_cel::DeclType;
use pleach_json::{Map, Str, Value, grow_stack_to_drop};

use super::digest::Digest;
use super::intern;
use super::types::Types;
use crate::keywords::{Argument, Check, Gate, KEYWORDS};
use crate::props::{Union, ValidationRule};
use crate::run_rules::Rule;

/// A node, shared.
pub type NodeRef = Arc<Node>;

/// A compiled schema node.
pub struct Node {
    pub(super) properties: Box<[Property]>,
    pub(super) additional: Additional,
    pub(super) items: Option<NodeRef>,
    pub(super) types: Types,
    pub(super) flags: Flags,
    pub(super) below: Below,
    pub(super) list_type: ListType,
    pub(super) map_type: MapType,
    /// How many of `required` are declared properties.
    pub(super) required_declared: u32,
    pub(super) checks: Box<[CompiledCheck]>,
    pub(super) required: Box<[Str]>,
    pub(super) rare: Option<Box<Rare>>,
    /// Hash of everything: where the node is found again.
    pub(super) identity: u64,
    /// Hash of what settling an object depends on.
    pub(super) settle: u64,
    /// Whether the table of nodes knows this one.
    pub(super) interned: bool,
    /// The CEL type, once it was needed.
    pub(super) decl: OnceLock<Option<Box<DeclType>>>,
}

/// The parts that few nodes have.
#[derive(Default)]
pub(super) struct Rare {
    pub(super) default: Option<Value>,
    /// About how many bytes of memory, or of text if that is more, an object grows by with the default.
    pub(super) default_weight: usize,
    pub(super) list_map_keys: Box<[Str]>,
    pub(super) junctors: Junctors,
    pub(super) rules: Box<[Rule]>,
    /// Which properties have defaults.
    pub(super) defaulted: Box<[u32]>,
    pub(super) unions: Box<[Union]>,
}

/// A declared property.
pub struct Property {
    /// Its name.
    pub name: Str,
    /// Its schema.
    pub node: NodeRef,
    /// Whether the object must have it.
    pub required: bool,
    /// The start of the name, as a number of the same order.
    prefix: u64,
    /// The length of the name, where it is at hand.
    length: usize,
    /// The name as a step of `fieldsV1`, `f:name`: every new object needs those of all its fields.
    step: Str,
    /// Whether the name is written in JSON as it is.
    plain: bool,
    has_default: bool,
}

impl Property {
    pub(super) fn new(name: Str, node: NodeRef, required: bool) -> Self {
        let (prefix, length) = (prefix(&name), name.len());
        let step = ["f:", name.as_str()].into_iter().collect();
        let mut written = Vec::with_capacity(name.len() + 2);
        pleach_json::write_string(&name, &mut written);
        let plain = written.len() == name.len() + 2;
        let has_default = node.default().is_some();
        Self { name, node, required, prefix, length, step, plain, has_default }
    }

    /// Whether the property has a default.
    #[inline]
    pub(crate) fn has_default(&self) -> bool {
        self.has_default
    }

    /// Whether the name is known to be written in JSON as it is.
    #[inline]
    pub fn is_plain(&self) -> bool {
        self.plain
    }

    /// The name as a step of `fieldsV1`, `f:name`.
    #[inline]
    pub fn step(&self) -> &Str {
        &self.step
    }
}

/// How many properties are looked at one by one.
const NEAR: usize = 6;

/// The first eight bytes of a key as a number: numbers compare as their keys do, as far as they go.
#[inline]
fn prefix(key: &str) -> u64 {
    let bytes = key.as_bytes();
    if let Some(first) = bytes.first_chunk() {
        return u64::from_be_bytes(*first);
    }
    if let (Some(first), Some(last)) = (bytes.first_chunk::<4>(), bytes.last_chunk::<4>()) {
        // The two overlap, and agree where they do.
        let last = u64::from(u32::from_be_bytes(*last)) << (8 * (8 - bytes.len()));
        return u64::from(u32::from_be_bytes(*first)) << 32 | last;
    }
    let byte = |i: usize| bytes.get(i).map_or(0, |b| u64::from(*b));
    byte(0) << 56 | byte(1) << 48 | byte(2) << 40
}

/// `additionalProperties`: the members of an object that are no declared properties.
#[derive(Clone, Default)]
pub enum Additional {
    /// Not given: validation accepts all members, pruning removes them.
    #[default]
    Absent,
    /// `additionalProperties: true` or `false`.
    Bool(bool),
    /// A schema for the values of all other keys.
    Schema(NodeRef),
}

/// `x-kubernetes-list-type`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ListType {
    /// Not given; the same as atomic.
    #[default]
    Unset,
    /// One value, owned as a whole.
    Atomic,
    /// Scalars or atomic values, without duplicates.
    Set,
    /// Objects identified by the values of [`Node::list_map_keys`].
    Map,
}

/// `x-kubernetes-map-type`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MapType {
    /// Not given; the same as granular.
    #[default]
    Unset,
    /// Members have owners of their own.
    Granular,
    /// One value, owned as a whole.
    Atomic,
}

/// `anyOf`, `oneOf`, `allOf` and `not`.
#[derive(Default)]
pub(crate) struct Junctors {
    pub(crate) any_of: Box<[NodeRef]>,
    pub(crate) one_of: Box<[NodeRef]>,
    pub(crate) all_of: Box<[NodeRef]>,
    pub(crate) not: Option<NodeRef>,
}

/// A check and the place of its keyword in [`KEYWORDS`].
pub(crate) struct CompiledCheck {
    pub(crate) check: Box<dyn Check>,
    pub(crate) gate: Gate,
    pub(super) keyword: u8,
}

/// The boolean keywords of a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Flags(pub(super) u8);

impl Flags {
    pub(super) const NULLABLE: u8 = 1;
    pub(super) const PRESERVE: u8 = 1 << 1;
    pub(super) const EMBEDDED: u8 = 1 << 2;
    pub(super) const INT_OR_STRING: u8 = 1 << 3;
    pub(super) const ROOT: u8 = 1 << 4;

    fn has(self, flag: u8) -> bool {
        self.0 & flag != 0
    }
}

/// Flags of a node and the nodes below it, so that a pass can skip a subtree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Below(pub(super) u8);

impl Below {
    pub(super) const DEFAULTS: u8 = 1;
    pub(super) const LISTS: u8 = 1 << 1;
    pub(super) const EMBEDDED: u8 = 1 << 2;
    pub(super) const RULES: u8 = 1 << 3;
    pub(super) const UNIONS: u8 = 1 << 4;
    pub(super) const ATOMICS: u8 = 1 << 5;

    /// There are defaults.
    pub fn defaults(self) -> bool {
        self.0 & Self::DEFAULTS != 0
    }
    /// There are lists of type set or map.
    pub fn lists(self) -> bool {
        self.0 & Self::LISTS != 0
    }
    /// There are embedded resources.
    pub fn embedded_resources(self) -> bool {
        self.0 & Self::EMBEDDED != 0
    }
    /// There are unions.
    pub fn unions(self) -> bool {
        self.0 & Self::UNIONS != 0
    }
    /// There are atomic lists or maps.
    #[inline]
    pub fn atomics(self) -> bool {
        self.0 & Self::ATOMICS != 0
    }
    /// There are CEL rules.
    pub fn rules(self) -> bool {
        self.0 & Self::RULES != 0
    }
}

impl Node {
    /// The declared properties, sorted by name.
    #[inline]
    pub fn properties(&self) -> &[Property] {
        &self.properties
    }

    /// The declared property `name`.
    pub fn property(&self, name: &str) -> Option<&NodeRef> {
        let found = self.properties.binary_search_by(|p| p.name.as_str().cmp(name)).ok()?;
        Some(&self.properties[found].node)
    }

    /// `additionalProperties`
    #[inline]
    pub fn additional(&self) -> &Additional {
        &self.additional
    }

    /// The schema of the member `key`: its property, or `additionalProperties`.
    pub fn member(&self, key: &str) -> Option<&NodeRef> {
        self.property(key).or_else(|| self.additional.schema())
    }

    /// The schema of items.
    #[inline]
    pub fn items(&self) -> Option<&NodeRef> {
        self.items.as_ref()
    }

    /// The declared types.
    #[inline]
    pub fn types(&self) -> &Types {
        &self.types
    }

    /// The names an object must have, in the order given.
    pub fn required(&self) -> &[Str] {
        &self.required
    }

    /// The default; never null. Unknown fields have been pruned from it.
    #[inline]
    pub fn default(&self) -> Option<&Value> {
        self.rare.as_ref()?.default.as_ref()
    }

    /// About how many bytes an object grows by with the default.
    pub(crate) fn default_weight(&self) -> usize {
        self.rare.as_ref().map_or(0, |rare| rare.default_weight)
    }

    /// `x-kubernetes-list-type`
    #[inline]
    pub fn list_type(&self) -> ListType {
        self.list_type
    }

    /// `x-kubernetes-list-map-keys`
    #[inline]
    pub fn list_map_keys(&self) -> &[Str] {
        self.rare.as_ref().map_or(&[], |rare| &rare.list_map_keys)
    }

    /// `x-kubernetes-map-type`
    #[inline]
    pub fn map_type(&self) -> MapType {
        self.map_type
    }

    /// `nullable`
    #[inline]
    pub fn is_nullable(&self) -> bool {
        self.flags.has(Flags::NULLABLE)
    }

    /// `x-kubernetes-preserve-unknown-fields`
    #[inline]
    pub fn preserves_unknown_fields(&self) -> bool {
        self.flags.has(Flags::PRESERVE)
    }

    /// `x-kubernetes-embedded-resource`
    #[inline]
    pub fn is_embedded_resource(&self) -> bool {
        self.flags.has(Flags::EMBEDDED)
    }

    /// `x-kubernetes-int-or-string`
    pub fn is_int_or_string(&self) -> bool {
        self.flags.has(Flags::INT_OR_STRING)
    }

    /// Whether this is the schema of a whole object.
    #[inline]
    pub fn is_root(&self) -> bool {
        self.flags.has(Flags::ROOT)
    }

    /// Flags of this node and the nodes below it.
    #[inline]
    pub fn below(&self) -> Below {
        self.below
    }

    /// The rules of `x-kubernetes-validations` as written.
    pub fn rules(&self) -> impl ExactSizeIterator<Item = &ValidationRule> {
        self.compiled_rules().iter().map(Rule::source)
    }

    /// The unions of `x-kubernetes-unions`; none unless the schema was decoded with them.
    pub fn unions(&self) -> &[Union] {
        self.rare.as_ref().map_or(&[], |rare| &rare.unions)
    }

    pub(crate) fn compiled_rules(&self) -> &[Rule] {
        self.rare.as_ref().map_or(&[], |rare| &rare.rules)
    }

    /// Where the CEL type is kept once it was made.
    pub(crate) fn decl_cell(&self) -> &OnceLock<Option<Box<DeclType>>> {
        &self.decl
    }

    /// The keywords that restrict values here, by name with their arguments, in the order they run.
    pub fn restrictions(&self) -> impl Iterator<Item = (&'static str, Argument<'_>)> {
        self.checks.iter().map(|c| (KEYWORDS[usize::from(c.keyword)].name(), c.check.argument()))
    }

    /// Equal nodes have equal hashes, here and in every other run.
    pub fn identity(&self) -> u64 {
        self.identity
    }

    pub(crate) fn settle_fingerprint(&self) -> u64 {
        self.settle
    }

    pub(crate) fn checks(&self) -> &[CompiledCheck] {
        &self.checks
    }

    pub(crate) fn junctors(&self) -> Option<&Junctors> {
        self.rare.as_ref().map(|rare| &rare.junctors).filter(|junctors| !junctors.is_empty())
    }

    /// How many members of a valid object are required and declared.
    pub(crate) fn required_declared(&self) -> usize {
        self.required_declared as usize
    }

    /// Every required name that is no declared property is there.
    pub(crate) fn has_undeclared_required(&self, members: &Map) -> bool {
        self.required.len() == self.required_declared()
            || self.required.iter().all(|name| self.property(name).is_some() || members.contains_key(name))
    }

    /// How many declared properties have a default.
    #[inline]
    pub(crate) fn defaulted_len(&self) -> usize {
        self.rare.as_ref().map_or(0, |rare| rare.defaulted.len())
    }

    /// The declared properties that have a default, with their names.
    pub(crate) fn defaulted(&self) -> impl Iterator<Item = (&Property, &Value)> {
        self.rare.iter().flat_map(|rare| &rare.defaulted).filter_map(|&i| {
            let property = &self.properties[i as usize];
            Some((property, property.node.default()?))
        })
    }

    /// Whether this is the root or an embedded resource.
    #[inline]
    pub(crate) fn is_resource(&self) -> bool {
        self.flags.has(Flags::EMBEDDED | Flags::ROOT)
    }

    /// The property `key`, for keys in ascending order: `from` is where the search goes on.
    #[inline]
    pub fn next_property(&self, from: &mut usize, key: &str) -> Option<&Property> {
        let wanted = prefix(key);
        // The next few first: nearly always the property is there, or there is none.
        let mut at = *from;
        for property in self.properties.get(at..)?.iter().take(NEAR) {
            if property.prefix < wanted {
                at += 1;
                continue;
            }
            *from = at;
            if property.prefix > wanted {
                return None;
            }
            // Short keys equal their prefix; they differ only in zero bytes at the end.
            if property.length == key.len() && (key.len() <= 8 || property.name == key) {
                *from = at + 1;
                return Some(property);
            }
            break;
        }
        if at == self.properties.len() {
            *from = at;
            return None;
        }
        self.seek_property(from, wanted, key)
    }

    /// The same by binary search, for a few keys in a wide schema.
    #[inline(never)]
    fn seek_property(&self, from: &mut usize, wanted: u64, key: &str) -> Option<&Property> {
        let rest = &self.properties[*from..];
        let found = rest.binary_search_by(|property| {
            property.prefix.cmp(&wanted).then_with(|| property.name.as_str().cmp(key))
        });
        *from += found.map_or_else(|i| i, |i| i + 1);
        found.ok().map(|i| &rest[i])
    }

    /// Whether two nodes are equal; the nodes below, which are interned, are compared by address.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.identity == other.identity
            && self.flags == other.flags
            && self.types == other.types
            && self.list_type == other.list_type
            && self.map_type == other.map_type
            && self.required == other.required
            && self.additional.is_same(&other.additional)
            && same_option(self.items.as_ref(), other.items.as_ref())
            && self.properties.len() == other.properties.len()
            && self
                .properties
                .iter()
                .zip(&other.properties)
                .all(|(a, b)| a.name == b.name && Arc::ptr_eq(&a.node, &b.node))
            && self.checks.len() == other.checks.len()
            && self
                .checks
                .iter()
                .zip(&other.checks)
                .all(|(a, b)| a.keyword == b.keyword && a.check.argument() == b.check.argument())
            && match (&self.rare, &other.rare) {
                (None, None) => true,
                (Some(a), Some(b)) => a.is_same(b),
                _ => false,
            }
    }

    /// Hashes the node, after its children.
    pub(super) fn seal(&mut self) {
        let mut all = Digest::new(1);
        all.number(u64::from(self.flags.0));
        all.text(self.types.as_str());
        all.text(self.types.format().map_or("", Str::as_str));
        all.number(self.list_type as u64 | (self.map_type as u64) << 8);
        // What settling depends on: see `Schema::fingerprint`.
        let mut settle = Digest::new(2);
        settle.number(u64::from(self.flags.0 & (Flags::NULLABLE | Flags::PRESERVE | Flags::EMBEDDED)));
        for name in &self.required {
            all.text(name);
        }
        all.number(self.properties.len() as u64);
        settle.number(self.properties.len() as u64);
        for property in &self.properties {
            all.text(&property.name);
            all.number(property.node.identity);
            settle.text(&property.name);
            settle.number(property.node.settle);
        }
        for (digest, child) in [(&mut all, Self::identity as fn(&Self) -> u64), (&mut settle, |n| n.settle)] {
            match &self.additional {
                Additional::Absent => digest.number(0),
                Additional::Bool(allowed) => digest.number(1 + u64::from(*allowed)),
                Additional::Schema(node) => digest.number(child(node).wrapping_mul(4) + 3),
            }
            digest.number(self.items.as_ref().map_or(0, |items| child(items)));
        }
        for check in &self.checks {
            all.number(u64::from(check.keyword));
            digest_argument(&mut all, check.check.argument());
        }
        if let Some(rare) = &self.rare {
            rare.digest(&mut all);
            settle.value(rare.default.as_ref().unwrap_or(&Value::Null));
        }
        self.identity = all.finish();
        self.settle = settle.finish();
    }
}

fn digest_argument(digest: &mut Digest, argument: Argument<'_>) {
    match argument {
        Argument::None => {}
        Argument::Count(n) => digest.number(n as u64),
        Argument::Bound(bound, excluded) => {
            digest.number(bound.to_bits());
            digest.number(u64::from(excluded));
        }
        Argument::Text(text) => digest.text(text),
        Argument::Values(values) => values.iter().for_each(|value| digest.value(value)),
    }
}

fn same_option(a: Option<&NodeRef>, b: Option<&NodeRef>) -> bool {
    match (a, b) {
        (None, None) => true,
        (Some(a), Some(b)) => Arc::ptr_eq(a, b),
        _ => false,
    }
}

fn same_list(a: &[NodeRef], b: &[NodeRef]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| Arc::ptr_eq(a, b))
}

impl Rare {
    pub(super) fn is_empty(&self) -> bool {
        self.default.is_none()
            && self.list_map_keys.is_empty()
            && self.junctors.is_empty()
            && self.rules.is_empty()
            && self.defaulted.is_empty()
            && self.unions.is_empty()
    }

    fn is_same(&self, other: &Self) -> bool {
        self.default == other.default
            && self.list_map_keys == other.list_map_keys
            && self.unions == other.unions
            && self.rules.iter().map(Rule::source).eq(other.rules.iter().map(Rule::source))
            && same_list(&self.junctors.any_of, &other.junctors.any_of)
            && same_list(&self.junctors.one_of, &other.junctors.one_of)
            && same_list(&self.junctors.all_of, &other.junctors.all_of)
            && same_option(self.junctors.not.as_ref(), other.junctors.not.as_ref())
    }

    fn digest(&self, digest: &mut Digest) {
        digest.value(self.default.as_ref().unwrap_or(&Value::Null));
        for key in &self.list_map_keys {
            digest.text(key);
        }
        let Junctors { any_of, one_of, all_of, not } = &self.junctors;
        for list in [any_of, one_of, all_of] {
            digest.number(list.len() as u64);
            list.iter().for_each(|node| digest.number(node.identity));
        }
        digest.number(not.as_ref().map_or(0, |node| node.identity));
        for union in &self.unions {
            digest.text(&union.discriminator);
            for (name, value) in &union.fields {
                digest.text(name);
                digest.text(value);
            }
        }
        for rule in self.rules.iter().map(Rule::source) {
            digest.text(&rule.rule);
            digest.text(&rule.message);
            digest.text(&rule.message_expression);
            digest.text(&rule.field_path);
            digest.text(rule.reason.as_deref().unwrap_or_default());
            digest.number(rule.optional_old_self.map_or(2, u64::from));
        }
    }
}

impl Junctors {
    fn is_empty(&self) -> bool {
        self.any_of.is_empty() && self.one_of.is_empty() && self.all_of.is_empty() && self.not.is_none()
    }
}

impl Additional {
    /// The schema, if it is one.
    pub fn schema(&self) -> Option<&NodeRef> {
        match self {
            Self::Schema(node) => Some(node),
            Self::Absent | Self::Bool(_) => None,
        }
    }

    fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Absent, Self::Absent) => true,
            (Self::Bool(a), Self::Bool(b)) => a == b,
            (Self::Schema(a), Self::Schema(b)) => Arc::ptr_eq(a, b),
            _ => false,
        }
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        if self.interned {
            intern::forget(self.identity);
        }
        // Types first, while the nodes below still hold theirs: so none is the last of a long chain.
        self.decl = OnceLock::new();
        if let Some(rare) = &mut self.rare {
            rare.rules = Box::default();
        }
        // What is below goes here and not after this function, where the stack could run out.
        grow_stack_to_drop(|| {
            self.properties = Box::default();
            self.additional = Additional::Absent;
            self.items = None;
            self.rare = None;
        });
    }
}

impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Not what is below: that may be deep, and is shared.
        f.debug_struct("Node")
            .field("types", &self.types)
            .field("properties", &self.properties.len())
            .field("identity", &self.identity)
            .finish_non_exhaustive()
    }
}
