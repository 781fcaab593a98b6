//! Texts that grow without end.

use std::time::{Duration, Instant};

use overlaid::manifest::LARGEST;

use super::{HEAD, read};

fn numbered(count: usize, line: impl Fn(usize) -> String) -> String {
    (0..count).map(line).collect()
}

/// An overlay with a list of needs.
fn overlay(n: usize, needs: &str) -> String {
    format!("[[overlay]]\nname = \"o{n}\"\ndelete = [\"x\"]\nneeds = [{needs}]\n")
}

fn hostile(size: usize) -> Vec<(&'static str, String)> {
    let fill = |unit: &str| unit.repeat(size / unit.len());
    let overlays = size / 70;
    let everybody = numbered(size.isqrt() / 8, |n| format!("\"o{n}\","));
    vec![
        ("an error a line", fill("=\n")),
        ("an error a byte", fill("=")),
        ("an error in every other line", fill("=\nkey = 1\n")),
        ("open brackets", fill("[")),
        ("open lists", format!("a = {}", fill("["))),
        ("open tables", format!("a = {}", fill("{a="))),
        ("a deep key", format!("{}a = 1", fill("a."))),
        ("a deep header", format!("[{}a]", fill("a."))),
        ("deep tables", numbered(size / 200, |n| format!("[{}a{n}]\n", "a.".repeat(n % 70)))),
        ("empty overlays", fill("[[overlay]]\n")),
        ("unknown keys", numbered(size / 20, |n| format!("k{n} = 1\n"))),
        ("one key again and again", fill("a = 1\n")),
        ("one long line", format!("version = \"{}\"", fill("x"))),
        ("a long name", format!("{HEAD}[[overlay]]\nname = \"{}\"\n", fill("x"))),
        ("mistakes on one long line", format!("{HEAD}[features]\nexclusive = [{}]", fill("[\"a b\"],"))),
        (
            "a long chain that ends nowhere",
            HEAD.to_owned() + &numbered(overlays, |n| overlay(n, &format!("\"o{}\"", n + 1))),
        ),
        (
            "a long circle",
            HEAD.to_owned() + &numbered(overlays, |n| overlay(n, &format!("\"o{}\"", (n + 1) % overlays))),
        ),
        (
            "everybody needs everybody",
            HEAD.to_owned() + &numbered(size.isqrt() / 8, |n| overlay(n, &everybody)),
        ),
        (
            "everybody is a rival",
            HEAD.to_owned()
                + &numbered(overlays, |n| {
                    format!("[[overlay]]\nname = \"o{n}\"\ndelete = [\"x\"]\nrivals = \"r\"\n")
                }),
        ),
    ]
}

/// With `HOSTILE=full` they are as large as a manifest can be, which takes minutes without optimisation.
#[test]
fn hostile_manifests_end_with_an_error_soon() {
    let is_full = std::env::var_os("HOSTILE").is_some_and(|size| size == "full");
    let size = if is_full { LARGEST - 1000 } else { LARGEST / 64 };
    for (title, text) in hostile(size) {
        assert!(text.len() <= LARGEST, "{title}: {}", text.len());
        let start = Instant::now();
        let (manifest, messages) = read(&text);
        assert!(manifest.is_none(), "{title}");
        assert!((1..=101).contains(&messages.len()), "{title}: {} messages", messages.len());
        for message in &messages {
            assert!(message.render(false, 110).len() < 20_000, "{title}");
            assert!(message.to_json().is_object());
        }
        let took = start.elapsed();
        assert!(took < Duration::from_secs(30), "{title}: {took:?}");
    }
}

#[test]
fn a_manifest_of_50_megabytes_is_not_read() {
    let start = Instant::now();
    let (manifest, messages) = read(&"# x\n".repeat(50 * 1024 * 1024 / 4));
    assert!(manifest.is_none());
    insta::assert_snapshot!(messages[0].render(false, 110), @"
    error[too-large]: `manifests/up.toml` has 52428800 bytes; a manifest has at most 4194304
     |
     = hint: is this the right file?
    ");
    assert!(start.elapsed() < Duration::from_secs(5));
}
