//! The manifest as a user meets it: what is read, and what each mistake is answered with.
#![allow(clippy::disallowed_methods)]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use overlaid::diagnostic::{Diagnostic, Severity};
use overlaid::lex::Delta;
use overlaid::manifest::{DropWhen, Format, Kind, Manifest, Sanitizer, Witness, keys, parse};
use proptest::prelude::*;

mod bad;
mod hostile;

/// What every small manifest of these tests starts with.
const HEAD: &str = r#"version = 1
[upstream]
name = "up"
url = "https://example.org/up.git"
pin = "1111111111111111111111111111111111111111"
"#;

fn read(text: &str) -> (Option<Manifest>, Vec<Diagnostic>) {
    parse(Path::new("manifests/up.toml"), text)
}

fn good(text: &str) -> Manifest {
    let (manifest, messages) = read(text);
    let shown: Vec<_> = messages.iter().map(|message| message.render(false, 110)).collect();
    assert!(messages.is_empty(), "{}", shown.join("\n"));
    manifest.unwrap()
}

fn values<T: ToString>(located: &[overlaid::manifest::Located<T>]) -> Vec<String> {
    located.iter().map(|located| located.value.to_string()).collect()
}

/// Every message that a table of bad manifests gets, in one text that a person can read in one go.
///
/// After a change of the messages: `UPDATE_MESSAGES=1 cargo test --test overlaid manifest`, then read the
/// difference as a user would.
#[test]
fn every_mistake_gets_its_message() {
    let mut all = String::new();
    for (title, text) in bad::manifests() {
        let (manifest, messages) = read(&text);
        assert!(!messages.is_empty(), "{title}: accepted");
        assert_eq!(manifest.is_none(), messages.iter().any(|message| message.severity == Severity::Error));
        writeln!(all, "==== {title}\n").unwrap();
        for message in messages {
            writeln!(all, "{}\n", message.render(false, 110)).unwrap();
        }
    }
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/manifest/messages.txt");
    if std::env::var_os("UPDATE_MESSAGES").is_some() {
        std::fs::write(&golden, &all).unwrap();
    }
    let expected = std::fs::read_to_string(&golden).unwrap();
    for (expected, found) in expected.split("==== ").zip(all.split("==== ")) {
        assert_eq!(expected, found);
    }
    assert_eq!(expected.len(), all.len());
}

/// The manual with its tables of keys made anew.
fn with_tables(manual: &str) -> String {
    let mut made = String::new();
    let mut rest = manual;
    while let Some((before, after)) = rest.split_once("<!-- keys: ") {
        let (header, after) = after.split_once(" -->\n").expect("a marker ends on its line");
        let (_, after) = after.split_once("<!-- end of keys -->").expect("each table has an end");
        let keys = keys::tables().into_iter().find(|keys| keys.header == header);
        let keys = keys.unwrap_or_else(|| panic!("{header}: the manifest has no such table"));
        write!(made, "{before}<!-- keys: {header} -->\n{}<!-- end of keys -->", keys.markdown()).unwrap();
        rest = after;
    }
    made + rest
}

/// After a change of keys: `UPDATE_DOCS=1 cargo test --test overlaid manifest`.
#[test]
fn the_manual_has_the_keys_that_the_parser_reads() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/manifest.md");
    let manual = std::fs::read_to_string(&file).unwrap();
    let made = with_tables(&manual);
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&file, &made).unwrap();
    }
    let now = std::fs::read_to_string(&file).unwrap();
    for (now, made) in now.lines().zip(made.lines()) {
        assert_eq!(
            now, made,
            "make the tables of docs/manifest.md anew: UPDATE_DOCS=1 cargo test --test overlaid manifest"
        );
    }
    assert_eq!(now.len(), made.len());
    for keys in keys::tables() {
        let marker = format!("<!-- keys: {} -->", keys.header);
        assert_eq!(made.matches(&marker).count(), 1, "{} stands once in docs/manifest.md", keys.header);
    }
}

