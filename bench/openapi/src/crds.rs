//! Large CRDs that differ from one another: what operators with hundreds of fields look like.
//!
//! A CRD depends on nothing but its number, so two runs measure the same.

use serde_json::{Map, Value, json};

/// How many CRDs share a group.
const PER_GROUP: usize = 10;

/// A large CRD.
pub(crate) struct Big {
    number: usize,
    /// Its API group.
    pub(crate) group: String,
    /// Its resource.
    pub(crate) plural: String,
    kind: String,
}

impl Big {
    /// The CRD of that number.
    pub(crate) fn new(number: usize) -> Self {
        Self {
            number,
            group: format!("g{:04}.bench.example.com", number / PER_GROUP),
            plural: format!("beds{number:05}"),
            kind: format!("Bed{number:05}"),
        }
    }

    /// The name of the CRD.
    pub(crate) fn name(&self) -> String {
        format!("{}.{}", self.plural, self.group)
    }

    /// The CRD with so many fields below `spec`, and one named `extra` if there is such.
    pub(crate) fn crd(&self, fields: usize, extra: Option<&str>) -> Value {
        let mut garden = Garden { random: self.number as u64 + 1, left: fields };
        let mut spec = Map::new();
        while garden.left > 0 {
            garden.property(&mut spec, 1);
        }
        if let Some(extra) = extra {
            spec.insert(extra.to_owned(), json!({"type": "string", "description": "It came later."}));
        }
        let schema = json!({
            "type": "object",
            "description": format!("{} is where things grow.", self.kind),
            "properties": {
                "apiVersion": {"type": "string", "description": "Which schema the object has."},
                "kind": {"type": "string", "description": "What the object is."},
                "metadata": {"type": "object"},
                "spec": {"type": "object", "description": "What is wanted.", "properties": spec},
                "status": status(),
            },
        });
        json!({
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": self.name()},
            "spec": {
                "group": self.group,
                "scope": "Namespaced",
                "names": {
                    "plural": self.plural, "singular": self.kind.to_lowercase(), "kind": self.kind,
                    "listKind": format!("{}List", self.kind),
                },
                "versions": [{
                    "name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
                    "schema": {"openAPIV3Schema": schema},
                }],
            },
        })
    }
}

fn status() -> Value {
    json!({"type": "object", "description": "What is.", "properties": {
        "observedGeneration": {"type": "integer", "format": "int64"},
        "conditions": {
            "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"],
            "items": {"type": "object", "required": ["type", "status"], "properties": {
                "type": {"type": "string"},
                "status": {"type": "string", "enum": ["True", "False", "Unknown"]},
                "message": {"type": "string"},
                "lastTransitionTime": {"type": "string", "format": "date-time"},
            }},
        },
    }})
}

const WORDS: [&str; 32] = [
    "acer", "alder", "arbor", "aspen", "beech", "berry", "birch", "bloom", "branch", "briar", "cedar",
    "elder", "fern", "flower", "grove", "hazel", "heath", "hedge", "holly", "ivy", "larch", "laurel",
    "linden", "maple", "meadow", "myrtle", "orchard", "poplar", "rowan", "sapling", "thicket", "willow",
];

/// Grows fields.
struct Garden {
    random: u64,
    left: usize,
}

impl Garden {
    /// A number below `bound`.
    fn below(&mut self, bound: usize) -> usize {
        // Numbers that only look random are random enough; the constants are Knuth's.
        self.random =
            self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.random >> 33) as usize % bound
    }

    fn word(&mut self) -> &'static str {
        WORDS[self.below(WORDS.len())]
    }

    fn property(&mut self, into: &mut Map<String, Value>, depth: usize) {
        self.left = self.left.saturating_sub(1);
        let (first, second) = (self.word(), self.word());
        let name = format!("{first}{}{}{}", second[..1].to_uppercase(), &second[1..], into.len());
        let mut schema = self.schema(depth);
        let (first, second, third) = (self.word(), self.word(), self.word());
        schema["description"] = format!("The {first} of the {second} beside the {third}.").into();
        into.insert(name, schema);
    }

    fn object(&mut self, depth: usize) -> Value {
        let mut properties = Map::new();
        for _ in 0..3 + self.below(6) {
            if self.left > 0 {
                self.property(&mut properties, depth + 1);
            }
        }
        let required: Vec<String> = properties.keys().take(depth % 2).cloned().collect();
        let mut object = json!({"type": "object", "properties": properties});
        if !required.is_empty() {
            object["required"] = required.into();
        }
        object
    }

    fn schema(&mut self, depth: usize) -> Value {
        match self.below(20) {
            0..5 => json!({"type": "string"}),
            5 | 6 => json!({"type": "string", "maxLength": 63, "pattern": "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"}),
            7 | 8 => json!({"type": "string", "default": "tall", "enum": ["tall", "wide", "bare"]}),
            9 | 10 => {
                json!({"type": "integer", "format": "int32", "minimum": 0, "maximum": 65535, "default": 10})
            }
            11 | 12 => json!({"type": "boolean", "default": false}),
            13 => json!({"type": "object", "additionalProperties": {"type": "string"}}),
            14 => json!({"type": "array", "items": {"type": "string"}}),
            15 => {
                json!({"x-kubernetes-int-or-string": true, "anyOf": [{"type": "integer"}, {"type": "string"}]})
            }
            16 | 17 if depth < 6 => json!({"type": "array", "items": self.object(depth)}),
            _ if depth < 6 => self.object(depth),
            _ => json!({"type": "string", "format": "date-time"}),
        }
    }
}
