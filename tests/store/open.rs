//! Finding and fetching: paths, clones, bundles, URLs, forks; and everything that can go wrong on the way.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use overlaid::id::{CommitId, Name};
use overlaid::io::store::{
    Environment, FetchFailure, Need, Progress, Store, StoreError, StoreSpec, open, variable,
};
use overlaid::upstream::{Upstream, UpstreamError};

use super::git::{Scratch, commit, environment, git, git_with, linear, path};

/// A folder for everything, and an environment for the store.
struct Place {
    scratch: Scratch,
    more: Vec<(String, String)>,
}

impl Place {
    fn new() -> Self {
        Self { scratch: Scratch::new(), more: Vec::new() }
    }

    fn with(mut self, name: &str, value: impl AsRef<Path>) -> Self {
        self.more.push((name.to_owned(), value.as_ref().to_str().unwrap().to_owned()));
        self
    }

    fn join(&self, name: &str) -> PathBuf {
        self.scratch.join(name)
    }

    fn environment(&self) -> Environment {
        let cache = ("XDG_CACHE_HOME".to_owned(), self.join("cache").to_str().unwrap().to_owned());
        let own =
            environment().into_iter().filter(|(name, _)| !self.more.iter().any(|(more, _)| more == name));
        own.chain([cache]).chain(self.more.clone()).collect()
    }

    fn spec(&self, url: impl AsRef<Path>, need: &[CommitId]) -> StoreSpec {
        StoreSpec {
            name: Name::parse("up").unwrap(),
            url: url.as_ref().to_str().unwrap().to_owned(),
            repo_root: self.scratch.path().to_owned(),
            remotes: Vec::new(),
            need: need.iter().copied().map(Need::from).collect(),
            offline: false,
            update: false,
        }
    }

    fn open(&self, spec: &StoreSpec) -> Result<Store, StoreError> {
        open(spec, &self.environment(), &mut |_| {})
    }

    fn caches(&self) -> Vec<String> {
        let Ok(all) = fs::read_dir(self.join("cache/overlaid/upstreams")) else { return Vec::new() };
        let mut names: Vec<_> = all.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.retain(|name| !name.ends_with(".lock"));
        names.sort();
        names
    }

    /// A git in front of the real one: a shell script, in which `$real` is the real one.
    fn with_git(self, script: &str) -> Self {
        let bin = self.join("bin");
        fs::create_dir(&bin).unwrap();
        let path = std::env::var("PATH").unwrap();
        let real = std::env::split_paths(&path).map(|dir| dir.join("git")).find(|git| git.exists()).unwrap();
        let here = self.scratch.path().display();
        fs::write(bin.join("git"), format!("#!/bin/sh\nreal={}\nhere={here}\n{script}\n", real.display()))
            .unwrap();
        fs::set_permissions(bin.join("git"), fs::Permissions::from_mode(0o755)).unwrap();
        let path = format!("{}:{path}", bin.display());
        self.with("PATH", path)
    }
}

fn file_url(path: &Path) -> String {
    format!("file://{}", path.display())
}

/// All files below a folder with their content, to see that nothing was written.
fn snapshot(dir: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let files = walkdir::WalkDir::new(dir).sort_by_file_name().into_iter().map(Result::unwrap);
    files
        .filter(|entry| entry.file_type().is_file())
        .map(|entry| (entry.path().to_owned(), fs::read(entry.path()).unwrap()))
        .collect()
}

fn can_read(store: &Store, commits: &[CommitId]) {
    for &id in commits {
        let entry = store.entry(id, &path("f")).unwrap().unwrap();
        store.blob(entry.id).unwrap();
    }
}

#[test]
fn a_path_is_read_in_place() {
    let place = Place::new();
    let commits = linear(&place.join("upstream"), &["1", "2"]);
    let before = snapshot(&place.join("upstream"));
    for url in ["upstream", "./upstream/.git", place.join("upstream").to_str().unwrap()] {
        let mut spec = place.spec(url, &commits);
        spec.offline = true;
        can_read(&place.open(&spec).unwrap(), &commits);
    }
    assert_eq!(place.caches(), [""; 0]);
    assert_eq!(snapshot(&place.join("upstream")), before);
}

