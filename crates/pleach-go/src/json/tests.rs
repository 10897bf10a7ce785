use pleach_json::{Map, json};

use super::*;

static ITEM: GoStruct = GoStruct {
    name: "Item",
    package: "v1",
    fields: &[always("name", STRING), omitempty("on", GoType::Bool)],
};
static ROOT: GoStruct = GoStruct {
    name: "Root",
    package: "v1",
    fields: &[
        omitempty("text", STRING),
        omitempty("small", GoType::Int32),
        omitempty("count", GoType::Int64),
        omitempty("pointer", GoType::Pointer(&GoType::Int64)),
        omitempty("items", GoType::Slice(&GoType::Struct(&ITEM))),
        omitempty("map", GoType::Map(&GoType::Struct(&ITEM))),
        omitempty("bytes", GoType::Bytes),
        omitempty("raw", GoType::Raw),
        omitzero("made", GoType::Time),
        omitempty("gone", GoType::Pointer(&GoType::Time)),
        omitempty("micro", GoType::Pointer(&GoType::MicroTime)),
    ],
};
const TYPE: GoType = GoType::Struct(&ROOT);

fn decode(mut value: Value) -> Result<Value, String> {
    let before = value.clone();
    let decoded = Decoder::lenient().decode(&mut value, &TYPE).map(|()| value);
    // Only what would come back as it is may be left alone.
    assert!(!is_normal(&before, &TYPE) || decoded.as_ref() == Ok(&before), "{before:?} {decoded:?}");
    decoded
}

#[test]
fn values_become_what_go_would_encode() {
    for (given, want, why) in [
        (json!({"text": "a", "other": 1}), json!({"text": "a"}), "unknown keys go"),
        (
            json!({"text": "", "count": 0, "small": 0, "items": [], "map": {}, "bytes": ""}),
            json!({}),
            "empty ones go",
        ),
        (
            json!({"text": null, "items": null, "map": null, "raw": null, "made": null}),
            json!({}),
            "so do nulls",
        ),
        (json!({"pointer": 0}), json!({"pointer": 0}), "a pointer to nothing much is a pointer"),
        (json!({"pointer": null}), json!({}), "a nil pointer is not"),
        (json!({"count": 1.0}), json!({"count": 1}), "read and written once, 1.0 is 1"),
        (
            json!({"items": [null, {"on": false}]}),
            json!({"items": [{"name": ""}, {"name": ""}]}),
            "zero structs",
        ),
        (json!({"map": {"a": null}}), json!({"map": {"a": {"name": ""}}}), "also in maps"),
        (json!({"raw": [null, "x"]}), json!({"raw": [null, "x"]}), "raw JSON is kept as it is"),
        (json!({"made": "2020-01-01T01:00:00+01:00"}), json!({"made": "2020-01-01T00:00:00Z"}), "UTC"),
        (json!({"made": "0001-01-01T00:00:00Z"}), json!({}), "no time"),
        (json!({"gone": "0001-01-01T00:00:00Z"}), json!({"gone": null}), "a pointer to no time"),
        (json!({"bytes": "YQ\n=="}), json!({"bytes": "YQ=="}), "bytes are written anew"),
        (
            json!({"micro": "2020-01-01T00:00:00.000001+00:00"}),
            json!({"micro": "2020-01-01T00:00:00.000001Z"}),
            "micro times",
        ),
    ] {
        assert_eq!(decode(given), Ok(want), "{why}");
    }
}

