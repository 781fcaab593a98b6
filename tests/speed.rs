//! Figures of speed: an overlay that costs time, one that gains some, and machines that get slower meanwhile.

use crate::planted::{Scene, Situation};
use crate::support::Run;

/// A clock that can be told how even it is: `NOISE`, and how much slower each run of whatever variant is: `DRIFT`.
const CLOCK: &str = r#"
read -r micros < "$OVERLAID_TREE/micros"
count=0
[ -f "$STATE/count" ] && read -r count < "$STATE/count"
count=$((count + 1))
echo "$count" > "$STATE/count"
echo "$micros" >> "$STATE/turns"
awk -v m="$micros" -v c="$count" -v d="$DRIFT" -v n="$NOISE" 'BEGIN {
  srand(c * 7919); rand()
  value = m * (1 + d * c) * (1 + n * (rand() + rand() - 1))
  printf "{\"case\": {\"n\": 1}, \"metric\": \"us\", \"value\": %f, \"better\": \"lower\"}\n", value
}' >> "$OVERLAID_RESULTS"
"#;

/// An overlay that makes it so much slower, on a machine that is so even.
fn timed(without: &str, with: &str, noise: &str, drift: &str) -> Situation {
    let mut scene = Scene::new(&[], &[("micros", &format!("{without}\n"))]);
    let pin = scene.commit(&[("elsewhere", "more\n")]);
    scene.file("overlays/up/micros", &format!("{with}\n"));
    scene.file("tests/clock.sh", CLOCK);
    scene.overlay("ours", "files = [\"micros\"]");
    scene.tests = "\n[profile.plain]\npython-path = [\".\"]\n\n[[test]]\nname = \"check\"\nrepeats = 3\n\
                   command = [\"sh\", \"{repository}/tests/clock.sh\"]\nsources = [\"tests/clock.sh\"]\n"
        .to_owned();
    let mut situation = scene.done(String::new(), &pin, &[]);
    situation.project.set("NOISE", noise);
    situation.project.set("DRIFT", drift);
    situation
}

fn prove(situation: &Situation, code: i32) -> (String, Run) {
    let run = situation.project.run(&["prove", "--json"]).expect(code);
    (run.json()["overlays"][0]["verdict"].as_str().unwrap().to_owned(), run)
}

/// Whose turn it was, each with the number of its runs.
fn turns(situation: &Situation) -> Vec<(String, usize)> {
    let mut turns: Vec<(String, usize)> = Vec::new();
    for line in situation.project.read("state/turns").lines() {
        match turns.last_mut() {
            Some((last, runs)) if last == line => *runs += 1,
            _ => turns.push((line.to_owned(), 1)),
        }
    }
    turns
}

#[test]
fn an_overlay_that_costs_time_is_harmful_and_says_how_much() {
    let situation = timed("100", "140", "0.02", "0");
    let (verdict, run) = prove(&situation, 1);
    assert_eq!(verdict, "harmful", "{}", run.stdout);
    let says = "check {\\\"n\\\":1} takes 1.4";
    assert!(
        run.stdout.contains(says) && run.stdout.contains(" times as long with it (medians 1"),
        "{}",
        run.stdout
    );
    let text = situation.project.run(&["prove"]).expect(1).stdout;
    assert!(text.contains(" times as long with it"), "{text}");
}

#[test]
fn an_overlay_that_gains_time_is_needed() {
    let (verdict, run) = prove(&timed("140", "100", "0.02", "0"), 0);
    assert_eq!(verdict, "needed", "{}", run.stdout);
    assert!(run.stdout.contains(" times as long without it"), "{}", run.stdout);
}

#[test]
fn the_sides_take_turns_of_the_same_length() {
    let situation = timed("100", "140", "0.02", "0");
    prove(&situation, 1);
    let mut turns = turns(&situation);
    assert_eq!(turns.iter().map(|(_, runs)| *runs).collect::<Vec<_>>(), [4, 8, 4], "{turns:?}");
    turns.dedup_by_key(|(side, _)| side.clone());
    assert_eq!(turns.len(), 3, "{turns:?}");
}

#[test]
fn as_fast_within_the_noise_is_no_difference() {
    // Other words, the same time.
    let (verdict, run) = prove(&timed("100", "100.0", "0.02", "0"), 3);
    assert_eq!(verdict, "unproven", "{}", run.stdout);
    assert!(!run.stdout.contains("times as long"), "{}", run.stdout);
}

#[test]
fn noise_that_hides_a_difference_decides_nothing() {
    let (verdict, run) = prove(&timed("100", "107", "0.6", "0"), 4);
    assert_eq!(verdict, "inconclusive");
    assert!(run.stdout.contains("the noise is"), "{}", run.stdout);
}

#[test]
fn a_machine_that_gets_slower_meanwhile_makes_no_difference() {
    let (verdict, run) = prove(&timed("100", "100.0", "0.01", "0.03"), 4);
    assert_eq!(verdict, "inconclusive", "{}", run.stdout);
    // And hides none that is as large as this.
    let (verdict, run) = prove(&timed("300", "100", "0.01", "0.03"), 0);
    assert_eq!(verdict, "needed", "{}", run.stdout);
}
