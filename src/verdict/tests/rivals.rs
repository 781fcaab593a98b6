//! Alternatives side by side.

use super::super::rivals::{Choice, Group, Rivals, Tested, side_by_side};
use super::*;

/// Cases `a`, `b`, `c`, a word of letters: `pfc` is passes, wrong figure, crash.
fn tested(inputs: &str, letters: &str) -> Tested {
    let names = ["a", "b", "c", "d"];
    let letters: Vec<String> = letters.chars().map(String::from).collect();
    let cases: Vec<(&str, &str)> = names.into_iter().zip(letters.iter().map(String::as_str)).collect();
    BTreeMap::from([(name("t"), ran_with(inputs, &[1], &cases))])
}

fn group(none: &str, members: &[(&str, &str)]) -> Group {
    Group {
        name: name("group"),
        active: name(members[0].0),
        tests: vec![linked("t")],
        none: tested("none", none),
        members: members.iter().map(|(member, letters)| (name(member), tested(member, letters))).collect(),
    }
}

fn rivals(none: &str, members: &[(&str, &str)]) -> Rivals {
    side_by_side(&group(none, members))
}

fn best(rival: &str) -> Choice {
    Choice::Best(name(rival))
}

#[test]
fn one_that_passes_more_and_breaks_nothing_is_the_better() {
    let rivals = rivals("ccc", &[("fix", "ppp"), ("half", "ppc")]);
    assert_eq!(rivals.choice, best("fix"));
    assert_eq!(rivals.reasons[0].text, "`fix` passes 1 case in which `half` fails, and is nowhere worse");
    assert_eq!((rivals.members[1].score.passes, rivals.members[1].score.fails_loudly), (2, 1));
    assert_eq!(rivals.none.fails_loudly, 3);
}

#[test]
fn the_better_need_not_be_the_active_one() {
    assert_eq!(rivals("ccc", &[("active", "pcc"), ("other", "ppc")]).choice, best("other"));
}

#[test]
fn one_that_is_better_here_and_one_that_is_better_there_are_for_a_person() {
    let rivals = rivals("ccc", &[("left", "pcc"), ("right", "cpp"), ("weak", "ccc")]);
    assert_eq!(rivals.choice, Choice::PersonDecides(vec![name("left"), name("right")]));
    assert_eq!(
        rivals.reasons[0].text,
        "`left` passes 1 case in which `right` fails; `right` passes 2 cases in which `left` fails"
    );
}

#[test]
fn failing_loudly_is_better_than_a_wrong_figure() {
    let rivals = rivals("ccc", &[("loud", "pcc"), ("silent", "pfc")]);
    assert_eq!(rivals.choice, best("loud"));
    let text = "`loud` fails loudly in 1 case of which `silent` gets a wrong figure, and is nowhere worse";
    assert_eq!(rivals.reasons[0].text, text);
    assert_eq!(rivals.members[1].score.fails_silently, 1);
}

#[test]
fn one_that_passes_more_and_silences_a_case_is_for_a_person() {
    let rivals = rivals("ccc", &[("bold", "ppf"), ("shy", "pcc")]);
    assert_eq!(rivals.choice, Choice::PersonDecides(vec![name("bold"), name("shy")]));
    // So it is with none of them on the other side.
    assert_eq!(
        super::rivals::rivals("ccc", &[("bold", "ppf"), ("wrong", "pff")]).choice,
        Choice::PersonDecides(vec![name("bold")])
    );
}

#[test]
fn none_of_them_is_better_than_doing_without() {
    assert_eq!(rivals("pcc", &[("idle", "pcc"), ("worse", "pfc")]).choice, Choice::NoneOfThem);
    assert_eq!(rivals("ppp", &[("bad", "ppc"), ("worse", "pcc")]).choice, Choice::NoneOfThem);
}

