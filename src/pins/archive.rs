//! Archives that hosts make of a repository: from the URL to the repository and the revision.

/// The repository and the revision of an archive's URL; `None`: it is not one that a host makes of a commit.
#[must_use]
pub fn parse(url: &str) -> Option<(String, String)> {
    let rest = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"))?;
    let parts: Vec<&str> = rest.split('/').collect();
    let (repository, revision) = match parts.as_slice() {
        ["github.com", owner, name, "archive", "refs", "tags" | "heads", revision @ ..]
        | ["github.com", owner, name, "archive", revision @ ..] => {
            (format!("github.com/{owner}/{name}"), without_ending(&revision.join("/"))?)
        }
        ["github.com", owner, name, "releases", "download", tag, _] => {
            (format!("github.com/{owner}/{name}"), (*tag).to_owned())
        }
        ["codeload.github.com", owner, name, "tar.gz" | "zip", revision @ ..] => {
            let revision = revision.join("/");
            let revision = revision.strip_prefix("refs/tags/").unwrap_or(&revision).to_owned();
            (format!("github.com/{owner}/{name}"), revision)
        }
        [host, path @ .., "-", "archive", revision, _] => {
            (format!("{host}/{}", path.join("/")), (*revision).to_owned())
        }
        _ => return None,
    };
    (!revision.is_empty()).then(|| (format!("https://{repository}.git"), revision))
}

fn without_ending(name: &str) -> Option<String> {
    let endings = [".tar.gz", ".tar.xz", ".tar.bz2", ".tgz", ".zip"];
    endings.iter().find_map(|ending| name.strip_suffix(ending)).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_archives_of_hosts_are_read() {
        let cases = [
            ("https://github.com/a/b/archive/refs/tags/v1.0.tar.gz", "https://github.com/a/b.git", "v1.0"),
            ("https://github.com/a/b/archive/0123abc.zip", "https://github.com/a/b.git", "0123abc"),
            ("https://github.com/a/b/releases/download/v2/b-2.tar.gz", "https://github.com/a/b.git", "v2"),
            ("https://gitlab.com/g/s/b/-/archive/v3/b-v3.tar.gz", "https://gitlab.com/g/s/b.git", "v3"),
        ];
        for (url, repository, revision) in cases {
            assert_eq!(parse(url), Some((repository.to_owned(), revision.to_owned())), "{url}");
        }
        assert_eq!(parse("https://example.org/b-1.0.tar.gz"), None);
    }
}
