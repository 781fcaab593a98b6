//! Faults planted on purpose, with a known truth: real manifests, real git upstreams, real processes. What
//! `prove` says must be what was planted. The truth of a story is written down where it is told, and comes
//! from no table of verdicts.

mod faults;

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::support::random::Random;
use crate::support::{Project, Upstream};

pub(crate) const CHECK: &str = include_str!("planted/check.sh");

/// Ways to be wrong that a test sees in each run.
const FAULTS: [&str; 9] = ["wrong", "nan", "inf", "null", "refused", "crash", "abort", "exit", "fill"];

/// What an overlay is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Patch,
    Files,
    Commits,
    HeldBack,
    Delete,
}

const KINDS: [Kind; 5] = [Kind::Patch, Kind::Files, Kind::Commits, Kind::HeldBack, Kind::Delete];

/// What must come out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Truth {
    /// This, and nothing else.
    Is(&'static str),
    /// Nobody could tell from what the tests say.
    CannotBeTold,
}

/// A situation: an upstream, a project, and what is true of each overlay.
pub(crate) struct Situation {
    story: String,
    pub(crate) upstream: Upstream,
    pub(crate) project: Project,
    truths: BTreeMap<String, Truth>,
    /// Whether all that can go one by one can go together, if the story says so.
    together: Option<&'static str>,
}

/// Builds a situation step by step.
pub(crate) struct Scene {
    upstream: Upstream,
    base: String,
    side: usize,
    overlays: String,
    files: Vec<(String, String)>,
    pub(crate) tests: String,
}

pub(crate) fn case_file(name: &str, does: &str) -> String {
    format!("# case {name}\n{does}\n# end\n")
}

impl Scene {
    /// An upstream whose cases do this.
    pub(crate) fn new(cases: &[(&str, &str)], more: &[(&str, &str)]) -> Self {
        let mut upstream = Upstream::new();
        let mut files: Vec<(String, String)> =
            cases.iter().map(|(name, does)| (format!("cases/{name}"), case_file(name, does))).collect();
        files.extend(more.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())));
        let files: Vec<(&str, &str)> =
            files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
        let base = upstream.commit("base", &files);
        let tests = test_table("check", "20s");
        Self { upstream, base, side: 0, overlays: String::new(), files: Vec::new(), tests }
    }

    /// The upstream's repository.
    pub(crate) fn upstream(&self) -> &Upstream {
        &self.upstream
    }

    /// Upstream goes on; gives the commit.
    pub(crate) fn commit(&mut self, files: &[(&str, &str)]) -> String {
        self.upstream.commit("go on", files)
    }

    /// An overlay table that is written by hand.
    pub(crate) fn overlay(&mut self, name: &str, rest: &str) {
        let base = &self.base;
        self.overlays.push_str(&format!(
            "\n[[overlay]]\nname = \"{name}\"\nreason = \"planted\"\nbase = \"{base}\"\ntests = [\"check\"]\n{rest}\n"
        ));
    }

    pub(crate) fn file(&mut self, path: &str, text: &str) {
        self.files.push((path.to_owned(), text.to_owned()));
    }

    /// An overlay that makes a case of the base do something else, in one of the ways there are.
    pub(crate) fn change(&mut self, name: &str, kind: Kind, case: &str, from: &str, to: &str) {
        let path = format!("cases/{case}");
        match kind {
            Kind::Patch => {
                let patch = format!(
                    "diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n@@ -1,3 +1,3 @@\n # case {case}\n-{from}\n+{to}\n # end\n"
                );
                self.file(&format!("overlays/up/{name}.patch"), &patch);
                self.overlay(name, &format!("patch = \"{name}.patch\""));
            }
            Kind::Files => {
                self.file(&format!("overlays/up/{path}"), &case_file(case, to));
                self.overlay(name, &format!("files = [\"{path}\"]"));
            }
            Kind::Commits | Kind::HeldBack => {
                self.side += 1;
                let branch = format!("side{}", self.side);
                let base = self.base.clone();
                self.upstream.git(&["checkout", "-q", "-b", &branch, &base]);
                let commit = self.upstream.commit("aside", &[(&path, &case_file(case, to))]);
                self.upstream.git(&["checkout", "-q", "main"]);
                let from = match kind {
                    Kind::Commits => format!("from = {{ commits = [\"{commit}\"] }}"),
                    _ => format!("from = {{ commit = \"{commit}\", paths = [\"{path}\"] }}"),
                };
                self.overlay(name, &from);
            }
            Kind::Delete => self.overlay(name, &format!("delete = [\"breaks/{case}\"]")),
        }
    }

    pub(crate) fn done(self, story: String, pin: &str, truths: &[(&str, Truth)]) -> Situation {
        let mut project = Project::on(&self.upstream, pin, &format!("{}{}", self.overlays, self.tests));
        project.write("tests/check/check.sh", CHECK);
        project.write(
            "tests/check/CMakeLists.txt",
            "cmake_minimum_required(VERSION 3.20)\nproject(check LANGUAGES NONE)\n\
             configure_file(check.sh check.sh COPYONLY)\nadd_custom_target(check)\n\
             add_custom_command(OUTPUT feature.sh DEPENDS \"${OVERLAID_TREE}/feature.sh\"\n\
             COMMAND ${CMAKE_COMMAND} -E copy \"${OVERLAID_TREE}/feature.sh\" feature.sh)\n\
             add_custom_target(feature DEPENDS feature.sh)\n",
        );
        for (path, text) in &self.files {
            project.write(path, text);
        }
        let state = project.path().join("state");
        std::fs::create_dir_all(&state).unwrap();
        project.set("STATE", state);
        let truths = truths.iter().map(|(name, truth)| ((*name).to_owned(), truth.clone())).collect();
        Situation { story, upstream: self.upstream, project, truths, together: None }
    }
}