#[test]
fn a_url_gets_a_cache_that_is_filled_once() {
    let place = Place::new().with_git("echo \"$*\" >> $here/log\nexec $real \"$@\"");
    let upstream = place.join("upstream");
    let commits = linear(&upstream, &["1", "2"]);
    git(&upstream, &["tag", "v1", &commits[0].to_string()]);
    git(&upstream, &["branch", "-m", "trunk"]);
    let mut spec = place.spec(file_url(&upstream), &commits[..1]);
    let mut lines = Vec::new();
    let store = open(&spec, &place.environment(), &mut |progress| lines.push(progress)).unwrap();
    can_read(&store, &commits);
    assert_eq!(store.resolve("v1"), Ok(Some(commits[0])));
    assert_eq!(store.resolve("trunk"), Ok(Some(commits[1])));
    assert_eq!(store.default_branch().as_deref(), Some("trunk"));
    assert_eq!(store.path().parent().unwrap(), place.join("cache/overlaid/upstreams"));
    let names = place.caches();
    assert!(
        names.len() == 1 && names[0].starts_with("up-") && names[0].len() == "up-.git".len() + 16,
        "{names:?}"
    );
    assert!(lines.contains(&Progress::Fetching { from: file_url(&upstream) }));
    assert!(
        lines.iter().any(|line| matches!(line, Progress::Line(line) if line.contains("100%"))),
        "{lines:?}"
    );

    let runs = fs::read_to_string(place.join("log")).unwrap();
    spec.need = commits.iter().copied().map(Need::from).collect();
    place.open(&spec).unwrap();
    spec.offline = true;
    place.open(&spec).unwrap();
    assert_eq!(fs::read_to_string(place.join("log")).unwrap(), runs, "git ran again, with nothing to fetch");
    // Our git reads it as well, with nothing wrong in it.
    git(store.path(), &["fsck", "--strict"]);
    git(store.path(), &["commit-graph", "verify"]);
}

#[test]
fn a_commit_that_came_later_is_fetched_and_an_update_brings_branches() {
    let place = Place::new();
    let upstream = place.join("upstream");
    let first = linear(&upstream, &["1"]);
    let mut spec = place.spec(file_url(&upstream), &first);
    place.open(&spec).unwrap();
    git(&upstream, &["commit", "--quiet", "--allow-empty", "-m", "2"]);
    let second = commit(&git(&upstream, &["rev-parse", "HEAD"]));
    assert_eq!(place.open(&spec).unwrap().resolve("main"), Ok(Some(first[0])));
    spec.update = true;
    assert_eq!(place.open(&spec).unwrap().resolve("main"), Ok(Some(second)));
    spec.update = false;
    git(&upstream, &["commit", "--quiet", "--amend", "--allow-empty", "-m", "2 again"]);
    let third = commit(&git(&upstream, &["rev-parse", "HEAD"]));
    // A branch becomes a folder of branches, and history was rewritten.
    git(&upstream, &["branch", "x"]);
    spec.need = vec![third.into()];
    place.open(&spec).unwrap();
    git(&upstream, &["branch", "-D", "x"]);
    git(&upstream, &["branch", "x/y"]);
    git(&upstream, &["commit", "--quiet", "--allow-empty", "-m", "4"]);
    let fourth = commit(&git(&upstream, &["rev-parse", "HEAD"]));
    spec.need = vec![first[0].into(), second.into(), third.into(), fourth.into()];
    can_read(&place.open(&spec).unwrap(), &[second, fourth]);
    assert_eq!(place.caches().len(), 1);
}

#[test]
fn a_commit_that_no_branch_has_is_fetched_alone() {
    let place = Place::new();
    let upstream = place.join("upstream");
    let commits = linear(&upstream, &["1", "2", "3"]);
    git(&upstream, &["update-ref", "refs/pull/7/head", "HEAD"]);
    git(&upstream, &["reset", "--quiet", "--hard", "HEAD~2"]);
    let mut spec = place.spec(file_url(&upstream), &[commits[2]]);
    let store = place.open(&spec).unwrap();
    can_read(&store, &commits);
    assert_eq!(store.resolve("main"), Ok(Some(commits[0])));
    // It stays when the upstream forgets it.
    git(&upstream, &["update-ref", "-d", "refs/pull/7/head"]);
    spec.update = true;
    git(store.path(), &["-c", "gc.pruneExpire=now", "gc", "--quiet", "--prune=now"]);
    can_read(&place.open(&spec).unwrap(), &commits);
}

