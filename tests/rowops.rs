//! The sample upstream, proven by real builds and real runs on the CPU.

use std::collections::BTreeMap;
use std::path::Path;

use crate::support::{Project, command};

const PARENT: &str = "ed0c2f3f5b288744ca324834c3a03a3966cf6c96";
const FIX: &str = "c478bf7ad2a56d96d6b91c643921c1f6fa637905";

/// The sample in a folder of its own: what a run writes does not end up in this repository.
pub(crate) fn sample() -> Project {
    let project = Project::new();
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let copied = [
        "manifests/rowops.toml",
        "overlays/rowops",
        "tests/kernels",
        "templates/kernel-test",
        "examples/rowops/README.md",
    ];
    for name in copied {
        for entry in walkdir::WalkDir::new(here.join(name)) {
            let entry = entry.unwrap();
            if entry.file_type().is_file() {
                let path = entry.path().strip_prefix(here).unwrap();
                project.write(&path.display().to_string(), std::fs::read(entry.path()).unwrap());
            }
        }
    }
    let made = command(here.join("examples/rowops/make-repository"))
        .arg(project.path().join("target/rowops.git"))
        .output()
        .unwrap();
    assert!(made.status.success(), "{made:?}");
    project
}

#[test]
fn the_sample_comes_out_as_its_manifest_says() {
    let project = sample();
    let run = project.run(&["-m", "rowops", "--profile", "cpu", "prove", "--json"]).expect(3);
    let document = run.json();
    let verdicts: BTreeMap<&str, &str> = document["overlays"]
        .as_array()
        .unwrap()
        .iter()
        .map(|overlay| (overlay["name"].as_str().unwrap(), overlay["verdict"].as_str().unwrap()))
        .collect();
    let expected = [
        ("argmax-first-index", "needed"),
        ("l2-norm", "needed"),
        ("layer-norm-notes", "redundant"),
        ("logsumexp-exact", "needed"),
        ("max-norm-zero-rows", "mixed"),
        ("reduce-warp-barrier", "unproven"),
        ("rms-norm-held-back", "harmful"),
        ("row-sum-in-float", "ineffective"),
        ("row-view", "needed"),
        ("softmax-masked-rows", "droppable"),
    ];
    assert_eq!(verdicts, BTreeMap::from(expected));

    // The picture of the norm: what fails at the parent, and that the fix and the pin pass.
    let at = format!("{PARENT},{FIX},pin");
    let run = project
        .run(&["-m", "rowops", "--profile", "cpu", "test", "rms-norm-sweep", "--at", &at, "--json"])
        .expect(1);
    let document = run.json();
    let variants = document["tests"][0]["variants"].as_array().unwrap();
    let mut swept = [0, 0];
    for cell in variants[0]["cells"].as_array().unwrap() {
        let case = &cell["case"];
        let axis = case["axis"].as_u64().unwrap();
        let is_wide = case["dtype"] == "f32";
        let range = if is_wide { 129..=256 } else { 257..=512 };
        let expected = if range.contains(&axis) { "fail" } else { "pass" };
        assert_eq!(cell["outcome"], expected, "{cell}");
        swept[usize::from(is_wide)] += usize::from(range.contains(&axis) && case["rows"] == 2);
    }
    // 34 sizes for each of the two types of 16 bits, 18 for the one of 32.
    assert_eq!(swept, [68, 18]);
    for later in &variants[1..] {
        assert!(later["cells"].as_array().unwrap().iter().all(|cell| cell["outcome"] == "pass"));
    }
}

#[test]
fn a_search_finds_the_commit_that_mended_the_masked_softmax() {
    const MENDED: &str = "a4a1f70235599df89cb5d3be5ec8266da7aa5e29";
    let project = sample();
    let run = project
        .run(&["-m", "rowops", "--profile", "cpu", "bisect", "softmax-masked-rows", "--json"])
        .expect(0);
    let document = run.json();
    assert_eq!((&document["answer"], &document["first"]["commit"]), (&"found".into(), &MENDED.into()));
    assert_eq!(document["cases"].as_array().unwrap().len(), 42);
}

#[test]
fn the_evidence_of_the_samples_is_of_what_stands_here() {
    let project = sample();
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/upstream/evidence");
    for file in std::fs::read_dir(here).unwrap().map(|file| file.unwrap().path()) {
        let name = format!("docs/upstream/evidence/{}", file.file_name().unwrap().to_str().unwrap());
        project.write(&name, std::fs::read(&file).unwrap());
    }
    let document = project.run(&["-m", "rowops", "verify", "--json"]).json();
    let findings = document["findings"].as_array().unwrap();
    let wrong = ["evidence-edited", "evidence-unreadable", "evidence-stale"];
    let wrong: Vec<_> =
        findings.iter().filter(|finding| wrong.contains(&finding["code"].as_str().unwrap())).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}
