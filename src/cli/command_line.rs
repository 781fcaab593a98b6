//! Commands of this program as hints show them: with the options of this run, so that they can be run as they are.

use std::path::Path;

use crate::escape::for_shell;

use super::Context;

impl Context {
    /// `overlaid` with the options that chose repository, manifest, profile and features, then the subcommand, then
    /// `--tree` with the folder, if one is named.
    #[must_use]
    pub fn command(&self, subcommand: &str, tree: Option<&Path>) -> String {
        let mut words = vec!["overlaid".to_owned()];
        if self.root != Path::new(".") {
            words.extend(["-C".to_owned(), for_shell(&self.root.display().to_string())]);
        }
        let features: Vec<&str> = self.features.iter().map(crate::id::Name::as_str).collect();
        let features = (!features.is_empty()).then(|| features.join(","));
        let options = [("-m", &self.manifest), ("--profile", &self.profile), ("--features", &features)];
        for (option, value) in options {
            words.extend(value.iter().flat_map(|value| [option.to_owned(), for_shell(value)]));
        }
        words.push(subcommand.to_owned());
        words.extend(
            tree.into_iter().flat_map(|dir| ["--tree".to_owned(), for_shell(&dir.display().to_string())]),
        );
        words.join(" ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_has_the_options_of_the_run() {
        let context = Context {
            root: ".".into(),
            manifest: Some("manifests/up.toml".to_owned()),
            profile: None,
            features: vec![crate::id::Name::parse("cuda").unwrap()],
            offline: true,
        };
        assert_eq!(
            context.command("apply", Some(Path::new("it's here"))),
            "overlaid -m manifests/up.toml --features cuda apply --tree 'it'\\''s here'"
        );
        let context = Context { root: "/srv/ours".into(), manifest: None, features: Vec::new(), ..context };
        assert_eq!(context.command("lock", None), "overlaid -C /srv/ours lock");
    }
}
