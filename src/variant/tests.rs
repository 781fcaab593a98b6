use std::time::Duration;

use super::*;
use crate::manifest::{Kind, Located, Locations, UpstreamTable};

fn at<T>(value: T) -> Located<T> {
    Located { value, span: 0..0 }
}

fn name(text: &str) -> Name {
    Name::parse(text).unwrap()
}

fn commit(digit: char) -> CommitId {
    CommitId::parse(&digit.to_string().repeat(40)).unwrap()
}

const PIN: char = 'a';

fn overlay(text: &str, needs: &[&str]) -> Overlay {
    Overlay {
        name: at(name(text)),
        span: 0..0,
        reason: None,
        base: Some(at(commit('b'))),
        kind: Kind::Delete(Vec::new()),
        when: Vec::new(),
        claim: None,
        needs: needs.iter().map(|need| at(name(need))).collect(),
        rivals: None,
        active: true,
        tests: Vec::new(),
        witness: None,
        devices: Vec::new(),
        issue: None,
        pull_request: None,
        report: None,
        drop_when: None,
        accepted: None,
    }
}

fn manifest(overlays: Vec<Overlay>) -> Manifest {
    let upstream = UpstreamTable {
        name: at(name("up")),
        url: at("up.git".into()),
        pin: at(commit(PIN)),
        branch: None,
        tree: None,
        also_pinned: Vec::new(),
        remotes: Vec::new(),
        submodules: Vec::new(),
    };
    Manifest {
        file: "manifests/up.toml".into(),
        text: "".into(),
        upstream,
        locations: Locations::default(),
        exclusive: Vec::new(),
        overlays,
        checks: Vec::new(),
        profiles: Vec::new(),
        tests: vec![crate::manifest::Test {
            name: at(name("t")),
            span: 0..0,
            project: None,
            target: None,
            command: Vec::new(),
            sources: Vec::new(),
            profiles: Vec::new(),
            format: crate::manifest::Format::Jsonl,
            repeats: 3,
            sanitizers: Vec::new(),
            timeout: Duration::from_secs(1),
            guard: false,
            min_gain: 0.05,
        }],
    }
}

fn names(variant: &Variant) -> Vec<&str> {
    variant.overlays.iter().map(Name::as_str).collect()
}

fn of(manifest: &Manifest, overlay: &str) -> Variants {
    variants_of(manifest, &BTreeSet::new(), overlay).unwrap()
}

#[test]
fn at_the_pin_all_others_are_on_and_elsewhere_only_what_it_needs() {
    let manifest = manifest(vec![overlay("base", &[]), overlay("top", &["base"]), overlay("other", &[])]);
    let top = of(&manifest, "top");
    assert_eq!(names(&top.pin_with), ["base", "top", "other"]);
    assert_eq!(names(&top.pin_without), ["base", "other"]);
    let [without, with] = top.witness.unwrap();
    assert_eq!((names(&without), names(&with)), (vec!["base"], vec!["base", "top"]));
    assert_eq!((with.commit, with.at_pin), (commit('b'), false));
}

#[test]
fn without_an_overlay_also_means_without_those_that_need_it() {
    let manifest = manifest(vec![
        overlay("tip", &["top"]),
        overlay("top", &["base"]),
        overlay("base", &[]),
        overlay("other", &[]),
    ]);
    let base = of(&manifest, "base");
    assert_eq!(base.removed.iter().map(Name::as_str).collect::<Vec<_>>(), ["tip", "top", "base"]);
    assert_eq!(names(&base.pin_without), ["other"]);
    let [without, with] = base.witness.unwrap();
    assert_eq!((names(&without), names(&with)), (vec![], vec!["base"]));
    let both = without_all(&manifest, &BTreeSet::new(), &["top", "other"]);
    assert_eq!(names(&both), ["base"]);
}

#[test]
fn the_witness_is_the_key_or_else_the_base_and_none_if_it_is_the_pin() {
    let mut by_key = overlay("a", &[]);
    by_key.witness = Some(at(Witness::Commit(commit('c'))));
    let mut pinned = overlay("b", &[]);
    pinned.witness = Some(at(Witness::Commit(commit(PIN))));
    let mut planted = overlay("c", &[]);
    planted.witness = Some(at(Witness::Patch("fault.patch".into())));
    let mut rootless = overlay("d", &[]);
    rootless.base = None;
    let mut fresh = overlay("e", &[]);
    fresh.base = Some(at(commit(PIN)));
    let manifest = manifest(vec![by_key, pinned, planted, rootless, fresh]);
    assert_eq!(of(&manifest, "a").witness.unwrap()[0].commit, commit('c'));
    for none in ["b", "d", "e"] {
        assert_eq!(of(&manifest, none).witness, None, "{none}");
    }
    let [without, with] = of(&manifest, "c").witness.unwrap();
    assert_eq!(with.fault.as_deref(), Some(std::path::Path::new("fault.patch")));
    assert!(with.at_pin && with.commit == commit(PIN));
    assert_eq!((names(&without).len(), names(&with).len()), (4, 5));
}

#[test]
fn a_rival_that_stands_back_is_proven_in_the_active_ones_place() {
    let mut active = overlay("active", &[]);
    let mut back = overlay("back", &[]);
    back.active = false;
    for rival in [&mut active, &mut back] {
        rival.rivals = Some(at(name("group")));
    }
    let manifest = manifest(vec![active, back, overlay("other", &[])]);
    assert_eq!(names(&of(&manifest, "active").pin_with), ["active", "other"]);
    let back = of(&manifest, "back");
    assert_eq!(names(&back.pin_with), ["back", "other"]);
    assert_eq!(names(&back.pin_without), ["other"]);
}

