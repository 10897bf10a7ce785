//! `json!`, for values written down in code.

/// A [`Value`](crate::Value) from a literal: `json!({"a": [1, 2.5, null], "b": expression})`.
///
/// Keys are string literals or expressions in parentheses; anything that is not a literal in JSON
/// is an expression that turns into a value by `From`.
#[macro_export]
macro_rules! json {
    (null) => { $crate::Value::Null };
    ([]) => { $crate::Value::from(::std::vec::Vec::<$crate::Value>::new()) };
    ([ $($items:tt)+ ]) => { $crate::Value::from($crate::json_items!([] $($items)+)) };
    ({}) => { $crate::Value::object() };
    ({ $($members:tt)+ }) => {
        $crate::Value::from($crate::Map::from($crate::json_members!([] $($members)+)))
    };
    ($other:expr) => { $crate::Value::from($other) };
}

/// The items of an array literal: takes one value at a time from the front.
#[macro_export]
#[doc(hidden)]
macro_rules! json_items {
    ([$($done:expr,)*]) => { ::std::vec![$($done),*] };
    ([$($done:expr,)*] null $(, $($rest:tt)*)?) => {
        $crate::json_items!([$($done,)* $crate::Value::Null,] $($($rest)*)?)
    };
    ([$($done:expr,)*] [$($inner:tt)*] $(, $($rest:tt)*)?) => {
        $crate::json_items!([$($done,)* $crate::json!([$($inner)*]),] $($($rest)*)?)
    };
    ([$($done:expr,)*] {$($inner:tt)*} $(, $($rest:tt)*)?) => {
        $crate::json_items!([$($done,)* $crate::json!({$($inner)*}),] $($($rest)*)?)
    };
    ([$($done:expr,)*] $item:expr $(, $($rest:tt)*)?) => {
        $crate::json_items!([$($done,)* $crate::Value::from($item),] $($($rest)*)?)
    };
}

/// The members of an object literal: takes one at a time from the front.
#[macro_export]
#[doc(hidden)]
macro_rules! json_members {
    ([$($done:expr,)*]) => { ::std::vec![$($done),*] };
    ([$($done:expr,)*] $key:tt : null $(, $($rest:tt)*)?) => {
        $crate::json_members!([$($done,)* ($crate::Str::from($key), $crate::Value::Null),] $($($rest)*)?)
    };
    ([$($done:expr,)*] $key:tt : [$($inner:tt)*] $(, $($rest:tt)*)?) => {
        $crate::json_members!(
            [$($done,)* ($crate::Str::from($key), $crate::json!([$($inner)*])),] $($($rest)*)?)
    };
    ([$($done:expr,)*] $key:tt : {$($inner:tt)*} $(, $($rest:tt)*)?) => {
        $crate::json_members!(
            [$($done,)* ($crate::Str::from($key), $crate::json!({$($inner)*})),] $($($rest)*)?)
    };
    ([$($done:expr,)*] $key:tt : $value:expr $(, $($rest:tt)*)?) => {
        $crate::json_members!(
            [$($done,)* ($crate::Str::from($key), $crate::Value::from($value)),] $($($rest)*)?)
    };
}

#[cfg(test)]
mod tests {
    use crate::{Value, to_string};

    #[test]
    fn literals_become_values() {
        let name = String::from("x");
        let key = "dynamic";
        let inner = json!({"n": null});
        let cases: [(Value, &str, &str); 9] = [
            (json!(null), "null", "null at the root"),
            (json!(true), "true", "a literal expression"),
            (json!([]), "[]", "an empty array"),
            (json!({}), "{}", "an empty object"),
            (json!([1, -2.5, "a", null, [], {}]), r#"[1,-2.5,"a",null,[],{}]"#, "all kinds of item"),
            (
                json!({"b": 1, "a": [1, {"c": null}],}),
                r#"{"a":[1,{"c":null}],"b":1}"#,
                "nesting, order, trailing comma",
            ),
            (json!({"a": name.len() as i64, "b": name.clone()}), r#"{"a":1,"b":"x"}"#, "expressions"),
            (
                json!({key: 1, (format!("{key}2")): inner.clone()}),
                r#"{"dynamic":1,"dynamic2":{"n":null}}"#,
                "keys from expressions",
            ),
            (json!([inner, Some("a"), None::<i64>]), r#"[{"n":null},"a",null]"#, "values and options"),
        ];
        for (value, text, why) in cases {
            assert_eq!(to_string(&value), text, "{why}");
        }
    }
}