#[test]
fn a_commit_that_is_nowhere_says_where_it_was_looked_for() {
    let place = Place::new();
    let upstream = place.join("upstream");
    linear(&upstream, &["1"]);
    linear(&place.join("fork"), &["other"]);
    let absent = commit(&"ab".repeat(20));
    let mut spec = place.spec(file_url(&upstream), &[absent]);
    spec.remotes = vec![(Name::parse("fork").unwrap(), "fork".to_owned())];
    let error = place.open(&spec).err().unwrap();
    let StoreError::NotFound { commits, asked } = &error else { panic!("{error}") };
    assert_eq!(*commits, [absent]);
    assert_eq!(*asked, [file_url(&upstream), place.join("fork").display().to_string()]);
    assert!(error.to_string().starts_with(&format!("commit {absent} is not at file://")), "{error}");
    assert!(error.hint().is_some());
    // In place, there is nowhere else to ask.
    let error = place.open(&place.spec("upstream", &[absent])).err().unwrap();
    assert!(matches!(error, StoreError::NotFound { .. }), "{error}");
}

#[test]
fn the_id_of_something_else_is_no_commit() {
    let place = Place::new();
    let upstream = place.join("upstream");
    linear(&upstream, &["1"]);
    let blob = commit(&git(&upstream, &["rev-parse", "HEAD:f"]));
    for url in ["upstream".to_owned(), file_url(&upstream)] {
        let error = place.open(&place.spec(url, &[blob])).err().unwrap();
        assert!(matches!(error, StoreError::Unreadable(UpstreamError::Unreadable { .. })), "{error}");
        assert!(error.to_string().contains("it is a blob"), "{error}");
    }
}

#[test]
fn offline_fetches_nothing_and_names_the_command_that_would() {
    let place = Place::new().with_git("echo ran >> $here/log\nexec $real \"$@\"");
    let upstream = place.join("upstream");
    let commits = linear(&upstream, &["1"]);
    let mut spec = place.spec(file_url(&upstream), &commits);
    spec.offline = true;
    let error = place.open(&spec).err().unwrap();
    let StoreError::Offline { commits: absent, command, .. } = &error else { panic!("{error}") };
    assert_eq!(*absent, commits);
    assert!(!place.join("log").exists(), "git ran");
    assert_eq!(place.caches(), [""; 0]);
    // The command does what it says.
    run(&place, command);
    can_read(&place.open(&spec).unwrap(), &commits);

    git(&upstream, &["commit", "--quiet", "--allow-empty", "-m", "2"]);
    let second = commit(&git(&upstream, &["rev-parse", "HEAD"]));
    spec.need.push(second.into());
    let error = place.open(&spec).err().unwrap();
    let StoreError::Offline { commits: absent, command, .. } = &error else { panic!("{error}") };
    assert_eq!(*absent, [second]);
    assert!(error.to_string().contains("--offline"), "{error}");
    run(&place, command);
    can_read(&place.open(&spec).unwrap(), &[second]);
    assert!(!place.join("log").exists(), "git ran");
}

fn run(place: &Place, command: &str) {
    assert!(command.starts_with("git "), "{command}");
    let done = std::process::Command::new("sh")
        .args(["-c", command])
        .current_dir(place.scratch.path())
        .env_clear()
        .envs(environment())
        .output()
        .unwrap();
    assert!(done.status.success(), "{command}: {}", String::from_utf8_lossy(&done.stderr));
}

