//! The published shape of evidence, docs/evidence.schema.json: all evidence has it, and what was bent does not.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::support::{Project, Upstream};

fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn validator(schema: &str) -> jsonschema::Validator {
    let text = std::fs::read_to_string(repository().join("docs").join(schema)).unwrap();
    let schema: Value = serde_json::from_str(&text).unwrap();
    jsonschema::meta::validate(&schema).unwrap();
    jsonschema::validator_for(&schema).unwrap()
}

fn json_files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> =
        entries.filter(|file| file.extension().is_some_and(|e| e == "json")).collect();
    files.sort();
    files
}

fn read(file: &Path) -> Value {
    serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap()
}

#[test]
fn all_committed_evidence_has_the_published_shape() {
    let shape = validator("evidence.schema.json");
    let files = json_files(&repository().join("docs/upstream/evidence"));
    assert!(files.len() > 20, "{files:?}");
    for file in files {
        let wrong: Vec<String> = shape.iter_errors(&read(&file)).map(|error| error.to_string()).collect();
        assert!(wrong.is_empty(), "{}: {wrong:?}", file.display());
    }
}

#[test]
fn what_prove_and_a_person_leave_has_the_published_shape() {
    let mut upstream = Upstream::new();
    let pin = upstream.commit("base", &[("value", "1\n")]);
    // Cases that pass, fail, crash, are skipped and are refused, and a line that cannot be read.
    let test = r#"
say() { printf '%s\n' "$1" >> "$OVERLAID_RESULTS"; }
read -r value < "$OVERLAID_TREE/value"
case "$(cat "$OVERLAID_SKIP" 2>/dev/null)" in *crash*) ;; *)
  say "{\"case\": {\"n\": \"value\"}, \"metric\": \"err\", \"value\": $value, \"max\": 1}"
  say '{"case": {"n": "nan"}, "metric": "err", "value": nan, "max": 1, "min": 0}'
  say '{"case": {"n": "fast"}, "metric": "us", "value": 3.5, "better": "lower"}'
  say '{"case": {"n": "skip"}, "status": "skip", "why": "not today"}'
  say '{"case": {"n": "refused"}, "status": "error", "why": "no"}'
  say '{"case": {"n": "compiles"}, "needs": "compile", "metric": "errors", "value": 0, "max": 0}'
  say '{"case": {"n": "crash"}, "status": "start"}'
  kill -SEGV $$ ;;
esac
"#;
    let project = Project::on(
        &upstream,
        &pin,
        &format!(
            "\n[[overlay]]\nname = \"fix\"\nreason = \"planted\"\nbase = \"{pin}\"\nfiles = [\"value\"]\ntests = [\"t\"]\n\
             drop-when = {{ attested = \"model\" }}\n\
             \n[profile.plain]\npython-path = [\".\"]\n\n[[test]]\nname = \"t\"\ncommand = [\"sh\", \"{{repository}}/tests/t.sh\"]\nsources = [\"tests/t.sh\"]\nrepeats = 2\n"
        ),
    );
    project.write("overlays/up/value", "0\n");
    project.write("tests/t.sh", test);
    let run = project.run(&["prove", "--json"]);
    assert!([0, 1, 3, 4].contains(&run.code), "{run:?}");
    let attest = ["prove", "--attest", "model", "--by", "Ada", "--result", "pass", "--note", "two cards"];
    assert_eq!(project.run(&attest).code, 0);

    let shape = validator("evidence.schema.json");
    let files = json_files(&project.path().join("docs/upstream/evidence"));
    assert!(files.len() >= 2, "{files:?}");
    let mut outcomes = std::collections::BTreeSet::new();
    for file in &files {
        let record = read(file);
        let wrong: Vec<String> = shape.iter_errors(&record).map(|error| error.to_string()).collect();
        assert!(wrong.is_empty(), "{}: {wrong:?}", file.display());
        for cell in record["runs"][0]["cells"].as_array().unwrap() {
            outcomes.insert(cell["outcome"]["is"].as_str().unwrap().to_owned());
        }
    }
    assert!(outcomes.len() >= 4, "{outcomes:?}");
    let shape = validator("attested.schema.json");
    for file in json_files(&project.path().join("docs/upstream/attested/up")) {
        assert!(shape.is_valid(&read(&file)), "{}", file.display());
    }
}

#[test]
fn a_record_that_was_bent_has_not_the_published_shape() {
    let shape = validator("evidence.schema.json");
    let files = json_files(&repository().join("docs/upstream/evidence"));
    let is_of_row_edges = |file: &&PathBuf| {
        file.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.starts_with("row-edges.cpu."))
    };
    let record = read(files.iter().find(is_of_row_edges).expect("the reports of the sample have one"));
    assert!(shape.is_valid(&record));
    let bends: [(&str, Value); 14] = [
        ("/schema", json!("overlaid.evidence.v2")),
        ("/kind", json!("build")),
        ("/check", json!("none")),
        ("/recorded", json!("yesterday")),
        ("/test", json!("no name")),
        ("/variant/commit", json!("b7c3dd6d")),
        ("/variant/overlays", json!("all")),
        ("/machine/cpu", json!(7)),
        ("/inputs/timeout_ms", json!(-1)),
        ("/inputs/command", json!("row_edges")),
        ("/runs/0/seed", json!(null)),
        ("/runs/0/cells/0/outcome", json!({ "is": "passed" })),
        ("/runs/0/cells/0/outcome", json!({ "is": "fail", "how": { "how": "crash" } })),
        ("/runs/0/processes/0/end", json!({ "how": "exit" })),
    ];
    for (place, value) in bends {
        let mut bent = record.clone();
        *bent.pointer_mut(place).unwrap_or_else(|| panic!("{place}: nothing there")) = value;
        assert!(!shape.is_valid(&bent), "{place}");
    }
    for field in ["schema", "check", "kind", "inputs", "runs", "variant", "machine", "recorded", "test"] {
        let mut bent = record.clone();
        bent.as_object_mut().unwrap().remove(field).unwrap();
        assert!(!shape.is_valid(&bent), "{field} is missing");
    }
}