pub(crate) fn test_table(target: &str, timeout: &str) -> String {
    format!(
        "\n[[test]]\nname = \"check\"\nproject = \"tests/check\"\ntarget = \"{target}\"\n\
         command = [\"sh\", \"{{build}}/check.sh\"]\nrepeats = 2\ntimeout = \"{timeout}\"\n"
    )
}

/// Cases around the one that matters.
fn cast(dice: &mut Random, does: &'static str) -> Vec<(&'static str, &'static str)> {
    let mut cases: Vec<(&str, &str)> = vec![("hero", does)];
    for name in ["a", "b", "z"].into_iter().take(dice.below(4)) {
        cases.push((name, if dice.below(6) == 0 { "wrong" } else { "good" }));
    }
    cases
}

/// For a deletion the fault stands in a file of its own.
fn planted_in(kind: Kind, fault: &'static str) -> (&'static str, Vec<(&'static str, &'static str)>) {
    match kind {
        Kind::Delete => ("good", vec![("breaks/hero", fault)]),
        _ => (fault, Vec::new()),
    }
}

fn still_there(dice: &mut Random, fault: &'static str) -> Situation {
    let kind = dice.pick(&KINDS);
    let (does, more) = planted_in(kind, fault);
    let mut scene = Scene::new(&cast(dice, does), &more);
    let pin = scene.commit(&[("elsewhere", "more\n")]);
    scene.change("fix", kind, "hero", fault, "good");
    scene.done(format!("{fault}, still there, {kind:?}"), &pin, &[("fix", Truth::Is("needed"))])
}

fn mended_upstream(dice: &mut Random, fault: &'static str) -> Situation {
    let kind = dice.pick(&KINDS);
    let (does, more) = planted_in(kind, fault);
    let mut scene = Scene::new(&cast(dice, does), &more);
    let pin = scene.commit(&[("mends/hero", "good\n")]);
    scene.change("fix", kind, "hero", fault, "good");
    scene.done(
        format!("{fault}, mended upstream in another way, {kind:?}"),
        &pin,
        &[("fix", Truth::Is("droppable"))],
    )
}

fn rollback(dice: &mut Random, fault: &'static str) -> Situation {
    let kind = dice.pick(&[Kind::Files, Kind::HeldBack]);
    let mut scene = Scene::new(&cast(dice, fault), &[]);
    let pin = scene.commit(&[("cases/hero", &case_file("hero", "good"))]);
    scene.change("old", kind, "hero", "good", fault);
    scene.done(
        format!("{fault}, mended upstream and held back, {kind:?}"),
        &pin,
        &[("old", Truth::Is("harmful"))],
    )
}