#[test]
fn a_clone_named_in_the_environment_wins_and_is_never_written_to() {
    let place = Place::new();
    let upstream = place.join("upstream");
    let first = linear(&upstream, &["1"])[0];
    let clone = place.join("clone");
    git(&upstream, &["clone", "--quiet", ".", clone.to_str().unwrap()]);
    git(&upstream, &["commit", "--quiet", "--allow-empty", "-m", "2"]);
    let second = commit(&git(&upstream, &["rev-parse", "HEAD"]));
    let place = place.with("OVERLAID_UPSTREAM_UP", &clone);
    let before = snapshot(&clone);

    // The URL is not looked at while the clone has everything.
    place.open(&place.spec("https://nowhere.invalid/x", &[first])).unwrap();
    assert_eq!(place.caches(), [""; 0]);

    let mut spec = place.spec(file_url(&upstream), &[first, second]);
    spec.offline = true;
    let error = place.open(&spec).err().unwrap();
    assert!(matches!(&error, StoreError::Offline { commits, .. } if *commits == [second]), "{error}");
    spec.offline = false;
    let store = place.open(&spec).unwrap();
    can_read(&store, &[first, second]);
    assert_eq!(store.is_ancestor(first, second), Ok(true));
    assert_eq!(store.resolve("main"), Ok(Some(first)), "names are those of the clone");
    assert_eq!(snapshot(&clone), before);
    // What the clone has was not fetched again: the cache alone has one commit.
    let objects = git(store.path(), &["count-objects", "-v"]);
    assert!(objects.contains("in-pack: 1\n"), "{objects}");
    // From now on it is there, offline as well.
    spec.offline = true;
    can_read(&place.open(&spec).unwrap(), &[first, second]);
}

#[test]
fn what_a_shallow_or_partial_clone_lacks_is_fetched_in_full() {
    for how in ["--depth=1", "--filter=blob:none"] {
        let place = Place::new();
        let upstream = place.join("upstream");
        let commits = linear(&upstream, &["1", "2", "3"]);
        git(&upstream, &["config", "uploadpack.allowFilter", "true"]);
        let clone = place.join("clone.git");
        let url = file_url(&upstream);
        git(&upstream, &["clone", "--quiet", "--bare", how, &url, clone.to_str().unwrap()]);
        git(&upstream, &["commit", "--quiet", "--allow-empty", "-m", "4"]);
        let fourth = commit(&git(&upstream, &["rev-parse", "HEAD"]));
        let place = place.with("OVERLAID_UPSTREAM_UP", &clone);
        let before = snapshot(&clone);
        let store = place.open(&place.spec(&url, &[fourth])).unwrap_or_else(|error| panic!("{how}: {error}"));
        can_read(&store, &commits);
        assert_eq!(store.history(fourth, None, &[path("f")]).unwrap().len(), 3, "{how}");
        assert_eq!(snapshot(&clone), before);
    }
}

#[test]
fn a_wrong_path_in_the_environment_is_named() {
    let place = Place::new();
    let commits = linear(&place.join("upstream"), &["1"]);
    fs::create_dir(place.join("upstream/folder")).unwrap();
    let (nothing, folder) = (place.join("nothing"), place.join("upstream/folder"));
    let spec = place.spec("upstream", &commits);
    let place = place.with("OVERLAID_UPSTREAM_UP", nothing);
    let error = place.open(&spec).err().unwrap();
    assert!(matches!(error, StoreError::NoSuchPath { variable: Some(_), .. }), "{error}");
    assert!(error.hint().unwrap().contains("OVERLAID_UPSTREAM_UP"));
    let place = place.with("OVERLAID_UPSTREAM_UP", folder);
    let error = place.open(&spec).err().unwrap();
    assert!(matches!(error, StoreError::NotARepository { .. }), "a folder inside of a repository: {error}");
    assert_eq!(variable(&Name::parse("flash-attn.v2+x").unwrap()), "OVERLAID_UPSTREAM_FLASH_ATTN_V2_X");
}

#[test]
fn a_bundle_is_unpacked_even_offline() {
    let place = Place::new();
    let upstream = place.join("upstream");
    let commits = linear(&upstream, &["1", "2"]);
    let bundle = place.join("up.bundle");
    git(&upstream, &["bundle", "create", "--quiet", bundle.to_str().unwrap(), "--all"]);
    for url in ["up.bundle".to_owned(), file_url(&bundle)] {
        let mut spec = place.spec(url, &commits);
        spec.offline = true;
        let store = place.open(&spec).unwrap();
        can_read(&store, &commits);
        assert_eq!(store.default_branch().as_deref(), Some("main"));
    }
    assert_eq!(place.caches().len(), 1);
    let part = place.join("part.bundle");
    git(&upstream, &["bundle", "create", "--quiet", part.to_str().unwrap(), "main~1..main"]);
    let error = place.open(&place.spec("part.bundle", &commits)).err().unwrap();
    assert!(matches!(error, StoreError::Fetch { failure: FetchFailure::Incomplete, .. }), "{error}");
    assert!(error.hint().unwrap().contains("--all"));
    fs::write(place.join("text"), "no bundle").unwrap();
    assert!(matches!(place.open(&place.spec("text", &commits)), Err(StoreError::Url { .. })));
    assert!(matches!(
        place.open(&place.spec("absent", &commits)),
        Err(StoreError::NoSuchPath { variable: None, .. })
    ));
}