#[test]
fn a_default_of_the_manual_is_what_holds_without_the_key() {
    let tests = keys::tables().into_iter().find(|keys| keys.header == "[[test]]").unwrap();
    let table = "\n[[test]]\nname = \"t\"\ntarget = \"t\"\ncommand = [\"t\"]\n";
    let values = |manifest: Manifest| {
        let test = &manifest.tests[0];
        format!("{:?} {} {:?} {} {}", test.format, test.repeats, test.timeout, test.guard, test.min_gain)
    };
    let without = values(good(&format!("{HEAD}{table}")));
    let mut seen = 0;
    for key in tests.keys.unwrap() {
        if let keys::Default::Value(value) = key.default {
            assert_eq!(
                values(good(&format!("{HEAD}{table}{} = {value}\n", key.name))),
                without,
                "{}",
                key.name
            );
            seen += 1;
        }
    }
    assert_eq!(seen, 5);
    // The folders: where `<name>` is the name of the upstream.
    let defaults = |header: &str| {
        let keys = keys::tables().into_iter().find(|keys| keys.header == header).unwrap().keys.unwrap();
        let values = keys.iter().filter_map(|key| match key.default {
            keys::Default::Value(value) => Some(PathBuf::from(value.replace("<name>", "up"))),
            _ => None,
        });
        values.collect::<Vec<_>>()
    };
    let manifest = good(HEAD);
    assert_eq!(defaults("[upstream]"), [manifest.tree_folder()]);
    assert_eq!(
        defaults("[locations]"),
        [manifest.overlay_folder(), manifest.docs_folder(), "templates".into()]
    );
}

#[test]
fn the_smallest_manifest_is_read_and_gets_the_defaults() {
    let manifest = good(HEAD);
    assert_eq!(manifest.upstream.name.as_str(), "up");
    assert_eq!(manifest.overlay_folder(), PathBuf::from("overlays/up"));
    assert_eq!(manifest.docs_folder(), PathBuf::from("docs/upstream"));
    assert_eq!(manifest.tree_folder(), PathBuf::from(".overlaid/up"));
    assert!(manifest.overlays.is_empty() && manifest.tests.is_empty() && manifest.profiles.is_empty());
}

