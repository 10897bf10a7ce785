//! Merging an applied configuration into the live value.
//!
//! Where both have a value, that of the configuration wins, at the level of ownership: granular maps and
//! associative lists are merged, everything else is replaced. Items that both lists
//! have come in the order of the configuration; items that only the live list has keep their place
//! between their neighbours.
//!
//! Most of a configuration equals the live value, or has no live counterpart. So a merge first finds out which of the
//! two values is the result, and makes a new one only where neither is: containers that are passed on whole are shared,
//! and later comparisons skip them.
//!
//! A configuration is mostly the one applied before. Where both share a container and the live object still has
//! what the last merge made of it, that is the result again ([`LastMerge`]).

use pleach_json::{Map, Str, Value, grow_stack};
use pleach_work::charge;

use crate::compare::{items_of, members_of, pairs};
use crate::items::{Item, grouped_by_key, have_same_keys};
use crate::same::{asks_first, exact, same};
use crate::set::Set;
use crate::shape::{ListShape, MapShape, Relation, Shape, Type};

/// Merges a configuration into a live value. Nothing is wrong with the configuration, so that where
/// there is nothing it is taken as it is.
pub fn merge(live: &Value, config: &Value, of: Type<'_>) -> Value {
    changes(live, config, of).map_or_else(|| live.clone(), |changed| changed.value)
}

/// The same; nothing if that is the live value, to the letter.
pub(crate) fn changes(live: &Value, config: &Value, of: Type<'_>) -> Option<Changed> {
    changes_after(live, config, None, None, of)
}

/// The same after an earlier merge. Fields that are reset after a merge are never taken from it.
pub(crate) fn changes_after(
    live: &Value,
    config: &Value,
    last: Option<LastMerge<'_>>,
    reset: Option<&Set>,
    of: Type<'_>,
) -> Option<Changed> {
    let mut walk = Walk { differs: false, reset };
    let merged = walk.visit(Some(live), config, last, of, 0);
    let changed = (!merged.is_live()).then(|| Changed {
        value: merged.value(Some(live), config).unwrap_or_default(),
        differs: walk.differs,
    });
    // Metadata that is not a client's to set is put back after a merge.
    let value = |changed: &Option<Changed>| {
        let mut value = changed.as_ref().map_or_else(|| live.clone(), |changed| changed.value.clone());
        value.as_object_mut().map(|members| members.remove("metadata"));
        value
    };
    debug_assert!(
        last.is_none() || value(&changed) == value(&changes(live, config, of)),
        "the result of the last merge is the result of this one"
    );
    changed
}

/// The last merge of the same manager: its configuration and its result.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LastMerge<'v> {
    pub(crate) config: &'v Value,
    /// Has everything in the configuration, and perhaps more.
    pub(crate) result: &'v Value,
}

impl LastMerge<'_> {
    /// Whether both values are shared with the last merge.
    fn is(&self, live: &Value, config: &Value) -> bool {
        self.config.is_same(config) && self.result.is_same(live)
    }

    /// Its members, asked for in ascending order of their keys.
    fn members(self) -> Option<impl FnMut(&str) -> Option<Self>> {
        let (config, result) = (self.config.as_object()?, self.result.as_object()?);
        let (mut config, mut result) = (config.ascending(), result.ascending());
        Some(move |key: &str| Some(Self { config: config.next(key)?, result: result.next(key)? }))
    }

    fn item(&self, i: usize) -> Option<Self> {
        Some(Self { config: self.config.as_array()?.get(i)?, result: self.result.as_array()?.get(i)? })
    }
}

/// The result of a merge that is not exactly the live value.
pub(crate) struct Changed {
    pub(crate) value: Value,
    /// Whether it is known that the two are not the same to an owner.
    pub(crate) differs: bool,
}

struct Walk<'r> {
    /// Whether the merge added or changed a value.
    differs: bool,
    /// Fields of the whole object that are reset after the merge.
    reset: Option<&'r Set>,
}

/// The result of a merge.
enum Merged {
    /// Both values: they are exactly equal.
    Both,
    /// The live value.
    Live,
    /// The configuration's value.
    Config,
    /// Neither.
    New(Value),
    /// No value at all.
    Nothing,
}

impl Merged {
    fn is_live(&self) -> bool {
        matches!(self, Self::Both | Self::Live)
    }

    fn is_config(&self) -> bool {
        matches!(self, Self::Both | Self::Config)
    }

    /// The value, made of these two.
    fn value(self, live: Option<&Value>, config: &Value) -> Option<Value> {
        match self {
            Self::Both | Self::Live => live.cloned(),
            Self::Config => Some(config.clone()),
            Self::New(value) => Some(value),
            Self::Nothing => None,
        }
    }
}