#[test]
fn a_commit_of_a_fork_comes_from_the_fork() {
    let place = Place::new();
    let upstream = place.join("upstream");
    let commits = linear(&upstream, &["1"]);
    let fork = place.join("fork");
    git(&upstream, &["clone", "--quiet", ".", fork.to_str().unwrap()]);
    git(&fork, &["commit", "--quiet", "--allow-empty", "-m", "fork"]);
    let theirs = commit(&git(&fork, &["rev-parse", "HEAD"]));
    let name = Name::parse("fork").unwrap();
    for url in [file_url(&upstream), "upstream".to_owned()] {
        let mut spec = place.spec(url, &commits);
        spec.remotes = vec![(name.clone(), file_url(&fork))];
        spec.need.push(Need { commit: theirs, remote: Some(name.clone()) });
        let store = place.open(&spec).unwrap();
        can_read(&store, &[commits[0], theirs]);
        assert_eq!(store.resolve("main"), Ok(Some(commits[0])));
    }
    // A host that gives nothing by id gives its branches.
    let place = place
        .with("XDG_CACHE_HOME", "/nonexistent")
        .with("GIT_CONFIG_COUNT", "1")
        .with("GIT_CONFIG_KEY_0", "protocol.version")
        .with("GIT_CONFIG_VALUE_0", "0");
    let cache = place.join("other-cache");
    let place = place.with("XDG_CACHE_HOME", &cache);
    git(&fork, &["commit", "--quiet", "--allow-empty", "-m", "tip"]);
    let mut spec = place.spec(file_url(&upstream), &commits);
    spec.remotes = vec![(name.clone(), file_url(&fork))];
    spec.need.push(Need { commit: theirs, remote: Some(name) });
    let store = place.open(&spec).unwrap();
    can_read(&store, &[theirs]);
    assert!(git(store.path(), &["for-each-ref"]).contains("refs/overlaid/remotes/fork/main"));
}

#[test]
fn git_s_variables_about_repositories_change_nothing() {
    let place = Place::new();
    let upstream = place.join("upstream");
    let commits = linear(&upstream, &["1", "2"]);
    let other = place.join("other");
    linear(&other, &["other"]);
    let before = snapshot(&other);
    let inside = other.join(".git");
    let place = place
        .with("GIT_DIR", &inside)
        .with("GIT_WORK_TREE", &other)
        .with("GIT_INDEX_FILE", inside.join("index"))
        .with("GIT_OBJECT_DIRECTORY", inside.join("objects"))
        .with("GIT_ALTERNATE_OBJECT_DIRECTORIES", inside.join("objects"))
        .with("GIT_COMMON_DIR", &inside)
        .with("GIT_NAMESPACE", "other")
        .with("GIT_CEILING_DIRECTORIES", "/");
    let store = place.open(&place.spec(file_url(&upstream), &commits)).unwrap();
    can_read(&store, &commits);
    assert_eq!(store.resolve("main"), Ok(Some(commits[1])));
    can_read(&place.open(&place.spec("upstream", &commits)).unwrap(), &commits);
    assert_eq!(snapshot(&other), before);
}