#[test]
fn every_key_is_read() {
    let text = include_str!("manifest/full.toml");
    let manifest = good(text);

    let upstream = &manifest.upstream;
    assert_eq!(upstream.url.value, "https://github.com/ml-explore/mlx.git");
    assert_eq!(upstream.pin.to_string(), "b7c3dd6d27f45b5365b08a840310187dc503f1db");
    assert_eq!(&text[upstream.pin.span.clone()], "\"b7c3dd6d27f45b5365b08a840310187dc503f1db\"");
    assert_eq!(upstream.branch.as_ref().unwrap().value, "main");
    assert_eq!(manifest.tree_folder(), PathBuf::from("target/upstream/mlx"));
    assert_eq!(upstream.also_pinned[0].file.value, PathBuf::from("CMakeLists.txt"));
    assert_eq!(upstream.also_pinned[0].regex.value, r"GIT_TAG\s+([0-9a-f]{40})");
    assert_eq!(upstream.remotes[0].name.as_str(), "fork");
    assert_eq!(upstream.remotes[0].url.value, "git@example.org:somebody/mlx.git");
    assert_eq!(upstream.submodules[0].path.as_bytes(), "csrc/cutlass");
    assert_eq!(manifest.overlay_folder(), PathBuf::from("patches/mlx"));
    assert_eq!(manifest.docs_folder(), PathBuf::from("docs/mlx"));
    assert_eq!(manifest.locations.templates.as_ref().unwrap().value, PathBuf::from("templates"));
    assert_eq!(values(&manifest.exclusive[0]), ["cuda", "rocm"]);

    let names: Vec<_> = manifest.overlays.iter().map(|overlay| overlay.name.as_str()).collect();
    assert_eq!(names, ["rms-norm-small-axis", "other-overlay", "backport", "held-back", "gone"]);
    let [rms, other, backport, held, gone] = manifest.overlays.as_slice() else { panic!() };
    assert!(text[rms.span.start..].starts_with("[[overlay]]\nname   = \"rms"));
    assert_eq!(rms.reason.as_ref().unwrap().value, "small-axis normalizer");
    assert_eq!(rms.base.as_ref().unwrap().to_string(), "1700b39a1dc05611dc6792f4453458d379997037");
    let Kind::Files(files) = &rms.kind else { panic!("{:?}", rms.kind) };
    assert_eq!(values(files), ["mlx/backend/cuda/rms_norm.cu", "mlx/backend/cuda/*.cuh"]);
    let when: Vec<_> = rms.when.iter().map(|c| (c.feature.as_str(), c.negated)).collect();
    assert_eq!(when, [("cuda", false), ("rocm", true)]);
    assert_eq!(rms.claim.as_ref().unwrap().value, Delta::Comments);
    assert_eq!(values(&rms.needs), ["other-overlay"]);
    assert_eq!(rms.rivals.as_ref().unwrap().as_str(), "rms-fix");
    assert!(rms.active, "alone in its group");
    assert_eq!(values(&rms.tests), ["rms-norm-sweep"]);
    let commit = overlaid::id::CommitId::parse("a5a684d000000000000000000000000000000000").unwrap();
    assert_eq!(rms.witness.as_ref().unwrap().value, Witness::Commit(commit));
    assert_eq!(values(&rms.devices), ["sm_90"]);
    assert_eq!(rms.issue.as_ref().unwrap().value, "https://example.org/issues/1");
    assert_eq!(rms.pull_request.as_ref().unwrap().value, "https://example.org/pull/2");
    assert_eq!(rms.author.as_ref().unwrap().value, "Ada <ada@example.org>");
    assert_eq!(rms.forwarded.as_ref().unwrap().value, "https://example.org/pull/2");
    assert_eq!(rms.upstream_status.as_ref().unwrap().value.as_str(), "submitted");
    assert_eq!(rms.report.as_ref().unwrap().value, PathBuf::from("docs/upstream/rms-norm.md"));
    assert_eq!(rms.drop_when.as_ref().unwrap().value, DropWhen::PinContains(commit));

    let Kind::Patch(patch) = &other.kind else { panic!("{:?}", other.kind) };
    assert_eq!(patch.value, PathBuf::from("grid-overflow.patch"));
    assert_eq!(other.witness.as_ref().unwrap().value, Witness::Patch("fault.patch".into()));
    assert_eq!(other.drop_when.as_ref().unwrap().value, DropWhen::TestsPassWithout);
    let Kind::Commits { commits, remote } = &backport.kind else { panic!("{:?}", backport.kind) };
    assert_eq!(values(commits), ["1".repeat(40), "2".repeat(40)]);
    assert_eq!(remote.as_ref().unwrap().as_str(), "fork");
    assert_eq!(backport.drop_when.as_ref().unwrap().value, DropWhen::Attested("deepseek-v2-lite".into()));
    let Kind::HeldBack { commit, paths, remote } = &held.kind else { panic!("{:?}", held.kind) };
    assert_eq!(commit.to_string(), "3".repeat(40));
    assert_eq!(paths[0].as_bytes(), "mlx/backend/cuda/softmax.cu");
    assert!(remote.is_none());
    assert!(backport.active && !held.active, "who does not say that it is active is not");
    let Kind::Delete(paths) = &gone.kind else { panic!("{:?}", gone.kind) };
    assert_eq!(paths[0].as_bytes(), "mlx/old.cpp");
    assert!(gone.base.is_none() && gone.claim.is_none() && gone.active);

    let check = &manifest.checks[0];
    assert_eq!(check.name.as_str(), "deprecated-api");
    assert_eq!(values(&check.globs), ["mlx/backend/**/*.cpp"]);
    assert_eq!(values(&check.forbid), [r"d\.get_command_encoder\("]);

    let names: Vec<_> = manifest.profiles.iter().map(|profile| profile.name.as_str()).collect();
    assert_eq!(names, ["cuda", "cpu"], "in the order of the file");
    let cuda = manifest.profile("cuda").unwrap();
    let cmake: Vec<_> = cuda.cmake.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
    assert_eq!(cmake, [("MLX_BUILD_CUDA", "ON"), ("MLX_EMPTY", "")]);
    assert_eq!(values(&cuda.targets), ["mlx"]);
    assert_eq!(values(&cuda.features), ["cuda"]);
    assert_eq!(cuda.requires.as_ref().unwrap().value, "cuda");
    assert_eq!(values(&cuda.cache_env), ["MLX_PTX_CACHE_DIR"]);

    let sweep = manifest.test("rms-norm-sweep").unwrap();
    assert_eq!(sweep.project.as_ref().unwrap().value, PathBuf::from("tests/kernels"));
    assert_eq!(sweep.target.as_ref().unwrap().value, "rms_norm_sweep");
    assert_eq!(sweep.command.len(), 4);
    assert_eq!(values(&sweep.sources), ["tests/kernels/**"]);
    assert_eq!(values(&sweep.profiles), ["cuda", "cpu"]);
    let sanitizers: Vec<_> = sweep.sanitizers.iter().map(|sanitizer| sanitizer.value).collect();
    assert_eq!(sanitizers, [Sanitizer::Memcheck, Sanitizer::Undefined]);
    assert_eq!((sweep.format, sweep.repeats, sweep.guard), (Format::Junit, 5, true));
    assert_eq!((sweep.timeout, sweep.min_gain), (Duration::from_secs(120), 0.1));
    let plain = manifest.test("plain").unwrap();
    assert_eq!((plain.format, plain.repeats, plain.guard), (Format::Jsonl, 3, false));
    assert_eq!((plain.timeout, plain.min_gain), (Duration::from_secs(120), 0.05));
}

