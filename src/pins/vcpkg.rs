//! vcpkg: `REPO` and `REF` of a port, and the baselines of registries.

use serde_json::Value;

use super::Pin;
use super::cmake::calls;

/// The pins of a `portfile.cmake`.
#[must_use]
pub fn of_portfile(text: &str) -> Vec<Pin> {
    let calls = calls(text.as_bytes()).unwrap_or_default();
    let pins = calls.iter().filter_map(|call| {
        let host = match call.name.as_str() {
            "vcpkg_from_github" => "https://github.com/",
            "vcpkg_from_gitlab" => "https://gitlab.com/",
            "vcpkg_from_bitbucket" => "https://bitbucket.org/",
            "vcpkg_from_git" => "",
            _ => return None,
        };
        let url = match host {
            "" => call.value("URL")?.to_owned(),
            host => format!("{host}{}.git", call.value("REPO")?),
        };
        let revision = call.value("REF")?.to_owned();
        let line =
            call.arguments.iter().find(|(_, text)| *text == revision).map_or(call.line, |(line, _)| *line);
        Some(Pin { by: "vcpkg", name: None, url, revision, line })
    });
    pins.filter(|pin| !pin.url.contains("${") && !pin.revision.contains("${")).collect()
}

/// The baselines of `vcpkg.json` and `vcpkg-configuration.json`: commits of registries.
#[must_use]
pub fn of_json(text: &str) -> Vec<Pin> {
    let Ok(top) = serde_json::from_str::<Value>(text) else { return Vec::new() };
    let configuration = top.get("vcpkg-configuration").unwrap_or(&top);
    let pin = |url: &str, revision: &str| Pin {
        by: "vcpkg",
        name: None,
        url: url.to_owned(),
        revision: revision.to_owned(),
        line: text.lines().position(|line| line.contains(revision)).map_or(1, |at| at + 1),
    };
    let mut pins = Vec::new();
    pins.extend(
        top.get("builtin-baseline")
            .and_then(Value::as_str)
            .map(|id| pin("https://github.com/microsoft/vcpkg.git", id)),
    );
    let more = configuration.get("registries").and_then(Value::as_array);
    for registry in configuration.get("default-registry").into_iter().chain(more.into_iter().flatten()) {
        let text_of = |key: &str| registry.get(key).and_then(Value::as_str);
        let url = match text_of("kind") {
            Some("builtin") => Some("https://github.com/microsoft/vcpkg.git"),
            _ => text_of("repository"),
        };
        pins.extend(url.zip(text_of("baseline")).map(|(url, baseline)| pin(url, baseline)));
    }
    pins
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_and_a_baseline_are_pins() {
        let port = "vcpkg_from_github(\n  OUT_SOURCE_PATH S\n  REPO a/up\n  REF v1.5\n  SHA512 0\n)\n\
                    vcpkg_from_github(REPO a/x REF \"v${VERSION}\")\n";
        let found = of_portfile(port);
        assert_eq!(found.len(), 1);
        assert_eq!(
            (found[0].url.as_str(), found[0].revision.as_str(), found[0].line),
            ("https://github.com/a/up.git", "v1.5", 4)
        );
        let json = "{ \"name\": \"x\",\n \"vcpkg-configuration\": { \"registries\": [\n {\"kind\": \"git\", \"repository\": \"u\",\n \"baseline\": \"c0\"}]}}";
        assert_eq!(
            of_json(json).iter().map(|pin| (pin.url.as_str(), pin.line)).collect::<Vec<_>>(),
            [("u", 4)]
        );
    }
}