#[test]
fn nothing_of_the_upstream_or_of_a_url_is_run() {
    let place = Place::new();
    let upstream = place.join("upstream");
    let commits = linear(&upstream, &["1", "2"]);
    let mark = place.join("mark");
    let script = format!("#!/bin/sh\ntouch {}\n", mark.display());
    let trap = place.join("trap");
    fs::write(&trap, &script).unwrap();
    fs::set_permissions(&trap, fs::Permissions::from_mode(0o755)).unwrap();
    let hooks = [
        "reference-transaction",
        "post-checkout",
        "post-update",
        "pre-receive",
        "pre-auto-gc",
        "fsmonitor-watchman",
    ];
    for hook in hooks {
        fs::copy(&trap, upstream.join(".git/hooks").join(hook)).unwrap();
    }
    let trap = trap.to_str().unwrap();
    for setting in [
        "core.fsmonitor",
        "uploadpack.packObjectsHook",
        "core.sshCommand",
        "core.gitProxy",
        "core.alternateRefsCommand",
        "core.pager",
        "credential.helper",
        "filter.x.smudge",
        "filter.x.clean",
        "diff.external",
    ] {
        git(&upstream, &["config", setting, trap]);
    }
    // The user's own hooks are not for our cache either.
    let config = place.join("config");
    fs::write(&config, format!("[core]\n\thooksPath = {}\n", upstream.join(".git/hooks").display())).unwrap();
    let place = place.with("GIT_CONFIG_GLOBAL", &config);
    let store = place.open(&place.spec(file_url(&upstream), &commits)).unwrap();
    can_read(&store, &commits);
    can_read(&place.open(&place.spec("upstream", &commits)).unwrap(), &commits);

    let absent = commit(&"ab".repeat(20));
    let touch = mark.display();
    for url in [
        format!("ext::sh -c touch% {touch}"),
        format!("--upload-pack=touch {touch}"),
        format!("-utouch {touch}"),
        format!("ssh://-oProxyCommand=touch {touch}/x"),
    ] {
        let error = place.open(&place.spec(&url, &[absent])).err().unwrap();
        assert!(matches!(error, StoreError::Url { .. }), "{error}");
        let mut spec = place.spec(file_url(&upstream), &[absent]);
        spec.remotes = vec![(Name::parse("fork").unwrap(), url)];
        assert!(matches!(place.open(&spec), Err(StoreError::Url { .. })));
    }
    // Nor by way of a rewritten URL.
    fs::write(&config, format!("[url \"ext::sh -c touch% {touch} \"]\n\tinsteadOf = https://rewritten\n[protocol]\n\tallow = always\n[protocol \"ext\"]\n\tallow = always\n")).unwrap();
    let error = place.open(&place.spec("https://rewritten/x", &[absent])).err().unwrap();
    assert!(matches!(error, StoreError::Fetch { .. }), "{error}");
    assert!(!mark.exists(), "something was run");
}

#[test]
fn several_at_once_fetch_once() {
    let place = Place::new()
        .with_git("case \"$*\" in *\" fetch \"*) echo x >> $here/log; sleep 0.2;; esac\nexec $real \"$@\"");
    let upstream = place.join("upstream");
    let commits = linear(&upstream, &["1", "2"]);
    let spec = place.spec(file_url(&upstream), &commits);
    let waited = std::sync::Mutex::new(0);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let mut progress = |progress| {
                    if progress == Progress::Waiting {
                        *waited.lock().unwrap() += 1;
                    }
                };
                can_read(&open(&spec, &place.environment(), &mut progress).unwrap(), &commits);
            });
        }
    });
    assert_eq!(fs::read_to_string(place.join("log")).unwrap(), "x\n");
    assert!(waited.into_inner().unwrap() >= 1);
}

/// What [`a_git_that_outlives_us_keeps_others_out`] kills: opens a store in a process of its own.
#[test]
#[ignore = "is run by another test"]
fn open_in_a_process_of_its_own() {
    let variables = std::env::vars_os();
    let environment: Environment = variables.collect();
    let [root, url, id] = ["TEST_ROOT", "TEST_URL", "TEST_COMMIT"].map(|name| std::env::var(name).unwrap());
    let spec = StoreSpec {
        name: Name::parse("up").unwrap(),
        url,
        repo_root: root.into(),
        remotes: Vec::new(),
        need: vec![commit(&id).into()],
        offline: false,
        update: false,
    };
    open(&spec, &environment, &mut |_| {}).unwrap();
}