#[test]
fn errors_are_those_of_encoding_json() {
    for (given, want, why) in [
        (json!([]), "json: cannot unmarshal array into Go value of type v1.Root", "the document itself"),
        (
            json!({"items": [{"name": 1}], "text": 1}),
            "json: cannot unmarshal number into Go struct field Item.items.name of type string",
            "the first one counts; no index",
        ),
        (
            json!({"map": {"a": {"on": "x"}}}),
            "json: cannot unmarshal string into Go struct field Item.map.on of type bool",
            "no map key",
        ),
        (
            json!({"items": {}}),
            "json: cannot unmarshal object into Go struct field Root.items of type []v1.Item",
            "a list",
        ),
        (
            json!({"count": 1.5}),
            "json: cannot unmarshal number 1.5 into Go struct field Root.count of type int64",
            "numbers are shown to integers",
        ),
        (
            json!({"small": 3_000_000_000_i64}),
            "json: cannot unmarshal number 3000000000 into Go struct field Root.small of type int32",
            "too large",
        ),
        (json!({"bytes": "!"}), "illegal base64 data at input byte 0", "base64"),
        (
            json!({"gone": true}),
            "json: cannot unmarshal bool into Go struct field Root.gone of type string",
            "a time is a string",
        ),
        (
            json!({"bytes": 1, "made": "x"}),
            "parsing time \"x\" as \"2006-01-02T15:04:05Z07:00\": cannot parse \"x\" as \"2006\"",
            "a time that does not parse wins over what came before",
        ),
    ] {
        assert_eq!(decode(given), Err(want.to_owned()), "{why}");
    }
}

#[test]
fn literal_numbers_stay_what_the_client_wrote() {
    let mut value = json!({"count": 1.0});
    let error = Decoder::lenient().with_literal_numbers().decode(&mut value, &TYPE).unwrap_err();
    assert_eq!(error, "json: cannot unmarshal number 1.0 into Go struct field Root.count of type int64");
}

#[test]
fn unknown_fields_are_reported_with_their_paths() {
    let mut value = json!({"x": 1, "items": [{}, {"y": 1}], "map": {"k": {"z": 1}}, "raw": {"free": 1}});
    let mut decoder = Decoder::noting_unknown("metadata");
    decoder.decode(&mut value, &TYPE).unwrap();
    assert_eq!(decoder.into_unknown(), ["metadata.items[1].y", "metadata.map.k.z", "metadata.x"]);

    let mut many: Value = (0..150).map(|i| (format!("k{i}").into(), Value::Null)).collect::<Map>().into();
    let mut decoder = Decoder::noting_unknown("");
    decoder.decode(&mut many, &TYPE).unwrap();
    assert_eq!(decoder.into_unknown().len(), MAX_UNKNOWN_FIELDS);
}

#[test]
fn structs_are_encoded_in_declaration_order() {
    let value = decode(json!({"map": {"b": {"on": true, "name": "<"}}, "text": "t"})).unwrap();
    assert_eq!(TYPE.to_json(&value), r#"{"text":"t","map":{"b":{"name":"\u003c","on":true}}}"#);
}

#[test]
fn normal_values_need_no_decoding() {
    for (value, normal, why) in [
        (json!({}), true, "nothing"),
        (
            json!({"text": "x", "small": 1, "count": 1, "pointer": 0, "raw": {"a": null}, "made": "2024-01-01T00:00:00Z"}),
            true,
            "scalars",
        ),
        (json!({"items": [{"name": ""}], "map": {"k": {"name": "x", "on": true}}}), true, "structs"),
        (json!({"text": ""}), false, "an empty text is left out"),
        (json!({"items": []}), false, "an empty list too"),
        (json!({"items": [{}]}), false, "a name is written always"),
        (json!({"map": {"k": {"name": "x", "on": false}}}), false, "false is left out"),
        (json!({"other": 1}), false, "an unknown field"),
        (json!({"small": 3_000_000_000_i64}), false, "too large"),
        (json!({"count": 1.0}), false, "written as a float"),
        (json!({"gone": "2024-01-01T00:00:00+01:00"}), false, "a time in another zone"),
        (json!({"pointer": null}), false, "null"),
    ] {
        assert_eq!(is_normal(&value, &TYPE), normal, "{why}");
        if normal {
            assert_eq!(decode(value.clone()), Ok(value), "{why}");
        }
    }
}

#[test]
fn numbers_that_are_no_integers_show_their_text() {
    for (number, want) in [(1.5, "1.5"), (-1.0, "-1.0"), (9_223_372_036_854_775_808.0, "9223372036854775808")]
    {
        assert_eq!(number_text(number), want);
    }
}