fn fixes_and_breaks(dice: &mut Random, fault: &'static str) -> Situation {
    let other = dice.pick(&["wrong", "nan", "crash", "refused"]);
    let mut scene = Scene::new(&[("hero", fault), ("victim", "good")], &[]);
    let pin = scene.commit(&[("elsewhere", "more\n")]);
    scene.file("overlays/up/cases/hero", &case_file("hero", "good"));
    scene.file("overlays/up/cases/victim", &case_file("victim", other));
    scene.overlay("fix", "files = [\"cases/*\"]");
    scene.done(format!("mends {fault}, brings {other}"), &pin, &[("fix", Truth::Is("mixed"))])
}

fn out_of_reach(dice: &mut Random, fault: &'static str) -> Situation {
    let kind = dice.pick(&KINDS);
    let (does, more) = planted_in(kind, fault);
    let mut scene = Scene::new(&cast(dice, does), &more);
    let pin = scene.commit(&[("mends/hero", &format!("{fault}\n"))]);
    scene.change("fix", kind, "hero", fault, "good");
    scene.done(
        format!("{fault}, moved out of the overlay's reach, {kind:?}"),
        &pin,
        &[("fix", Truth::Is("ineffective"))],
    )
}

fn no_effect(dice: &mut Random, fault: &'static str) -> Situation {
    // The test reads what the overlay changes, and does not care.
    let mut scene = Scene::new(&cast(dice, "good"), &[("cases/quiet-one", "# old words\ngood\n# end\n")]);
    let pin = scene.commit(&[("elsewhere", "more\n")]);
    scene.file("overlays/up/cases/quiet-one", "# new words\ngood\n# end\n");
    scene.overlay("idle", "files = [\"cases/quiet-one\"]");
    scene.done(format!("no effect (not {fault})"), &pin, &[("idle", Truth::Is("unproven"))])
}

fn fails_anyway(_: &mut Random, fault: &'static str) -> Situation {
    let mut scene = Scene::new(&[("hero", fault), ("other", "good")], &[]);
    let pin = scene.commit(&[("elsewhere", "more\n")]);
    scene.file("overlays/up/cases/other", "# other words\ngood\n# end\n");
    scene.overlay("idle", "files = [\"cases/other\"]");
    scene.done(format!("{fault}, with and without it"), &pin, &[("idle", Truth::Is("unproven"))])
}

fn not_read(_: &mut Random, fault: &'static str) -> Situation {
    let mut scene = Scene::new(&[("hero", "good")], &[("docs/readme", "read me\n")]);
    let pin = scene.commit(&[("elsewhere", "more\n")]);
    scene.file("overlays/up/docs/readme", "do not read me\n");
    scene.overlay("idle", "files = [\"docs/readme\"]");
    scene.done(format!("what the test never reads (not {fault})"), &pin, &[("idle", Truth::CannotBeTold)])
}

fn both_needed(_: &mut Random, fault: &'static str) -> Situation {
    let mut scene = Scene::new(&[("hero", "good"), ("other", fault)], &[("parts/hero", "one\ntwo\n")]);
    let pin = scene.commit(&[("elsewhere", "more\n")]);
    scene.file("overlays/up/one", "1\n");
    scene.file("overlays/up/two", "2\n");
    scene.overlay("first", "files = [\"one\"]");
    scene.overlay("second", "files = [\"two\"]\nneeds = [\"first\"]");
    let needed = Truth::Is("needed");
    scene.done("one needs the other".to_owned(), &pin, &[("first", needed.clone()), ("second", needed)])
}

