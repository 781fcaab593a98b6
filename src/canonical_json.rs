//! JSON read strictly and written in one way only, so that equal values have equal text and equal hashes.
//!
//! Decides what a value's text is: keys sorted by their bytes, no space, numbers as `serde_json` writes them.
//! Never changes a value.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};
use sha2::{Digest as _, Sha256};

/// Parses one JSON value. A key that is there twice in one object is an error, not a choice.
///
/// # Errors
/// If the text is not exactly one JSON value.
pub fn parse(text: &str) -> Result<Value, serde_json::Error> {
    serde_json::from_str::<Strict>(text).map(|strict| strict.0)
}

/// The text of a value: equal values, equal text.
#[must_use]
pub fn render(value: &Value) -> String {
    let mut text = String::new();
    write(value, &mut text);
    text
}

/// SHA-256 of the canonical text, as 64 hexadecimal digits.
#[must_use]
pub fn digest(value: &Value) -> String {
    sha256_hex(render(value).as_bytes())
}

/// SHA-256 of bytes, as 64 hexadecimal digits.
#[must_use]
pub fn sha256_hex(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().fold(String::with_capacity(64), |mut text, byte| {
        for digit in [byte >> 4, byte & 15] {
            text.push(char::from_digit(u32::from(digit), 16).unwrap_or('0'));
        }
        text
    })
}

fn write(value: &Value, text: &mut String) {
    match value {
        Value::Array(items) => {
            text.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    text.push(',');
                }
                write(item, text);
            }
            text.push(']');
        }
        Value::Object(map) => {
            // Sorted here, too: another crate may turn on `serde_json/preserve_order`.
            let mut entries: Vec<_> = map.iter().collect();
            entries.sort_by_key(|(key, _)| *key);
            text.push('{');
            for (index, (key, item)) in entries.into_iter().enumerate() {
                if index > 0 {
                    text.push(',');
                }
                text.push_str(&Value::from(key.as_str()).to_string());
                text.push(':');
                write(item, text);
            }
            text.push('}');
        }
        scalar => text.push_str(&scalar.to_string()),
    }
}

/// A value in which no object has a key twice.
struct Strict(Value);

impl<'de> Deserialize<'de> for Strict {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(StrictVisitor)
    }
}

struct StrictVisitor;

impl<'de> Visitor<'de> for StrictVisitor {
    type Value = Strict;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Strict, E> {
        Ok(Strict(Value::Null))
    }

    fn visit_bool<E>(self, value: bool) -> Result<Strict, E> {
        Ok(Strict(Value::Bool(value)))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Strict, E> {
        Ok(Strict(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Strict, E> {
        Ok(Strict(value.into()))
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Strict, E> {
        Number::from_f64(value)
            .map(|number| Strict(Value::Number(number)))
            .ok_or_else(|| E::custom("a number that is not finite"))
    }

    fn visit_str<E>(self, value: &str) -> Result<Strict, E> {
        Ok(Strict(value.into()))
    }

    fn visit_string<E>(self, value: String) -> Result<Strict, E> {
        Ok(Strict(value.into()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Strict, A::Error> {
        let mut items = Vec::new();
        while let Some(Strict(item)) = seq.next_element()? {
            items.push(item);
        }
        Ok(Strict(Value::Array(items)))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Strict, A::Error> {
        let mut map = Map::new();
        while let Some(key) = access.next_key::<String>()? {
            let Strict(item) = access.next_value()?;
            if map.contains_key(&key) {
                return Err(serde::de::Error::custom(format_args!("the key `{key}` is there twice")));
            }
            map.insert(key, item);
        }
        Ok(Strict(Value::Object(map)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_of_keys_and_white_space_do_not_matter() {
        let one = parse(r#"{"b": [1, 2.50], "a": {"y": null, "x": "é\n"}}"#).unwrap();
        let other = parse("{\"a\":{\"x\":\"\\u00e9\\n\",\"y\":null},\n\"b\":[1,2.5]}").unwrap();
        assert_eq!(render(&one), r#"{"a":{"x":"é\n","y":null},"b":[1,2.5]}"#);
        assert_eq!(render(&one), render(&other));
        assert_eq!(digest(&one), digest(&other));
    }

    #[test]
    fn a_key_that_is_there_twice_is_an_error() {
        assert!(parse(r#"{"a": 1, "a": 1}"#).is_err());
        assert!(parse(r#"{"c": [{"a": 1, "a": 2}]}"#).is_err());
        assert!(parse(r#"{"a": 1} {"b": 2}"#).is_err());
    }

    #[test]
    fn numbers_keep_every_bit() {
        for bits in (0..2000u64).map(|i| 0x3f10_0000_0000_0000 + i.wrapping_mul(0x0000_1234_5678_9abd)) {
            let value = f64::from_bits(bits);
            let text = render(&Value::from(value));
            assert_eq!(parse(&text).unwrap().as_f64(), Some(value), "{text}");
        }
    }

    #[test]
    fn sha256_is_the_standard_one() {
        assert_eq!(sha256_hex(b"abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    }
}
