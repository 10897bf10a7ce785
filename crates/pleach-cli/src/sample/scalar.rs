//! Texts and numbers that keep bounds, formats and patterns.

use pleach_json::Value;
use pleach_schema::{JSONSchemaProps, Schema, SchemaOptions};

use super::pattern;

/// Whether a value is valid by itself.
pub(super) fn accepts(schema: &JSONSchemaProps, value: &Value) -> bool {
    Schema::compile_part(schema, SchemaOptions::default()).root().accepts(value)
}

/// A schema with the first branch of each of its junctors folded in, as far as it concerns scalars
/// and required members; `None` if there is none.
pub(super) fn with_first_branches(schema: &JSONSchemaProps, variant: usize) -> Option<JSONSchemaProps> {
    if schema.all_of().is_empty() && schema.any_of().is_empty() && schema.one_of().is_empty() {
        return None;
    }
    // The copies of the schema and its branches.
    schema.any_node(&mut |_| {
        pleach_work::charge(STEPS_PER_NODE);
        false
    });
    let chosen = |list: &[JSONSchemaProps]| list.get(variant.min(list.len().saturating_sub(1))).cloned();
    let branches: Vec<JSONSchemaProps> = schema
        .all_of()
        .iter()
        .cloned()
        .chain(chosen(schema.any_of()))
        .chain(chosen(schema.one_of()))
        .collect();
    if branches.is_empty() || schema.x_int_or_string {
        return None;
    }
    let mut out = schema.clone();
    for branch in &branches {
        fold(&mut out, branch);
    }
    let value = out.value_mut();
    (value.all_of, value.any_of, value.one_of) = (None, None, None);
    Some(out)
}

/// The steps of copying a node of a schema.
const STEPS_PER_NODE: u64 = 50;

fn fold(into: &mut JSONSchemaProps, branch: &JSONSchemaProps) {
    for name in branch.required() {
        let required = into.required.get_or_insert_default();
        if !required.contains(name) {
            required.push(name.clone());
        }
    }
    for nested in branch.all_of().iter().chain(branch.any_of().first()).chain(branch.one_of().first()) {
        pleach_json::grow_stack(|| fold(into, nested));
    }
    let from = branch.value();
    let value = into.value_mut();
    macro_rules! take {
        ($($field:ident),*) => { $(if from.$field.is_some() { value.$field.clone_from(&from.$field); })* };
    }
    take!(
        enum_,
        maximum,
        minimum,
        max_length,
        min_length,
        max_items,
        min_items,
        max_properties,
        min_properties,
        multiple_of
    );
    if !from.pattern.is_empty() {
        value.pattern.clone_from(&from.pattern);
    }
    if !from.format.is_empty() {
        value.format.clone_from(&from.format);
    }
    if let Some(properties) = &mut into.properties {
        for (name, property) in branch.properties() {
            if let Some(core) = properties.get_mut(name) {
                pleach_json::grow_stack(|| fold(core, property));
            }
        }
    }
}

/// Texts of the kinds that rules ask for where the schema only says that it is a text.
const KINDS: [&str; 10] = [
    "1s",
    "1",
    "example",
    "example.com",
    "https://example.com/",
    "/path",
    "10.0.0.1",
    "10.0.0.0/8",
    "1Gi",
    "*",
];

/// Numbers other than the first that come to mind.
const NUMBERS: [i64; 7] = [0, -1, 2, 10, 100, 1000, 8080];

/// Variants from here on are [`KINDS`] and [`NUMBERS`].
const FIRST_KIND: usize = 1000;

/// The variants of a schema's values that are worth a try.
pub(crate) fn variants(schema: &JSONSchemaProps) -> impl Iterator<Item = usize> + use<> {
    let value = schema.value();
    let kinds = match schema.type_.as_str() {
        "string" if value.enum_.is_none() && value.pattern.is_empty() => KINDS.len(),
        "integer" | "number" if value.enum_.is_none() => NUMBERS.len(),
        _ => 0,
    };
    (0..5).chain(FIRST_KIND..FIRST_KIND + kinds)
}

