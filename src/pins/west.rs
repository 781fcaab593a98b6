//! west's manifest, `west.yml`: projects at a revision, with the defaults and remotes that they use.

use saphyr::{LoadableYamlNode, Yaml};

use super::Pin;

/// The projects that have a revision.
#[must_use]
pub fn pins(text: &str) -> Vec<Pin> {
    let documents = Yaml::load_from_str(text).unwrap_or_default();
    let Some(manifest) = documents.first().and_then(|top| top.as_mapping_get("manifest")) else {
        return Vec::new();
    };
    let text_of = |entry: &Yaml<'_>, key: &str| entry.as_mapping_get(key).and_then(|value| scalar(value));
    let defaults = manifest.as_mapping_get("defaults");
    let default = |key: &str| defaults.and_then(|defaults| text_of(defaults, key));
    let list = |key: &str| manifest.as_mapping_get(key).and_then(|list| list.as_sequence());
    let base_of = |remote: &str| {
        let remotes = list("remotes")?;
        let remote = remotes.iter().find(|entry| text_of(entry, "name").as_deref() == Some(remote))?;
        text_of(remote, "url-base")
    };
    let projects = list("projects").map_or(&[][..], |projects| projects);
    let pin = |project: &Yaml<'_>| {
        let name = text_of(project, "name")?;
        let revision = text_of(project, "revision").or_else(|| default("revision"))?;
        let url = match text_of(project, "url") {
            Some(url) => url,
            None => {
                let remote = text_of(project, "remote").or_else(|| default("remote"))?;
                let path = text_of(project, "repo-path").unwrap_or_else(|| name.clone());
                format!("{}/{path}", base_of(&remote)?.trim_end_matches('/'))
            }
        };
        let line = text.lines().position(|line| line.contains(&revision)).map_or(1, |at| at + 1);
        Some(Pin { by: "west", name: Some(name), url, revision, line })
    };
    projects.iter().filter_map(pin).collect()
}

/// A text as it is written: a revision of digits only is not a number.
pub(super) fn scalar(value: &Yaml<'_>) -> Option<String> {
    match value.as_str() {
        Some(text) => Some(text.to_owned()),
        None => value.as_integer().map(|number| number.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn projects_take_what_they_leave_out_from_the_defaults() {
        let text = "manifest:\n  defaults:\n    remote: up\n  remotes:\n    - name: up\n      url-base: https://example.org/up\n  \
                    projects:\n    - name: zephyr\n      revision: c0ffee\n      import: true\n    - name: hal\n      \
                    repo-path: hal.git\n      revision: v1\n    - name: none\n      url: u\n";
        let found: Vec<_> = pins(text).into_iter().map(|pin| (pin.url, pin.revision, pin.line)).collect();
        assert_eq!(
            found,
            [
                ("https://example.org/up/zephyr".to_owned(), "c0ffee".to_owned(), 9),
                ("https://example.org/up/hal.git".to_owned(), "v1".to_owned(), 13)
            ]
        );
    }
}
