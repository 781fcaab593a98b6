//! A manifest: whatever is written, the answer is a model or messages that can be shown, and an edit of a valid
//! manifest gives a valid one.
#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use overlaid::id::CommitId;
use overlaid::manifest::{edit, parse};

const OTHER_PIN: &str = "0123456789abcdef0123456789abcdef01234567";

fuzz_target!(|text: &str| {
    let file = Path::new("manifests/m.toml");
    let (model, messages) = parse(file, text);
    for message in &messages {
        for place in message.at.iter().chain(&message.more) {
            let (line, column) = place.line_and_column();
            assert!(line >= 1 && column >= 1);
            assert!(line <= text.split('\n').count());
        }
        let plain = message.render(false, 80);
        // What came with the text must not reach a terminal as a command.
        assert!(!plain.contains('\u{1b}'), "{plain:?}");
        drop(message.render(true, 200));
        drop(message.to_json());
    }
    assert!(model.is_some() || !messages.is_empty(), "no model and no reason");
    let Some(model) = model else { return };
    let Ok(pin) = CommitId::parse(OTHER_PIN) else { return };
    let Ok(edited) = edit::set_pin(text, pin) else { return };
    let (after, messages) = parse(file, &edited);
    let Some(after) = after else { panic!("an edit broke it: {messages:?}\n{edited}") };
    assert_eq!(after.upstream.pin.value, pin);
    assert_eq!(after.overlays.len(), model.overlays.len());
    for overlay in &model.overlays {
        let Ok(less) = edit::remove_overlay(text, overlay.name.value.as_str()) else { continue };
        // What the others need may be gone; that is said, and nothing else.
        if let (Some(after), _) = parse(file, &less) {
            assert_eq!(after.overlays.len() + 1, model.overlays.len());
        }
    }
});