fn either_would_do(dice: &mut Random, fault: &'static str) -> Situation {
    let mut scene = Scene::new(&cast(dice, fault), &[]);
    let pin = scene.commit(&[("elsewhere", "more\n")]);
    scene.change("one", dice.pick(&[Kind::Patch, Kind::Files, Kind::Commits]), "hero", fault, "good");
    scene.file("overlays/up/mends/hero-2", "good\n");
    scene.overlay("two", "files = [\"mends/hero-2\"]");
    let goes = Truth::Is("droppable");
    let mut situation =
        scene.done(format!("two overlays for one {fault}"), &pin, &[("one", goes.clone()), ("two", goes)]);
    situation.together = Some("not-together");
    situation
}

fn two_that_go(dice: &mut Random, fault: &'static str) -> Situation {
    let other = dice.pick(&FAULTS);
    let mut scene = Scene::new(&[("hero", fault), ("second", other)], &[]);
    let pin = scene.commit(&[("mends/hero", "good\n"), ("mends/second", "good\n")]);
    scene.change("one", Kind::Patch, "hero", fault, "good");
    scene.change("two", Kind::Files, "second", other, "good");
    let goes = Truth::Is("droppable");
    let mut situation = scene.done(
        format!("{fault} and {other}, both mended upstream"),
        &pin,
        &[("one", goes.clone()), ("two", goes)],
    );
    situation.together = Some("all-can-go");
    situation
}

fn fewer_cases(dice: &mut Random, fault: &'static str) -> Situation {
    // At the pin the test does not run the case that the overlay is there for.
    let kind = dice.pick(&[Kind::Patch, Kind::Files, Kind::Commits]);
    let mut scene = Scene::new(&[("hero", fault), ("other", "good")], &[]);
    let pin = scene.commit(&[("mends/hero", "absent\n")]);
    scene.change("fix", kind, "hero", fault, "good");
    scene.done(format!("{fault}, and the case is gone at the pin"), &pin, &[("fix", Truth::CannotBeTold)])
}

fn says_nothing(dice: &mut Random, fault: &'static str) -> Situation {
    let mode = dice.pick(&["nothing", "early-crash"]);
    let mut scene = Scene::new(&[("hero", fault)], &[]);
    let pin = scene.commit(&[("mode", &format!("{mode}\n"))]);
    scene.change("fix", Kind::Patch, "hero", fault, "good");
    scene.done(format!("no output at the pin ({mode})"), &pin, &[("fix", Truth::CannotBeTold)])
}

fn ended_from_outside(dice: &mut Random, _: &'static str) -> Situation {
    let does = dice.pick(&["killed", "quiet", "twice"]);
    let mut scene = Scene::new(&[("hero", does)], &[]);
    let pin = scene.commit(&[("elsewhere", "more\n")]);
    scene.change("fix", Kind::Patch, "hero", does, "good");
    scene.done(format!("{does}: nobody knows"), &pin, &[("fix", Truth::CannotBeTold)])
}

fn lying_exit_code(dice: &mut Random, fault: &'static str) -> Situation {
    // The status of the process says the opposite of its results, or something about a crash at the end.
    let mode = dice.pick(&["exit1", "late-crash", "noise"]);
    let is_mended = dice.below(2) == 0;
    let mut scene = Scene::new(&[("hero", fault), ("other", "good")], &[("mode", &format!("{mode}\n"))]);
    let mends = if is_mended { "mends/hero" } else { "elsewhere" };
    let pin = scene.commit(&[(mends, "good\n")]);
    scene.change("fix", Kind::Patch, "hero", fault, "good");
    let truth = if is_mended { "droppable" } else { "needed" };
    scene.done(format!("{fault}, and the process ends with {mode}"), &pin, &[("fix", Truth::Is(truth))])
}

fn flaky_once(dice: &mut Random, _: &'static str) -> Situation {
    let does = dice.pick(&["every2", "every3"]);
    let mut scene = Scene::new(&[("hero", does), ("other", "good")], &[]);
    let pin = scene.commit(&[("mends/hero", "good\n")]);
    scene.change("fix", dice.pick(&[Kind::Patch, Kind::Files]), "hero", does, "good");
    scene.done(format!("fails {does} runs, mended upstream"), &pin, &[("fix", Truth::Is("droppable"))])
}