/// Items with the same key.
#[derive(Clone, Copy)]
struct Group<'v> {
    live: Option<&'v Value>,
    /// Whether the live list has several.
    several: bool,
    in_config: bool,
    merged: bool,
}

/// The groups of two lists, and of which the items of each are, in their order.
struct Groups<'v> {
    all: Vec<Group<'v>>,
    live: Vec<(usize, &'v Value)>,
    config: Vec<(usize, &'v Value)>,
}

impl<'v> Groups<'v> {
    fn of(list: &ListShape<'v>, live: &'v [Value], config: &'v [Value]) -> Self {
        let mut all = Vec::with_capacity(live.len().max(config.len()));
        let mut places = [vec![None; live.len()], vec![None; config.len()]];
        for items in grouped_by_key(list, live, config).chunk_by(Item::has_same_key) {
            let of_live = items.partition_point(|item| !item.second);
            for item in items {
                places[usize::from(item.second)][item.place] = Some((all.len(), item.value));
            }
            all.push(Group {
                live: (of_live > 0).then(|| items[0].value),
                several: of_live > 1,
                in_config: of_live < items.len(),
                merged: false,
            });
        }
        let [live, config] = places.map(|places| places.into_iter().flatten().collect());
        Self { all, live, config }
    }
}

/// The result of merging two containers; equal ones are not walked.
fn unless_equal(live: &Value, config: &Value, depth: usize, merge: impl FnOnce() -> Merged) -> Merged {
    grow_stack(|| if asks_first(depth) && exact(live, config) { Merged::Both } else { merge() })
}

/// Whether two values are [`exact`], by identity or as scalars.
#[inline]
fn is_there(live: &Value, config: &Value) -> bool {
    !matches!(config, Value::Float(_)) && live.is_same(config)
}

impl Walk<'_> {
    fn leaf(&mut self, live: Option<&Value>, config: &Value) -> Merged {
        if live.is_some_and(|live| exact(live, config)) {
            return Merged::Both;
        }
        self.differs = self.differs || !live.is_some_and(|live| same(live, config));
        Merged::Config
    }

    fn visit(
        &mut self,
        live: Option<&Value>,
        config: &Value,
        last: Option<LastMerge<'_>>,
        of: Type<'_>,
        depth: usize,
    ) -> Merged {
        let Some(there) = live else { return self.leaf(None, config) };
        if last.is_some_and(|last| last.is(there, config)) {
            return Merged::Live;
        }
        // When the two are of different shapes the configuration's counts.
        match of.shape(Some(config)) {
            Shape::List(list) if !matches!(list.relation, Relation::Atomic) && !items_of(live).is_empty() => {
                unless_equal(there, config, depth, || {
                    self.merge_items(&list, items_of(live), items_of(Some(config)), last, depth + 1)
                })
            }
            Shape::Map(map) if !map.is_atomic && !members_of(live).is_empty() => {
                unless_equal(there, config, depth, || {
                    self.merge_members(&map, members_of(live), members_of(Some(config)), last, depth + 1)
                })
            }
            Shape::Scalar(_) | Shape::List(_) | Shape::Map(_) => self.leaf(live, config),
        }
    }

    fn merge_members(
        &mut self,
        map: &MapShape<'_>,
        live: &[(Str, Value)],
        config: &[(Str, Value)],
        last: Option<LastMerge<'_>>,
        depth: usize,
    ) -> Merged {
        charge(2 * (live.len() + config.len()) as u64);
        let (mut fields, others) = (map.fields(), map.others());
        let mut all = Vec::with_capacity(live.len().max(config.len()));
        let (mut is_live, mut is_config) = (true, true);
        let mut last = last.and_then(LastMerge::members);
        pairs(live, config, |key, live, config| {
            let merged = match config {
                // Members that are not in the configuration stay.
                None => Merged::Live,
                // Equal members need no type.
                Some(config) if live.is_some_and(|live| is_there(live, config)) => Merged::Both,
                Some(config) => match fields.next(key).or(others) {
                    Some(of) => {
                        let last = last.as_mut().filter(|_| config.is_container() && self.stays(key, depth));
                        self.visit(live, config, last.and_then(|last| last(key)), of, depth)
                    }
                    None => self.leaf(live, config),
                },
            };
            is_live &= merged.is_live();
            is_config &= merged.is_config();
            all.push(merged);
        });
        match (is_live, is_config) {
            (true, true) => return Merged::Both,
            (true, false) => return Merged::Live,
            (false, true) => return Merged::Config,
            (false, false) => {}
        }
        let mut out = Vec::with_capacity(all.len());
        let mut all = all.into_iter();
        pairs(live, config, |key, live, config| {
            let value = match (all.next(), config) {
                (Some(merged), Some(config)) => merged.value(live, config),
                _ => live.cloned(),
            };
            out.extend(value.map(|value| (key.clone(), value)));
        });
        if out.is_empty() { Merged::Nothing } else { Merged::New(Map::from(out).into()) }
    }

    fn merge_items(
        &mut self,
        list: &ListShape<'_>,
        live: &[Value],
        config: &[Value],
        last: Option<LastMerge<'_>>,
        depth: usize,
    ) -> Merged {
        if have_same_keys(list, live, config) {
            return self.merge_pairs(list, live, config, last, depth);
        }
        self.merge_groups(list, live, config, depth)
    }

    /// Whether the merge result of a member of the whole object is final.
    fn stays(&self, key: &str, depth: usize) -> bool {
        let is_reset = |reset: &Set| reset.nodes().iter().any(|node| node.element.is_field(key));
        depth > 1 || (key != "metadata" && !self.reset.is_some_and(is_reset))
    }

    /// Merges lists of the same items in the same order.
    fn merge_pairs(
        &mut self,
        list: &ListShape<'_>,
        live: &[Value],
        config: &[Value],
        last: Option<LastMerge<'_>>,
        depth: usize,
    ) -> Merged {
        let pairs = || live.iter().zip(config);
        // With the same keys in the same order, items correspond by position.
        let last = last.filter(|last| {
            have_same_keys(list, items_of(Some(last.config)), config)
                && have_same_keys(list, items_of(Some(last.result)), live)
        });
        let visit = |(i, (live, config)): (usize, (&Value, &Value))| {
            self.visit(Some(live), config, last.and_then(|last| last.item(i)), list.items, depth)
        };
        let all: Vec<_> = pairs().enumerate().map(visit).collect();
        match (all.iter().all(Merged::is_live), all.iter().all(Merged::is_config)) {
            (true, true) => return Merged::Both,
            (true, false) => return Merged::Live,
            (false, true) => return Merged::Config,
            (false, false) => {}
        }
        let values = all.into_iter().zip(pairs());
        let out: Vec<_> =
            values.filter_map(|(merged, (live, config))| merged.value(Some(live), config)).collect();
        if out.is_empty() { Merged::Nothing } else { Merged::New(out.into()) }
    }

    fn merge_groups(&mut self, list: &ListShape<'_>, was: &[Value], is: &[Value], depth: usize) -> Merged {
        charge(32 * (was.len() + is.len()) as u64);
        let Groups { mut all, live, config } = Groups::of(list, was, is);
        let mut out: Vec<Value> = Vec::with_capacity(live.len().max(config.len()));
        let (mut l, mut c) = (0, 0);
        let is_shared: Vec<bool> = all.iter().map(|group| group.live.is_some()).collect();
        let mut shared = config.iter().map(|(group, _)| *group).filter(|group| is_shared[*group]);
        let mut next_shared = shared.next();
        // Where items change places, `differs` cannot be decided item by item.
        let differed = self.differs;
        // Whether all so far are the live items, each in its place.
        let mut is_live = true;
        // An item that the live list has twice is not merged with but replaced.
        let mut both = |group: &mut Group<'_>, item: &Value, is_live: &mut bool, place: Option<&Value>| {
            group.merged = true;
            let live = if group.several { Some(&Value::Null) } else { group.live };
            let merged = self.visit(live, item, None, list.items, depth);
            let in_place = live.zip(place).is_some_and(|(live, place)| std::ptr::eq(live, place));
            *is_live &= in_place && merged.is_live();
            merged.value(live, item)
        };
        while l < live.len() || c < config.len() {
            if let (Some(&(found, _)), Some(&(wanted, item))) = (live.get(l), config.get(c)) {
                if found == wanted {
                    let place = was.get(out.len());
                    out.extend(both(&mut all[wanted], item, &mut is_live, place));
                    (l, c) = (l + 1, c + 1);
                    next_shared = shared.next();
                    continue;
                }
                if all[found].in_config && next_shared.is_some_and(|next| next != found) {
                    // On both sides, but later in the merged order.
                    l += 1;
                    continue;
                }
            }
            if let Some(&(found, item)) = live.get(l) {
                if !all[found].in_config {
                    is_live &= was.get(out.len()).is_some_and(|place| std::ptr::eq(place, item));
                    out.push(item.clone());
                    l += 1;
                    continue;
                }
                if all[found].merged {
                    l += 1;
                }
            }
            if let Some(&(wanted, item)) = config.get(c) {
                let place = was.get(out.len());
                out.extend(both(&mut all[wanted], item, &mut is_live, place));
                c += 1;
                if next_shared == Some(wanted) {
                    next_shared = shared.next();
                }
            }
        }
        self.differs = differed;
        match out.is_empty() {
            true => Merged::Nothing,
            false if is_live && out.len() == was.len() => Merged::Live,
            false => Merged::New(out.into()),
        }
    }
}
