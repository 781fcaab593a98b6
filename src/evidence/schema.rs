//! The published shape of records: JSON Schema, made from the types, in `docs/`.
//!
//! Part of the tests only, so that the program needs nothing of it. What a program writes is described, with `schema`
//! and `check` that [`super::sealed`] adds.

use std::borrow::Cow;
use std::path::Path;

use schemars::generate::SchemaSettings;
use schemars::transform::transform_subschemas;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Value, json};

use super::{ResultRecord, SCHEMA, attested};
use crate::id::{BlobId, CommitId, Name, UpstreamPath};

/// A type that is text of one form.
macro_rules! text_of_form {
    ($($kind:ident, $form:literal;)*) => {$(
        impl JsonSchema for $kind {
            fn schema_name() -> Cow<'static, str> {
                stringify!($kind).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({ "type": "string", "pattern": $form })
            }
        }
    )*};
}

text_of_form! {
    CommitId, "^[0-9a-f]{40}$";
    BlobId, "^[0-9a-f]{40}$";
    Name, "^[A-Za-z0-9][A-Za-z0-9._+-]{0,99}$";
    UpstreamPath, "^[^/]";
}

/// Comments of the source link to names in it; a reader of the schema has none of these.
fn unlink(schema: &mut Schema) {
    if let Some(Value::String(text)) = schema.get_mut("description") {
        *text = text.replace("[`", "`").replace("`]", "`");
    }
    transform_subschemas(&mut unlink, schema);
}

/// The shape of a type, as it is written, with these fields besides.
fn shape_of<T: JsonSchema>(name: &str, title: &str, more: &[(&str, Value)]) -> String {
    let settings = SchemaSettings::draft2020_12().for_serialize().with_transform(unlink);
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    schema.insert("$id".into(), format!("urn:{}", name.replace('.', ":")).into());
    schema.insert("title".into(), title.into());
    for (field, shape) in more {
        schema.get_mut("properties").unwrap()[field] = shape.clone();
        let required = schema.get_mut("required").and_then(Value::as_array_mut).unwrap();
        if !required.iter().any(|known| known == field) {
            required.push((*field).into());
        }
    }
    format!("{}\n", serde_json::to_string_pretty(&schema).unwrap())
}

/// The files in `docs/`, and what has to stand in them.
fn published() -> [(&'static str, String); 2] {
    let schema = |name: &str| json!({ "const": name, "description": "The name and version of the format." });
    let check = json!({
        "type": "string",
        "pattern": "^[0-9a-f]{64}$",
        "description": "SHA-256 over the canonical JSON of all the rest.",
    });
    let kind = json!({ "const": "result", "description": "A record of runs." });
    let evidence = [("schema", schema(SCHEMA)), ("kind", kind), ("check", check)];
    let reported = [("schema", schema(attested::SCHEMA))];
    [
        ("evidence.schema.json", shape_of::<ResultRecord>(SCHEMA, "A record of evidence", &evidence)),
        (
            "attested.schema.json",
            shape_of::<attested::Attestation>(attested::SCHEMA, "What a person reports", &reported),
        ),
    ]
}

fn docs() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("docs")
}

#[test]
#[allow(clippy::disallowed_methods, reason = "compares with files of the repository")]
fn the_published_shapes_are_those_of_the_types() {
    for (file, text) in published() {
        let known = std::fs::read_to_string(docs().join(file)).unwrap_or_default();
        assert!(
            known == text,
            "docs/{file} is not what the types say. Write it: cargo test --lib -- --ignored write_the_shapes"
        );
    }
}

#[test]
#[ignore = "writes docs/*.schema.json"]
#[allow(clippy::disallowed_methods, reason = "writes files of the repository")]
fn write_the_shapes() {
    for (file, text) in published() {
        std::fs::write(docs().join(file), text).unwrap();
    }
}
