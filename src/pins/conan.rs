//! Conan's `conandata.yml`: the archive of each version. The first version is the newest, by Conan's custom.

use saphyr::{LoadableYamlNode, Yaml};

use super::{Pin, archive};

/// The pin of the first version whose archive a host makes of a commit.
#[must_use]
pub fn pins(text: &str) -> Vec<Pin> {
    let documents = Yaml::load_from_str(text).unwrap_or_default();
    let sources =
        documents.first().and_then(|top| top.as_mapping_get("sources")).and_then(|list| list.as_mapping());
    let first = sources.into_iter().flatten().find_map(|(_, source)| {
        let url = source.as_mapping_get("url")?;
        let urls = match url.as_sequence() {
            Some(urls) => urls.iter().filter_map(|url| url.as_str()).collect(),
            None => vec![url.as_str()?],
        };
        let (written, (url, revision)) = urls.iter().find_map(|url| Some((*url, archive::parse(url)?)))?;
        let line = text.lines().position(|line| line.contains(written)).map_or(1, |at| at + 1);
        Some(Pin { by: "Conan", name: None, url, revision, line })
    });
    first.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_version_is_the_pin() {
        let text = "sources:\n  \"2.0\":\n    url: \"https://github.com/a/up/archive/v2.0.tar.gz\"\n    sha256: \"0\"\n  \
                    \"1.0\":\n    url: \"https://github.com/a/up/archive/v1.0.tar.gz\"\n";
        let pins = pins(text);
        assert_eq!(pins.len(), 1);
        assert_eq!(
            (pins[0].url.as_str(), pins[0].revision.as_str(), pins[0].line),
            ("https://github.com/a/up.git", "v2.0", 3)
        );
    }
}