fn flaky_still(dice: &mut Random, _: &'static str) -> Situation {
    let does = dice.pick(&["every2", "every3"]);
    let mut scene = Scene::new(&[("hero", does), ("other", "good")], &[]);
    let pin = scene.commit(&[("elsewhere", "more\n")]);
    scene.change("fix", Kind::Patch, "hero", "every2", "every2x");
    scene.overlays.clear();
    scene.file("overlays/up/cases/other", "# other words\ngood\n# end\n");
    scene.overlay("idle", "files = [\"cases/other\"]");
    scene.done(format!("fails {does} runs, with and without it"), &pin, &[("idle", Truth::CannotBeTold)])
}

fn does_not_build(dice: &mut Random, fault: &'static str) -> Situation {
    let breaks = dice.below(2) == 0;
    let mut scene = Scene::new(&[("hero", "good")], if breaks { &[("feature.sh", "exit 0\n")] } else { &[] });
    let pin = scene.commit(&[("elsewhere", "more\n")]);
    scene.tests = test_table("feature", "20s");
    if breaks {
        scene.overlay("ours", "delete = [\"feature.sh\"]");
    } else {
        scene.file("overlays/up/feature.sh", "exit 0\n");
        scene.overlay("ours", "files = [\"feature.sh\"]");
    }
    let (what, truth) = if breaks { ("takes", "harmful") } else { ("brings", "needed") };
    scene.done(
        format!("{what} what the test is built from (not {fault})"),
        &pin,
        &[("ours", Truth::Is(truth))],
    )
}

fn comments_only(dice: &mut Random, fault: &'static str) -> Situation {
    let text = "int width = 1;\n";
    let mut scene = Scene::new(&cast(dice, fault), &[("kernel.cu", text)]);
    let pin = scene.commit(&[("elsewhere", "more\n")]);
    scene.file("overlays/up/kernel.cu", &format!("// ours\n{text}"));
    scene.overlay("notes", "files = [\"kernel.cu\"]");
    scene.done("comments only".to_owned(), &pin, &[("notes", Truth::Is("redundant"))])
}

fn hangs(dice: &mut Random, _: &'static str) -> Situation {
    let is_mended = dice.below(2) == 0;
    let mut scene = Scene::new(&[("a", "good"), ("hero", "hang")], &[]);
    scene.tests = test_table("check", "2s");
    let pin = scene.commit(&[(if is_mended { "mends/hero" } else { "elsewhere" }, "good\n")]);
    scene.change("fix", Kind::Patch, "hero", "hang", "good");
    let truth = if is_mended { "droppable" } else { "needed" };
    scene.done(format!("hangs, {truth}"), &pin, &[("fix", Truth::Is(truth))])
}

fn planted_by_a_patch(dice: &mut Random, fault: &'static str) -> Situation {
    // Upstream never had the fault; the witness is a patch that brings it. The overlay guards against it.
    let mut scene = Scene::new(&cast(dice, "good"), &[]);
    let pin = scene.commit(&[("elsewhere", "more\n")]);
    let patch = format!(
        "diff --git a/cases/hero b/cases/hero\n--- a/cases/hero\n+++ b/cases/hero\n@@ -1,3 +1,3 @@\n # case hero\n-good\n+{fault}\n # end\n"
    );
    scene.file("overlays/up/fault.patch", &patch);
    scene.file("overlays/up/mends/hero", "good\n");
    scene.overlay("guard", "files = [\"mends/hero\"]\nwitness = { patch = \"fault.patch\" }");
    scene.done(format!("{fault}, planted by a patch"), &pin, &[("guard", Truth::Is("droppable"))])
}

fn loud_becomes_silent(dice: &mut Random, _: &'static str) -> Situation {
    let loud = dice.pick(&["crash", "refused", "abort", "exit"]);
    let mut scene = Scene::new(&[("hero", loud), ("second", "wrong")], &[]);
    let pin = scene.commit(&[("elsewhere", "more\n")]);
    scene.file("overlays/up/cases/hero", &case_file("hero", "wrong"));
    scene.file("overlays/up/cases/second", &case_file("second", "good"));
    scene.overlay("fix", "files = [\"cases/*\"]");
    scene.done(format!("mends one case and silences a {loud}"), &pin, &[("fix", Truth::Is("needed"))])
}