/// A text.
pub(super) fn string(schema: &JSONSchemaProps, variant: usize) -> Value {
    if let Some(kind) = variant.checked_sub(FIRST_KIND).and_then(|i| KINDS.get(i)) {
        return Value::from(*kind);
    }
    let value = schema.value();
    let (least, most) = (value.min_length.unwrap_or(0), value.max_length);
    let fits = |text: &str| accepts_text(schema, text);
    if !value.pattern.is_empty() {
        let texts = pattern::texts(&value.pattern, usize::try_from(least).unwrap_or(0), variant);
        if let Some(text) = texts.into_iter().find(|text| fits(text)) {
            return text.into();
        }
    }
    let base = match value.format.as_str() {
        "date-time" | "datetime" => format!("2026-01-{:02}T00:00:00Z", variant % 28 + 1),
        "date" => format!("2026-01-{:02}", variant % 28 + 1),
        "duration" => format!("{}s", variant + 30),
        "uuid" | "uuid3" | "uuid4" | "uuid5" => format!("00000000-0000-4000-8000-{variant:012}"),
        "ipv4" | "ip" => format!("192.0.2.{}", variant % 250 + 1),
        "ipv6" => format!("2001:db8::{:x}", variant + 1),
        "cidr" => format!("192.0.2.{}/32", variant % 250),
        "uri" => format!("https://example.com/{variant}"),
        "hostname" => format!("host{variant}.example.com"),
        "email" => format!("someone{variant}@example.com"),
        "mac" => format!("00:00:5e:00:53:{:02x}", variant % 256),
        "byte" => "ZXhhbXBsZQ==".to_owned(),
        "hexcolor" => "#336699".to_owned(),
        "rgbcolor" => "rgb(51,102,153)".to_owned(),
        "isbn" | "isbn13" => "978-3-16-148410-0".to_owned(),
        "isbn10" => "3-16-148410-0".to_owned(),
        "creditcard" => "4111111111111111".to_owned(),
        "ssn" => "111-11-1111".to_owned(),
        "k8s-short-name" | "k8s-long-name" => format!("name{variant}"),
        _ if variant == 0 => "string".to_owned(),
        _ => format!("string{variant}"),
    };
    let mut text: String = base;
    let missing = usize::try_from(least.min(4096)).unwrap_or(0).saturating_sub(text.chars().count());
    text.extend(std::iter::repeat_n('x', missing));
    if let Some(most) = most {
        let most = usize::try_from(most).unwrap_or(0);
        if text.chars().count() > most {
            let letter = char::from(b'a' + (variant % 26) as u8);
            text = std::iter::repeat_n(letter, most.min(text.chars().count())).collect();
        }
    }
    text.into()
}

fn accepts_text(schema: &JSONSchemaProps, text: &str) -> bool {
    accepts(schema, &Value::from(text))
}

/// A whole number.
pub(super) fn integer(schema: &JSONSchemaProps, variant: usize) -> Value {
    if let Some(number) = variant.checked_sub(FIRST_KIND).and_then(|i| NUMBERS.get(i)) {
        return Value::Int(*number);
    }
    let value = schema.value();
    let low = value.minimum.map(|n| if value.exclusive_minimum { n.floor() + 1.0 } else { n.ceil() });
    let high = value.maximum.map(|n| if value.exclusive_maximum { n.ceil() - 1.0 } else { n.floor() });
    let mut number = match (low, high) {
        (Some(low), _) => low.max(if low <= 1.0 && high.is_none_or(|h| h >= 1.0) { 1.0 } else { low }),
        (None, Some(high)) => high.min(1.0),
        (None, None) => 1.0,
    };
    let step = value.multiple_of.filter(|step| *step > 0.0).unwrap_or(1.0);
    number = (number / step).ceil() * step + variant as f64 * step;
    if let Some(high) = high
        && number > high
    {
        number = (high / step).floor() * step;
    }
    Value::Int(number as i64)
}

/// A number.
pub(super) fn number(schema: &JSONSchemaProps, variant: usize) -> Value {
    if let Some(number) = variant.checked_sub(FIRST_KIND).and_then(|i| NUMBERS.get(i)) {
        return Value::Int(*number);
    }
    let value = schema.value();
    let (low, high) = (value.minimum, value.maximum);
    let mut number = match (low, high) {
        (Some(low), Some(high)) if value.exclusive_minimum || value.exclusive_maximum => {
            f64::midpoint(low, high)
        }
        (Some(low), _) if value.exclusive_minimum => low + 1.0,
        (Some(low), _) => low,
        (None, Some(high)) if value.exclusive_maximum => high - 1.0,
        (None, Some(high)) => high.min(1.5),
        (None, None) => 1.5,
    };
    if let Some(step) = value.multiple_of.filter(|step| *step > 0.0) {
        number = (number / step).ceil() * step;
    }
    number += variant as f64 * value.multiple_of.filter(|step| *step > 0.0).unwrap_or(1.0);
    if let Some(high) = high
        && number > high
    {
        number = high;
    }
    if number.fract() == 0.0 { Value::Int(number as i64) } else { Value::Float(number) }
}

/// A number or a text, whichever is valid.
pub(super) fn int_or_string(schema: &JSONSchemaProps, variant: usize) -> Value {
    let tries = [Value::Int(1 + variant as i64), Value::from("1"), Value::from("25%"), Value::from("100m")];
    let mut of_string = schema.clone();
    of_string.x_int_or_string = false;
    of_string.type_ = "string".into();
    let more = [string(&of_string, variant)];
    tries.iter().chain(&more).find(|v| accepts(schema, v)).cloned().unwrap_or(Value::Int(1))
}