#[test]
fn line_ends_a_byte_order_mark_and_inline_tables_change_nothing() {
    let text = include_str!("manifest/full.toml");
    let plain = format!(
        "{:?}",
        good(text).overlays.iter().map(|o| (o.name.as_str().to_owned(), o.active)).collect::<Vec<_>>()
    );
    for other in [text.replace('\n', "\r\n"), format!("\u{feff}{text}")] {
        let manifest = good(&other);
        let found = format!(
            "{:?}",
            manifest.overlays.iter().map(|o| (o.name.as_str().to_owned(), o.active)).collect::<Vec<_>>()
        );
        assert_eq!(found, plain);
        let pin = manifest.upstream.pin.span;
        assert_eq!(&other[pin], "\"b7c3dd6d27f45b5365b08a840310187dc503f1db\"");
    }
    let inline = format!("overlay = [{{ name = \"a\", delete = [\"x\"] }}]\n{HEAD}");
    assert_eq!(good(&inline).overlays.len(), 1);
}

/// The code blocks of the reference, each on its own.
#[test]
fn every_example_of_the_reference_is_read() {
    let page = include_str!("../docs/manifest.md");
    let blocks: Vec<_> =
        page.split("```toml\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    assert!(blocks.len() >= 10);
    for block in blocks {
        let has_upstream = block.contains("[upstream]");
        let head = if has_upstream { HEAD.lines().next().unwrap_or_default() } else { HEAD };
        let head = if block.contains("version = 1") { "" } else { head };
        good(&format!("{head}\n{block}"));
    }
}

/// Every key that can be written is on the page.
#[test]
fn the_reference_has_every_key() {
    fn keys(table: &toml::Table, found: &mut Vec<String>) {
        for (key, value) in table {
            found.push(key.clone());
            match value {
                toml::Value::Table(inner) if key != "cmake" && key != "profile" => keys(inner, found),
                toml::Value::Array(list) => {
                    list.iter().filter_map(toml::Value::as_table).for_each(|inner| keys(inner, found))
                }
                _ => {}
            }
        }
    }
    let text: toml::Table = include_str!("manifest/full.toml").parse().unwrap();
    let mut found = Vec::new();
    keys(&text, &mut found);
    let profile = &text["profile"]["cuda"];
    keys(profile.as_table().unwrap(), &mut found);
    let page = include_str!("../docs/manifest.md");
    for key in found {
        let is_there = ["`", "`[", "`[[", "`[[upstream.", "`["]
            .iter()
            .any(|start| page.contains(&format!("{start}{key}")));
        assert!(is_there, "{key} is not in docs/manifest.md");
    }
}

#[test]
fn the_reference_has_every_code() {
    let page = include_str!("../docs/manifest.md");
    let codes = page.split("## Codes of the messages").nth(1).unwrap();
    for (title, text) in bad::manifests() {
        for message in read(&text).1 {
            assert!(codes.contains(&format!("`{}`", message.code)), "{title}: {}", message.code);
        }
    }
}

#[test]
fn durations_have_four_units() {
    for (written, expected) in
        [("500ms", 500), ("1s", 1000), ("120s", 120_000), ("2m", 120_000), ("1h", 3_600_000)]
    {
        let text = format!(
            "{HEAD}[[test]]\nname = \"t\"\ntarget = \"t\"\ncommand = [\"t\"]\ntimeout = \"{written}\"\n"
        );
        assert_eq!(good(&text).tests[0].timeout, Duration::from_millis(expected), "{written}");
    }
}

#[test]
fn urls_that_git_reads_without_help_are_accepted() {
    for url in [
        "https://example.org/a.git",
        "ssh://git@example.org:22/a",
        "git@example.org:a/b.git",
        "file:///srv/a.git",
        "git://example.org/a",
        "../a.git",
        "/srv/a.git",
        "a.bundle",
        "target/rowops.git",
        "C:/a",
        "./odd:name",
    ] {
        good(&HEAD.replace("https://example.org/up.git", url));
    }
    for url in [
        "",
        " ",
        "-x",
        "ext::sh",
        "fd::7",
        "foo://x",
        "persistent-https://x",
        "ssh://-x/y",
        "git@-x:y",
        "-h:x",
        "a\\nb",
    ] {
        let (manifest, messages) = read(&HEAD.replace("https://example.org/up.git", url));
        assert!(manifest.is_none() && messages[0].code == "bad-url", "{url}");
    }
}

#[test]
fn a_record_of_a_message_has_its_line_and_column() {
    let (_, messages) = read(&HEAD.replace("up\"", "up/\""));
    let json = messages[0].to_json();
    assert_eq!((json["code"].as_str(), json["severity"].as_str()), (Some("bad-name"), Some("error")));
    assert_eq!(
        (json["file"].as_str(), json["line"].as_u64(), json["column"].as_u64()),
        (Some("manifests/up.toml"), Some(3), Some(8))
    );
}

/// A manifest in which some bytes were replaced, removed or doubled.
fn mutated() -> impl Strategy<Value = String> {
    let change = (any::<prop::sample::Index>(), 0..3u8, "[\\[\\]{}\"'=.,#\n\r\t a-z0-9\u{0}\u{e9}!-]{0,3}");
    (prop::collection::vec(change, 1..6), any::<bool>()).prop_map(|(changes, small)| {
        let mut text = if small { HEAD.to_owned() } else { include_str!("manifest/full.toml").to_owned() };
        for (at, kind, new) in changes {
            let mut start = at.index(text.len() + 1);
            while !text.is_char_boundary(start) {
                start -= 1;
            }
            let line_end = text[start..].find('\n').map_or(text.len(), |end| start + end + 1);
            match kind {
                0 => text.insert_str(start, &new),
                1 => text.replace_range(start..line_end, &new),
                _ => {
                    let line = text[start..line_end].to_owned();
                    text.insert_str(start, &line);
                }
            }
        }
        text
    })
}

/// Whatever the text is: an answer, an error or a manifest, and messages that can be shown.
fn answers(text: &str) {
    let (manifest, messages) = read(text);
    assert_eq!(manifest.is_none(), messages.iter().any(|message| message.severity == Severity::Error));
    for message in messages {
        let shown = message.render(false, 80);
        assert!(!shown.contains(['\u{1b}', '\r', '\0']), "{shown:?}");
        let json = message.to_json();
        assert!(
            json["line"].as_u64().is_none_or(|line| line >= 1 && line <= text.lines().count() as u64 + 1)
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn any_text_gets_an_answer(text in "\\PC{0,80}|[\\[\\]{}\"'=.,#\n\r\t a-z0-9\u{0}-]{0,120}") {
        answers(&text);
    }

    #[test]
    fn a_damaged_manifest_gets_an_answer(text in mutated()) {
        answers(&text);
    }
}