type Story = fn(&mut Random, &'static str) -> Situation;

/// The stories, each with how often it is told.
const STORIES: [(Story, usize); 23] = [
    (still_there, 8),
    (mended_upstream, 8),
    (rollback, 5),
    (fixes_and_breaks, 4),
    (out_of_reach, 5),
    (no_effect, 2),
    (fails_anyway, 3),
    (not_read, 1),
    (both_needed, 2),
    (either_would_do, 3),
    (two_that_go, 2),
    (fewer_cases, 2),
    (says_nothing, 2),
    (ended_from_outside, 3),
    (lying_exit_code, 4),
    (flaky_once, 2),
    (flaky_still, 1),
    (does_not_build, 3),
    (comments_only, 1),
    (hangs, 2),
    (planted_by_a_patch, 2),
    (loud_becomes_silent, 2),
    (still_there, 2),
];

/// What came of the situations.
#[derive(Default)]
struct Tally {
    /// How often what was said, by what was planted.
    table: BTreeMap<(String, String), usize>,
    told: usize,
    decidable: usize,
    /// Definite, and not what was planted.
    wrong: Vec<String>,
    /// Could be told, and was not.
    missed: Vec<String>,
}

impl Tally {
    fn add(&mut self, situation: &Situation, document: &serde_json::Value) {
        self.told += 1;
        for overlay in document["overlays"].as_array().unwrap() {
            let (name, verdict) = (overlay["name"].as_str().unwrap(), overlay["verdict"].as_str().unwrap());
            let expected = match &situation.truths[name] {
                Truth::Is(verdict) => *verdict,
                Truth::CannotBeTold => "inconclusive",
            };
            *self.table.entry((expected.to_owned(), verdict.to_owned())).or_default() += 1;
            self.decidable += usize::from(expected != "inconclusive");
            let what =
                format!("{} `{name}`: {expected}, not {verdict}: {}", situation.story, overlay["reasons"]);
            match (expected == verdict, verdict) {
                (true, _) => {}
                (false, "inconclusive" | "unproven") => self.missed.push(what),
                (false, _) => self.wrong.push(what),
            }
        }
        if let Some(together) = situation.together
            && document["together"]["answer"] != together
        {
            self.wrong.push(format!("{}: together {}", situation.story, document["together"]));
        }
    }
}

#[test]
fn verdicts_are_what_was_planted() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok()).unwrap_or(1);
    let (seed, times) = (number("OVERLAID_PLANTED_SEED"), number("OVERLAID_PLANTED_TIMES"));
    let often = |count: usize| 0..count * usize::try_from(times).unwrap();
    let stories: Vec<Story> =
        STORIES.iter().flat_map(|(story, count)| often(*count).map(|_| *story)).collect();
    let tally = Mutex::new(Tally::default());
    let next = AtomicUsize::new(0);
    // Much of the time is spent waiting for what hangs.
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(story) = stories.get(index) else { break };
                    let mut dice = Random::new(seed << 32 | index as u64);
                    let situation = story(&mut dice, FAULTS[index % FAULTS.len()]);
                    let run = situation.project.run(&["prove", "--json"]);
                    assert!([0, 1, 3, 4].contains(&run.code), "{}: {run:?}", situation.story);
                    tally.lock().unwrap().add(&situation, &run.json());
                    // Until here the upstream must be there.
                    drop(situation.upstream);
                }
            });
        }
    });
    let Tally { table, told, decidable, wrong, missed } = tally.into_inner().unwrap();
    println!("{told} situations, seed {seed}");
    println!("{:<14}{:<14}{:>6}", "planted", "said", "times");
    for ((planted, said), times) in &table {
        println!("{planted:<14}{said:<14}{times:>6}{}", if planted == said { "" } else { "  <-" });
    }
    for line in missed.iter().chain(&wrong) {
        println!("{line}");
    }
    assert!(told >= 60);
    assert!(wrong.is_empty(), "{} wrong verdicts: {wrong:#?}", wrong.len());
    assert!(missed.len() * 20 <= decidable, "{} of {decidable} missed: {missed:#?}", missed.len());
}