#[test]
fn a_git_that_outlives_us_keeps_others_out() {
    // The first fetch takes its time, and says when it starts and when it ends.
    let script = "case \"$*\" in *\" fetch \"*) if mkdir $here/first 2>/dev/null; then\n\
                  sleep 1; $real \"$@\"; touch $here/ended; exit; fi;; esac\nexec $real \"$@\"";
    let place = Place::new().with_git(script);
    let upstream = place.join("upstream");
    let commits = linear(&upstream, &["1"]);
    let own = ["TEST_ROOT", "TEST_URL", "TEST_COMMIT"].into_iter();
    let values = [place.scratch.path().display().to_string(), file_url(&upstream), commits[0].to_string()];
    let cache = place.join("cache");
    let mut child = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "store::open::open_in_a_process_of_its_own"])
        .env_clear()
        .envs(environment().into_iter().chain(place.more.clone()))
        .env("XDG_CACHE_HOME", cache)
        .envs(own.zip(values))
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    while !place.join("first").exists() {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(!place.join("ended").exists(), "the test is too slow to mean anything");
    let mut waited = false;
    let spec = place.spec(file_url(&upstream), &commits);
    let mut progress = |progress| waited |= progress == Progress::Waiting;
    can_read(&open(&spec, &place.environment(), &mut progress).unwrap(), &commits);
    assert!(waited && place.join("ended").exists(), "somebody else's git was still at work");
}

#[test]
fn a_repository_of_another_user_is_read_and_git_s_refusal_is_explained() {
    let place = Place::new();
    let upstream = place.join("upstream");
    let commits = linear(&upstream, &["1"]);
    for entry in walkdir::WalkDir::new(&upstream) {
        if std::os::unix::fs::chown(entry.unwrap().path(), Some(12345), Some(12345)).is_err() {
            return; // Only root can give files away.
        }
    }
    can_read(&place.open(&place.spec("upstream", &commits)).unwrap(), &commits);
    let error = place.open(&place.spec(file_url(&upstream), &commits)).err().unwrap();
    assert!(matches!(error, StoreError::Fetch { failure: FetchFailure::NotOwned, .. }), "{error}");
    assert!(error.hint().unwrap().contains("safe.directory"));
}

/// Git is killed at the worst moments; whatever it leaves, the next run has everything.
#[test]
fn a_killed_fetch_is_repaired_by_the_next_run() {
    // Kills git, with all that it started, after a while that grows from run to run.
    let script = "if [ -e $here/kill ]; then exec setsid timeout -s KILL $(cat $here/kill) $real \"$@\"; fi\nexec $real \"$@\"";
    let place = Place::new().with_git(script);
    let upstream = place.join("upstream");
    let mut commits = linear(&upstream, &["1"]);
    let url = file_url(&upstream);
    let (mut killed, mut done) = (0, 0);
    for round in 0..14 {
        fs::write(upstream.join("f"), format!("{round}\n").repeat(20_000)).unwrap();
        git(&upstream, &["commit", "--quiet", "-a", "-m", "more"]);
        commits.push(commit(&git(&upstream, &["rev-parse", "HEAD"])));
        fs::write(place.join("kill"), format!("0.0{:02}", 2 + round * 2)).unwrap();
        match place.open(&place.spec(&url, &commits)) {
            Ok(store) => {
                can_read(&store, &commits);
                done += 1;
            }
            Err(error) => {
                assert!(matches!(error, StoreError::Fetch { .. } | StoreError::NoGit { .. }), "{error}");
                killed += 1;
            }
        }
        fs::remove_file(place.join("kill")).unwrap();
        if round % 3 == 2 {
            can_read(&place.open(&place.spec(&url, &commits)).unwrap(), &commits);
        }
    }
    let store = place.open(&place.spec(&url, &commits)).unwrap();
    can_read(&store, &commits);
    git(store.path(), &["fsck", "--strict"]);
    assert!(killed > 0, "{killed} killed, {done} done");
    assert_eq!(place.caches().len(), 1, "{:?}", place.caches());
}

