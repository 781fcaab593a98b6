//! Edits by example, and edits of manifests in every style as properties.

use proptest::prelude::*;

use super::*;

const OLD: &str = "1111111111111111111111111111111111111111";
const NEW: &str = "abcdefabcdefabcdefabcdefabcdefabcdefabcd";

fn new() -> CommitId {
    CommitId::parse(NEW).unwrap()
}

const TWO: &str = "\
version = 1

[upstream]
name   = \"up\"       # ours
url    = 'up.git'
pin    = '1111111111111111111111111111111111111111'   # 2026-01-02

# The first one.
[[overlay]]
name   = \"a\"
reason = \"r\"
files  = [
    \"x.cu\",   # the kernel
]   # one file
tests  = [\"t\"]

# The second one,
# with two lines.
[[overlay]]
name = \"b\"   # b
delete = [\"y\"]
# nothing else

[[test]]
name = \"t\"
";

#[test]
fn a_new_pin_keeps_quotes_and_comment() {
    let edited = set_pin(TWO, new()).unwrap();
    assert_eq!(edited, TWO.replace(OLD, NEW));
}

#[test]
fn a_base_goes_after_the_reason_and_its_sign_below_the_others() {
    let edited = set_base(TWO, "a", new()).unwrap();
    let line = format!("reason = \"r\"\nbase   = \"{NEW}\"\nfiles ");
    assert_eq!(edited, TWO.replace("reason = \"r\"\nfiles ", &line));
}

#[test]
fn a_witness_goes_after_a_list_of_several_lines() {
    let edited = set_key(TWO, "a", "when", &Value::List(vec!["cuda".into(), "!rocm".into()])).unwrap();
    let line = "]   # one file\nwhen   = [\"cuda\", \"!rocm\"]\ntests";
    assert_eq!(edited, TWO.replace("]   # one file\ntests", line));
    let edited = set_witness(TWO, "b", new()).unwrap();
    let line = format!("delete = [\"y\"]\nwitness = \"{NEW}\"\n# nothing");
    assert_eq!(edited, TWO.replace("delete = [\"y\"]\n# nothing", &line));
}

#[test]
fn a_list_of_several_lines_is_removed_with_its_comment() {
    let edited = remove_key(TWO, "a", "files").unwrap();
    assert_eq!(edited, TWO.replace("files  = [\n    \"x.cu\",   # the kernel\n]   # one file\n", ""));
    assert_eq!(remove_key(TWO, "a", "witness").unwrap(), TWO);
}

#[test]
fn an_overlay_goes_with_its_comments_and_one_gap() {
    let without_b = remove_overlay(TWO, "b").unwrap();
    let start = TWO.find("# The second").unwrap();
    let end = TWO.find("[[test]]").unwrap();
    assert_eq!(without_b, format!("{}{}", &TWO[..start], &TWO[end..]));

    let without_a = remove_overlay(TWO, "a").unwrap();
    let start = TWO.find("# The first").unwrap();
    let end = TWO.find("# The second").unwrap();
    assert_eq!(without_a, format!("{}{}", &TWO[..start], &TWO[end..]));
}

#[test]
fn the_comment_above_the_next_table_stays_even_without_a_gap() {
    let text = "[[overlay]]\nname = \"a\"\n# about b\n[[overlay]]\nname = \"b\"\n";
    assert_eq!(remove_overlay(text, "a").unwrap(), "# about b\n[[overlay]]\nname = \"b\"\n");
    assert_eq!(remove_overlay(text, "b").unwrap(), "[[overlay]]\nname = \"a\"\n");
}

#[test]
fn a_gap_stays_where_there_was_one() {
    let text = "a = 1\n[[overlay]]\nname = \"a\"\n\n[test]\nb = 1\n\n";
    assert_eq!(remove_overlay(text, "a").unwrap(), "a = 1\n\n[test]\nb = 1\n\n");
    let text = "a = 1\n\n[[overlay]]\nname = \"a\"\n[test]\nb = 1\n";
    assert_eq!(remove_overlay(text, "a").unwrap(), "a = 1\n\n[test]\nb = 1\n");
    let text = "a = 1\n\n\n[[overlay]]\nname = \"a\"\n\n";
    assert_eq!(remove_overlay(text, "a").unwrap(), "a = 1\n");
}

#[test]
fn sub_tables_go_too_wherever_they_are() {
    let text = "\
[[overlay]]
name = \"a\"
[overlay.from]
commit = \"c\"

# why
[overlay.drop-when]
attested = \"x\"

[[overlay]]
name = \"b\"
[features]
exclusive = []
[overlay.witness]
patch = \"p\"
";
    let without_a = remove_overlay(text, "a").unwrap();
    assert_eq!(without_a, text[text.rfind("[[overlay]]").unwrap()..]);
    let without_b = remove_overlay(text, "b").unwrap();
    assert!(
        !without_b.contains("witness") && without_b.contains("[features]\nexclusive = []\n"),
        "{without_b}"
    );
    assert!(without_b.contains("name = \"a\"") && without_b.contains("# why"), "{without_b}");
}

#[test]
fn an_added_overlay_goes_after_the_last_one() {
    let keys = [
        ("reason", Value::Text("it's \"so\" \\ here".into())),
        ("from", Value::Table(vec![("commits".into(), Value::List(vec![NEW.into()]))])),
        ("active", Value::Flag(true)),
    ];
    let edited = add_overlay(TWO, &Name::parse("c").unwrap(), &keys).unwrap();
    let at = TWO.find("\n[[test]]").unwrap();
    assert!(edited.starts_with(&TWO[..at]) && edited.ends_with(&TWO[at..]), "{edited}");
    let block = &edited[at..edited.len() - (TWO.len() - at)];
    assert!(block.starts_with("\n[[overlay]]\nname = \"c\"\nreason = "), "{block}");
    let table: toml::Table = edited.parse().unwrap();
    let added = &table["overlay"].as_array().unwrap()[2];
    assert_eq!(added["reason"].as_str(), Some("it's \"so\" \\ here"));
    assert_eq!(added["from"]["commits"][0].as_str(), Some(NEW));
    assert_eq!(added["active"].as_bool(), Some(true));
}

#[test]
fn what_cannot_be_edited_is_an_error_that_says_so() {
    let inline = "overlay = [{ name = \"a\", delete = [\"x\"] }]\n";
    assert!(matches!(remove_overlay(inline, "a"), Err(EditError::Form(_))));
    assert!(matches!(set_base(inline, "a", new()), Err(EditError::Form(_))));
    assert!(matches!(add_overlay(inline, &Name::parse("b").unwrap(), &[]), Err(EditError::Form(_))));
    let sub = "[[overlay]]\nname = \"a\"\n[overlay.witness]\npatch = \"p\"\n";
    assert!(matches!(set_witness(sub, "a", new()), Err(EditError::Form(_))));
    assert!(matches!(remove_key(sub, "a", "witness"), Err(EditError::Form(_))));
    let dotted = "[[overlay]]\nname = \"a\"\nwitness.patch = \"p\"\n";
    assert!(matches!(set_witness(dotted, "a", new()), Err(EditError::Form(_))));
    assert_eq!(set_base(TWO, "z", new()), Err(EditError::NoOverlay("z".into())));
    assert_eq!(set_pin("version = 1\n", new()), Err(EditError::NoKey("upstream")));
    assert_eq!(add_overlay(TWO, &Name::parse("a").unwrap(), &[]), Err(EditError::Exists("a".into())));
    assert!(matches!(set_pin("[upstream\n", new()), Err(EditError::Syntax(_))));
}

#[test]
fn an_inline_overlay_can_have_its_values_replaced() {
    let inline = format!("overlay = [{{ name = \"a\", base = \"{OLD}\", delete = [\"x\"] }}] # all\n");
    assert_eq!(set_base(&inline, "a", new()).unwrap(), inline.replace(OLD, NEW));
}

#[test]
fn bases_of_several_overlays_are_those_set_one_after_the_other() {
    let overlay = |name: &str| format!("[[overlay]] # {OLD}\nname = '{name}'\nbase = '{OLD}' # old\n\n");
    let text: String = ["a", "b", "c"].map(overlay).concat();
    let both = ["c", "a"].into_iter().collect();
    let expected = set_base(&set_base(&text, "c", new()).unwrap(), "a", new()).unwrap();
    assert_eq!(set_bases(&text, &both, new()).unwrap(), expected);
    assert_eq!(expected.matches(NEW).count(), 2);
    assert_eq!(set_bases(&text, &BTreeSet::new(), new()).unwrap(), text);
    let missing = ["a", "z"].into_iter().collect();
    assert_eq!(set_bases(&text, &missing, new()), Err(EditError::NoOverlay("z".into())));
}

#[test]
fn pins_in_other_files_are_replaced_at_every_match_and_nowhere_else() {
    let regex = crate::manifest::pattern::regex(r"^\s*GIT_TAG\s+([0-9a-f]{40})$").unwrap();
    let text = format!("\u{e9}GIT_TAG {OLD}\r\n  GIT_TAG   {OLD}\r\nOTHER {OLD}\r\nGIT_TAG\t{OLD}\n");
    let mut bytes = text.clone().into_bytes();
    bytes.extend(b"\xff\xfe latin\xe9\n");
    let edited = replace_pins(&bytes, &regex, new());
    let expected = text.replace(&format!("  GIT_TAG   {OLD}"), &format!("  GIT_TAG   {NEW}"));
    let expected = expected.replace(&format!("GIT_TAG\t{OLD}"), &format!("GIT_TAG\t{NEW}"));
    assert_eq!(&edited[..expected.len()], expected.as_bytes());
    assert_eq!(&edited[expected.len()..], b"\xff\xfe latin\xe9\n");
    assert_eq!(find_pins(&bytes, &regex).len(), 2);
}

/// An overlay as somebody may write it.
#[derive(Debug, Clone)]
struct Written {
    base: bool,
    witness: u8,
    above: Vec<&'static str>,
    inside: &'static str,
    after: &'static str,
    order: u8,
}

fn written() -> impl Strategy<Value = Written> {
    let above = prop::collection::vec(
        prop::sample::select(vec!["# above", "", "#", "\t# tabbed", "# [[overlay]]"]),
        0..4,
    );
    let inside = prop::sample::select(vec!["", "# inside\n", "\n", "# base = \"x\"\n\n"]);
    let after = prop::sample::select(vec!["", "# after\n", "\n", "\n\n", "# after\n\n", "\n# stray\n\n"]);
    (any::<bool>(), 0..5u8, above, inside, after, 0..4u8).prop_map(
        |(base, witness, above, inside, after, order)| Written { base, witness, above, inside, after, order },
    )
}

/// The manifest in one of many styles; overlays are called o0, o1, ...
fn text_of(overlays: &[Written], style: u8) -> String {
    let mut text =
        format!("version = 1\n\n[upstream]\nname = \"up\"\nurl = \"u\"\npin = \"{OLD}\" # pin\n\n");
    if style & 1 != 0 {
        text = text.replace('"', "'");
    }
    for (index, overlay) in overlays.iter().enumerate() {
        for line in &overlay.above {
            text += &format!("{line}\n");
        }
        let gap = if style & 2 != 0 { "   " } else { " " };
        let indent = if style & 4 != 0 { "  " } else { "" };
        let mut keys = vec![
            format!("{indent}name{gap}= \"o{index}\" # [[overlay]]\n"),
            format!("{indent}files{gap}= [\n  # first\n  \"f{index}\", \"g\"\n]\n"),
            format!("{indent}reason{gap}= \"\"\"two\n[[overlay]]\n# lines\"\"\" # end\n"),
        ];
        if overlay.base {
            keys.push(format!("{indent}base{gap}= '{OLD}'# tight\n"));
        }
        match overlay.witness {
            1 => keys.push(format!("{indent}witness{gap}= \"{OLD}\"\n")),
            2 => keys.push(format!("{indent}witness={{patch=\"p\"}}\n")),
            _ => {}
        }
        let length = keys.len();
        keys.rotate_left(usize::from(overlay.order) % length);
        text += "[[overlay]] # head\n";
        text += &keys.join(overlay.inside);
        if overlay.witness == 3 {
            text += "[overlay.witness]\npatch = 'p'\n";
        }
        text += overlay.after;
    }
    if style & 8 != 0 {
        text += "[[test]]\nname = \"t\"\n";
    }
    if style & 16 != 0 {
        text = text.trim_end().to_owned();
    }
    if style & 32 != 0 {
        text = text.replace('\n', "\r\n");
    }
    if style & 64 != 0 {
        text.insert(0, '\u{feff}');
    }
    text
}

fn meaning(text: &str) -> toml::Table {
    text.parse().unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn overlay_of(table: &mut toml::Table, index: usize) -> &mut toml::Table {
    table["overlay"].as_array_mut().unwrap()[index].as_table_mut().unwrap()
}

/// Every line that is in `less` is in `more`, in this order.
fn is_subsequence(less: &str, more: &str) -> bool {
    let mut lines = more.lines();
    less.lines().all(|line| lines.any(|other| other == line))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn one_value_changes_and_no_other_byte(overlays in prop::collection::vec(written(), 1..5), style in any::<u8>(), at in any::<prop::sample::Index>()) {
        let text = text_of(&overlays, style);
        let index = at.index(overlays.len());
        let name = format!("o{index}");

        let edited = set_pin(&text, new()).unwrap();
        prop_assert_eq!(&edited, &text.replacen(OLD, NEW, 1));

        let edited = set_base(&text, &name, new()).unwrap();
        let mut expected = meaning(&text);
        overlay_of(&mut expected, index).insert("base".into(), NEW.into());
        prop_assert_eq!(meaning(&edited), expected);
        if overlays[index].base {
            prop_assert_eq!(edited.len(), text.len());
            let changed: Vec<_> = (0..text.len()).filter(|&i| edited.as_bytes()[i] != text.as_bytes()[i]).collect();
            prop_assert!(changed[changed.len() - 1] - changed[0] < 40);
        } else {
            prop_assert!(is_subsequence(&text, &edited));
            prop_assert_eq!(edited.lines().count(), text.lines().count() + 1);
            prop_assert_eq!(edited.matches("\r\n").count(), if style & 32 != 0 { edited.matches('\n').count() } else { 0 });
            prop_assert_eq!(edited.ends_with('\n'), text.ends_with('\n'));
        }
    }

    #[test]
    fn a_witness_is_set_or_refused(overlays in prop::collection::vec(written(), 1..4), style in any::<u8>()) {
        let text = text_of(&overlays, style);
        match set_witness(&text, "o0", new()) {
            Err(error) => {
                prop_assert_eq!(overlays[0].witness, 3);
                prop_assert!(matches!(error, EditError::Form(_)));
            }
            Ok(edited) => {
                let mut expected = meaning(&text);
                overlay_of(&mut expected, 0).insert("witness".into(), NEW.into());
                prop_assert_eq!(meaning(&edited), expected);
                let removed = remove_key(&edited, "o0", "witness").unwrap();
                let mut expected = meaning(&text);
                overlay_of(&mut expected, 0).remove("witness");
                prop_assert_eq!(meaning(&removed), expected);
                prop_assert!(is_subsequence(&removed, &edited));
                if !matches!(overlays[0].witness, 1 | 2) && text.ends_with('\n') {
                    prop_assert_eq!(removed, text);
                }
            }
        }
    }

    #[test]
    fn a_removed_overlay_takes_nothing_of_others(overlays in prop::collection::vec(written(), 1..5), style in any::<u8>(), at in any::<prop::sample::Index>()) {
        let text = text_of(&overlays, style);
        let index = at.index(overlays.len());
        let edited = remove_overlay(&text, &format!("o{index}")).unwrap();
        let mut expected = meaning(&text);
        let list = expected["overlay"].as_array_mut().unwrap();
        list.remove(index);
        if list.is_empty() {
            expected.remove("overlay");
        }
        prop_assert_eq!(meaning(&edited), expected);
        prop_assert!(is_subsequence(&edited, &text), "{}", edited);
        for (other, overlay) in overlays.iter().enumerate().filter(|(other, _)| *other != index) {
            let count = |text: &str, what: &str| text.matches(what).count();
            prop_assert_eq!(count(&edited, &format!("\"o{other}\" # [[overlay]]")), 1);
            // Comments above a table stay with it, if no blank line is between them.
            if let Some("# above" | "# [[overlay]]") = overlay.above.last().copied() {
                let header = format!("{}\n[[overlay]] # head", overlay.above.last().unwrap());
                prop_assert!(edited.replace('\r', "").contains(&header));
            }
        }
        prop_assert_eq!(edited.contains("stray"), text.contains("stray"));
    }

    #[test]
    fn what_is_added_and_removed_again_leaves_no_trace(overlays in prop::collection::vec(written(), 0..4), style in any::<u8>()) {
        let text = text_of(&overlays, style & !16);
        let name = Name::parse("added").unwrap();
        let added = add_overlay(&text, &name, &[("delete", Value::List(vec!["x".into()]))]).unwrap();
        let mut expected = meaning(&text);
        let block: toml::Table = "name = \"added\"\ndelete = [\"x\"]\n".parse().unwrap();
        let list = expected.entry("overlay").or_insert_with(|| toml::Value::Array(Vec::new()));
        list.as_array_mut().unwrap().push(block.into());
        prop_assert_eq!(meaning(&added), expected);
        prop_assert!(is_subsequence(&text, &added));
        let removed = remove_overlay(&added, "added").unwrap();
        let squeezed = |text: &str| text.lines().filter(|line| !line.trim().is_empty()).collect::<Vec<_>>().join("\n");
        prop_assert_eq!(squeezed(&removed), squeezed(&text));
        prop_assert_eq!(meaning(&removed), meaning(&text));
    }

    #[test]
    fn no_text_makes_an_edit_panic(text in "[\\[\\]a-c\"'#={}.,\n\r \u{e9}]{0,60}|\\[\\[overlay\\]\\]\nname=\"a\"\n[\\[\\]a-c\"'#={}.,\n\r ]{0,40}") {
        let _ = set_pin(&text, new());
        let _ = set_base(&text, "a", new());
        let _ = remove_key(&text, "a", "b");
        let _ = remove_overlay(&text, "a");
        let _ = add_overlay(&text, &Name::parse("b").unwrap(), &[]);
    }
}