#[test]
fn what_needs_the_active_rival_goes_with_it() {
    let mut active = overlay("active", &[]);
    let mut back = overlay("back", &[]);
    back.active = false;
    for rival in [&mut active, &mut back] {
        rival.rivals = Some(at(name("group")));
    }
    let manifest = manifest(vec![active, back, overlay("on-top", &["active"]), overlay("other", &[])]);
    assert_eq!(names(&of(&manifest, "active").pin_without), ["other"]);
    let back = of(&manifest, "back");
    assert_eq!(names(&back.pin_with), ["back", "other"]);
    assert_eq!(names(&back.pin_without), ["other"]);
}

#[test]
fn what_is_off_has_no_variants() {
    let mut gpu = overlay("gpu", &[]);
    gpu.when = vec![at(crate::manifest::Condition { feature: name("cuda"), negated: false })];
    let manifest = manifest(vec![gpu, overlay("top", &["gpu"])]);
    let none = BTreeSet::new();
    assert_eq!(variants_of(&manifest, &none, "gpu"), Err(VariantError::Off(name("gpu"))));
    let error = variants_of(&manifest, &none, "top").unwrap_err();
    assert_eq!(error.to_string(), "overlay `top` needs `gpu`, which is off under these features");
    assert!(matches!(variants_of(&manifest, &none, "no"), Err(VariantError::NoSuch(_))));
    assert!(variants_of(&manifest, &[name("cuda")].into(), "top").is_ok());
}

#[test]
fn what_is_wanted_on_one_variant_is_one_request() {
    let manifest = manifest(vec![overlay("a", &[]), overlay("b", &[])]);
    let want = |which, seeds: &[u64]| Want { which, test: name("t"), seeds: seeds.to_vec() };
    let wants = [want(Which::PinWith, &[1, 1, 2]), want(Which::PinWithout, &[1, 1, 2])];
    let mut all = of(&manifest, "a").next(&wants);
    all.extend(of(&manifest, "b").next(&[want(Which::PinWith, &[1, 3]), want(Which::PinWithout, &[1])]));
    let all = merge(all);
    let shown: Vec<_> = all.iter().map(|r| (names(&r.variant), r.tests[&name("t")].clone())).collect();
    assert_eq!(shown, [(vec!["a", "b"], vec![1, 1, 2, 3]), (vec!["b"], vec![1, 1, 2]), (vec!["a"], vec![1])]);
}

fn request(commit_digit: char, overlays: &[&str]) -> Request {
    let overlays = overlays.iter().map(|text| name(text)).collect();
    let commit = commit(commit_digit);
    let variant = Variant { commit, at_pin: commit_digit == PIN, fault: None, overlays };
    Request { variant, tests: BTreeMap::new() }
}

fn total(order: &[Request], cost: &dyn Fn(&OverlayName) -> u64) -> u64 {
    order.windows(2).map(|two| distance(&two[0].variant, &two[1].variant, cost)).sum()
}

#[test]
fn each_commit_is_done_at_once_and_flips_cost_least() {
    let cost = |overlay: &OverlayName| if overlay.as_str() == "big" { 100 } else { 1 };
    let requests = vec![
        request(PIN, &["a", "b"]),
        request('b', &["a"]),
        request(PIN, &["a", "b", "big"]),
        request('b', &[]),
        request(PIN, &["b", "big"]),
        request(PIN, &["a", "big"]),
    ];
    let order = schedule(requests, &[], &cost);
    let commits: Vec<_> = order.iter().map(|r| r.variant.commit).collect();
    assert_eq!(commits.windows(2).filter(|two| two[0] != two[1]).count(), 1);
    // The expensive overlay is flipped once only.
    assert!(total(&order, &cost) < 200);
    // What stands in a tree is where that commit starts.
    let now = request('b', &["a"]).variant;
    let order = schedule(vec![request(PIN, &[]), request('b', &[]), request('b', &["a"])], &[now], &cost);
    assert_eq!((order[0].variant.commit, names(&order[0].variant)), (commit('b'), vec!["a"]));
}

#[test]
fn no_other_order_is_cheaper() {
    fn permutations(items: &[Request]) -> Vec<Vec<Request>> {
        if items.is_empty() {
            return vec![Vec::new()];
        }
        let mut all = Vec::new();
        for (index, first) in items.iter().enumerate() {
            let mut rest = items.to_vec();
            rest.remove(index);
            for mut tail in permutations(&rest) {
                tail.insert(0, first.clone());
                all.push(tail);
            }
        }
        all
    }
    let cost = |overlay: &OverlayName| u64::from(overlay.as_str().as_bytes()[0] - b'a' + 1);
    let sets: [&[&str]; 6] = [
        &["a", "b", "c", "d"],
        &["b", "c", "d"],
        &["a", "c", "d"],
        &["a", "b", "d"],
        &["a", "b", "c"],
        &["d"],
    ];
    let requests: Vec<_> = sets.iter().map(|set| request(PIN, set)).collect();
    let least = permutations(&requests).iter().map(|order| total(order, &cost)).min().unwrap();
    let order = schedule(requests.clone(), &[], &cost);
    assert_eq!((order.len(), total(&order, &cost)), (6, least));
    // More variants than are searched in full still all come, each once.
    let many: Vec<_> = (0..20).map(|i| request(PIN, &[&format!("a{i}")])).collect();
    assert_eq!(schedule(many, &[], &cost).len(), 20);
}