#[test]
fn leftovers_of_a_killed_run_are_no_obstacle() {
    let place = Place::new();
    let upstream = place.join("upstream");
    let first = linear(&upstream, &["1"]);
    let spec = place.spec(file_url(&upstream), &first);
    let dir = place.open(&spec).unwrap().path().to_owned();
    git(&upstream, &["commit", "--quiet", "--allow-empty", "-m", "2"]);
    let second = commit(&git(&upstream, &["rev-parse", "HEAD"]));
    for left in [
        "packed-refs.lock",
        "refs/heads/main.lock",
        "HEAD.lock",
        "config.lock",
        "shallow.lock",
        "objects/pack/tmp_pack_x",
    ] {
        fs::write(dir.join(left), "").unwrap();
    }
    let new = dir.with_extension("new");
    fs::create_dir_all(new.join("objects/pack")).unwrap();
    fs::write(new.join("HEAD"), "half").unwrap();
    let spec = place.spec(file_url(&upstream), &[second]);
    can_read(&place.open(&spec).unwrap(), &[first[0], second]);
    assert!(!new.exists() && !dir.join("objects/pack/tmp_pack_x").exists());

    // A cache that is no repository any more is made anew.
    fs::remove_file(dir.join("HEAD")).unwrap();
    can_read(&place.open(&spec).unwrap(), &[first[0], second]);
}

#[test]
fn failures_are_told_apart() {
    let place = Place::new();
    let absent = commit(&"ab".repeat(20));
    let fetch = |place: &Place, url: &str| match place.open(&place.spec(url, &[absent])) {
        Err(error @ StoreError::Fetch { failure, .. }) => (failure, error.to_string()),
        other => panic!("{url}: {:?}", other.err()),
    };
    let (failure, text) = fetch(&place, &file_url(&place.join("nothing")));
    assert_eq!(failure, FetchFailure::NotFound, "{text}");
    let (failure, text) = fetch(&place, "https://user:secret@nowhere.invalid/x");
    assert_eq!(failure, FetchFailure::NoNetwork, "{text}");
    assert!(text.contains("***") && !text.contains("secret"), "{text}");
    let (failure, _) = fetch(&place, "http://127.0.0.1:9/x");
    assert_eq!(failure, FetchFailure::NoNetwork);
    assert_eq!(place.caches(), [""; 0], "nothing half is left");

    let place = Place::new().with_git("echo 'fatal: write error: No space left on device' >&2; exit 128");
    let (failure, text) = fetch(&place, "https://example.com/x");
    assert_eq!(failure, FetchFailure::DiskFull, "{text}");

    let place =
        Place::new().with_git("printf 'remote: \\033[31mred\\033[0m \\342\\200\\256\\n' >&2; kill -9 $$");
    let (failure, text) = fetch(&place, "https://example.com/x");
    assert_eq!(failure, FetchFailure::Other);
    assert!(
        text.contains("\\u{1b}[31mred") && text.contains("\\u{202e}") && !text.contains('\u{1b}'),
        "{text}"
    );

    let nowhere = place.join("empty");
    fs::create_dir(&nowhere).unwrap();
    let place = Place::new().with("PATH", nowhere);
    let error = place.open(&place.spec("https://example.com/x", &[absent])).err().unwrap();
    assert!(matches!(error, StoreError::NoGit { .. }), "{error}");
    assert!(error.hint().unwrap().contains("install git"));

    let place = Place::new().with("XDG_CACHE_HOME", "relative").with("HOME", "relative");
    let error = place.open(&place.spec("https://example.com/x", &[absent])).err().unwrap();
    assert!(matches!(error, StoreError::NoCacheFolder), "{error}");

    let file = place.join("file");
    fs::write(&file, "").unwrap();
    let place = place.with("XDG_CACHE_HOME", &file);
    let error = place.open(&place.spec("https://example.com/x", &[absent])).err().unwrap();
    assert!(matches!(error, StoreError::Io { .. }), "{error}");
}

#[test]
fn a_url_of_another_form_is_another_cache() {
    let place = Place::new();
    let upstream = place.join("upstream");
    let commits = linear(&upstream, &["1"]);
    let url = file_url(&upstream);
    place.open(&place.spec(&url, &commits)).unwrap();
    place.open(&place.spec(format!("{url}/.git"), &commits)).unwrap();
    assert_eq!(place.caches().len(), 2);
    let (ok, _, _) = git_with(&place.join("cache"), &["rev-parse", "--git-dir"], b"");
    assert!(!ok, "the cache is in no repository");
}