#[test]
fn two_that_are_the_same_are_equal() {
    let rivals = rivals("ccc", &[("one", "ppc"), ("two", "ppc"), ("less", "pcc")]);
    assert_eq!(rivals.choice, Choice::Equal(vec![name("one"), name("two")]));
}

#[test]
fn the_unknown_decides_nothing() {
    // `k` was killed from outside: it may pass or fail.
    assert_eq!(rivals("ccc", &[("fix", "ppk"), ("half", "pcc")]).choice, Choice::Unknown);
    assert_eq!(rivals("cck", &[("fix", "ppp"), ("half", "pcc")]).choice, best("fix"));
    // Whatever the unknown case comes to, each is better somewhere.
    let apart = rivals("ccc", &[("left", "pck"), ("right", "cpp")]);
    assert_eq!(apart.choice, Choice::PersonDecides(vec![name("left"), name("right")]));
    // What another one comes to elsewhere need not be known of one that surely fails somewhere.
    assert_eq!(rivals("ccc", &[("fix", "ppp"), ("left", "pck"), ("right", "ckp")]).choice, best("fix"));
    // The other one may be as good, and cannot be better.
    assert_eq!(rivals("ccc", &[("fix", "ppp"), ("other", "ppk")]).choice, Choice::Unbeaten(name("fix")));
    assert_eq!(rivals("ccc", &[("fix", "pcp"), ("other", "pkp")]).choice, Choice::Unknown);
    assert_eq!(rivals("pfk", &[("fix", "pfp"), ("other", "pff")]).choice, Choice::Unknown);
}

#[test]
fn a_member_that_was_not_run_leaves_it_open() {
    let mut group = group("ccc", &[("fix", "ppc"), ("half", "pcc")]);
    group.members[1].1.clear();
    let rivals = side_by_side(&group);
    assert_eq!(rivals.choice, Choice::Unknown);
    assert!(rivals.reasons.iter().all(|reason| reason.code == "rivals-open"), "{:?}", rivals.reasons);
    assert_eq!(rivals.members[1].score.unknown, 3);
}

#[test]
fn one_that_does_not_build_is_worse_than_one_that_does() {
    let mut group = group("ccc", &[("fix", "ppc"), ("broken", "ppp")]);
    let failed = State::BuildFailed { toolchain: "cc".into(), text: "no such header".into() };
    group.members[1].1.insert(name("t"), failed);
    let rivals = side_by_side(&group);
    assert_eq!(rivals.choice, best("fix"));
    assert_eq!(rivals.members[1].score.fails_loudly, 3);
    assert!(rivals.cells.iter().any(|cell| cell.case == CaseKey::build()));
}

/// Every group of two over three letters: a best one is never worse than the other in a case, and the order in
/// which they stand decides nothing.
#[test]
fn the_best_is_nowhere_worse_in_all_small_groups() {
    let words: Vec<String> = ["p", "f", "c", "k"]
        .iter()
        .flat_map(|a| ["p", "f", "c", "k"].iter().map(move |b| format!("{a}{b}")))
        .collect();
    let rank = |letter: char| match letter {
        'p' => Some(2),
        'c' => Some(1),
        'f' => Some(0),
        _ => None,
    };
    for left in &words {
        for right in &words {
            let there = rivals("ff", &[("left", left), ("right", right)]);
            let back = rivals("ff", &[("right", right), ("left", left)]);
            assert_eq!(matches!(there.choice, Choice::Best(_)), matches!(back.choice, Choice::Best(_)));
            if let Choice::Best(chosen) = &there.choice {
                assert_eq!(back.choice, Choice::Best(chosen.clone()));
                let (own, other) = if chosen.as_str() == "left" { (left, right) } else { (right, left) };
                for (own, other) in own.chars().zip(other.chars()) {
                    let is_better = rank(own).zip(rank(other)).is_some_and(|(own, other)| own >= other);
                    // What passes is as good as anything, and anything is as good as a wrong figure.
                    assert!(is_better || own == 'p' || other == 'f', "{left} {right}");
                }
            }
        }
    }
}
