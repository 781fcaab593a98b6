//! Hooks for other tools: the files are YAML, and the commands in them run.

use std::path::{Path, PathBuf};

use saphyr::{LoadableYamlNode, Yaml};

use crate::support::{Project, Upstream, command};

fn top() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn text(file: &str) -> String {
    std::fs::read_to_string(top().join(file)).unwrap()
}

/// A project with an overlay that fits now and conflicts later.
fn project() -> (Upstream, Project) {
    let mut upstream = Upstream::new();
    let pin = upstream.commit("pin", &[("a.c", "int a = 1;\n")]);
    upstream.commit("later", &[("a.c", "int a = 3;\n")]);
    let overlay =
        format!("\n[[overlay]]\nname = \"ours\"\nreason = \"two\"\nbase = \"{pin}\"\nfiles = [\"a.c\"]\n");
    let project = Project::on(&upstream, &pin, &format!("branch = \"main\"\n{overlay}"));
    project.write("overlays/up/a.c", "int a = 2;\n");
    (upstream, project)
}

struct Ran {
    code: i32,
    stdout: String,
    stderr: String,
}

/// Runs a script as a host does: in the repository, with the program on the PATH.
fn run(project: &Project, shell: &str, script: &str, variables: &[(&str, &Path)]) -> Ran {
    let bin = Path::new(env!("CARGO_BIN_EXE_overlaid")).parent().unwrap();
    let paths = std::env::var_os("PATH").unwrap_or_default();
    let paths = std::iter::once(bin.to_owned()).chain(std::env::split_paths(&paths));
    let mut command = command(shell);
    command.args(["-e", "-c", script]).current_dir(project.path());
    command
        .env("PATH", std::env::join_paths(paths).unwrap())
        .env("XDG_CACHE_HOME", project.path().join("cache"));
    command.envs(variables.iter().copied());
    let output = command.output().unwrap();
    Ran {
        code: output.status.code().unwrap(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

#[test]
fn the_hooks_of_pre_commit_run() {
    let file = text(".pre-commit-hooks.yaml");
    let hooks = Yaml::load_from_str(&file).unwrap();
    let hooks = hooks[0].as_sequence().unwrap();
    assert_eq!(hooks.len(), 2);
    let (_upstream, project) = project();
    project.run(&["apply"]).expect(0);
    for hook in hooks {
        for key in ["id", "name", "description", "language", "files"] {
            assert!(hook[key].as_str().is_some(), "{key}");
        }
        let entry = hook["entry"].as_str().unwrap();
        let ran = run(&project, "sh", entry, &[]);
        assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    }
    project.write(".overlaid/up/a.c", "int a = 9;\n");
    assert_eq!(run(&project, "sh", hooks[0]["entry"].as_str().unwrap(), &[]).code, 1);
}

#[test]
fn the_action_verifies_and_writes_the_comment() {
    let file = text("integrations/github/action.yml");
    let action = Yaml::load_from_str(&file).unwrap().remove(0);
    assert_eq!(action["runs"]["using"].as_str(), Some("composite"));
    let steps = action["runs"]["steps"].as_sequence().unwrap();
    let step = |name: &str| steps.iter().find(|step| step["name"].as_str() == Some(name)).unwrap();
    // Nothing that somebody else can write gets into a script.
    for step in steps {
        assert!(!step["run"].as_str().unwrap().contains("${{"));
    }
    let (_upstream, project) = project();
    let path = |name: &str| project.path().join(name);
    let variables = [
        ("GITHUB_ACTION_PATH", top().join("integrations/github")),
        ("RUNNER_TEMP", project.path().to_owned()),
        ("GITHUB_STEP_SUMMARY", path("summary")),
        ("GITHUB_OUTPUT", path("output")),
        ("TO", PathBuf::new()),
    ];
    let variables: Vec<(&str, &Path)> =
        variables.iter().map(|(name, value)| (*name, value.as_path())).collect();
    let ran = run(&project, "bash", step("verify")["run"].as_str().unwrap(), &variables);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(project.read("output"), "code=0\n");
    let comment = project.read("overlaid.md");
    assert!(comment.starts_with("### up: verified\n"), "{comment}");
    assert!(comment.contains("| `ours` | conflicts | 1 |"), "{comment}");
    assert_eq!(project.read("summary"), comment);
    // A check that fails is the result, after the comment.
    project.write(
        "manifests/up.toml",
        project.read("manifests/up.toml").replace("reason = \"two\"", "claim = \"comments\""),
    );
    run(&project, "bash", step("verify")["run"].as_str().unwrap(), &variables);
    assert!(project.read("output").ends_with("code=1\n"), "{}", project.read("output"));
    assert!(project.read("overlaid.md").starts_with("### up: not as it should be\n"));
    let result = run(&project, "bash", step("result")["run"].as_str().unwrap(), &[("CODE", Path::new("1"))]);
    assert_eq!(result.code, 1);
}

#[test]
fn the_job_verifies_and_notes() {
    let file = text("integrations/gitlab.yml");
    let job = Yaml::load_from_str(&file).unwrap().remove(0);
    let job = &job["overlaid"];
    let (_upstream, project) = project();
    // The host is a program that shows what it was sent.
    project.write("host/curl", "#!/bin/sh\nfor word; do echo \"$word\"; done > sent\n");
    let mut mode = std::fs::metadata(project.path().join("host/curl")).unwrap().permissions();
    std::os::unix::fs::PermissionsExt::set_mode(&mut mode, 0o755);
    std::fs::set_permissions(project.path().join("host/curl"), mode).unwrap();
    let script = job["script"][0].as_str().unwrap();
    let script = format!("PATH=$PWD/host:$PATH\n{script}");
    let source = top();
    let empty = Path::new("");
    let variables: Vec<(&str, &Path)> = vec![
        ("OVERLAID_SOURCE", &source),
        ("OVERLAID_TO", empty),
        ("OVERLAID_TOKEN", Path::new("t")),
        ("CI_MERGE_REQUEST_IID", Path::new("7")),
        ("CI_API_V4_URL", Path::new("https://example.org/api/v4")),
        ("CI_PROJECT_ID", Path::new("3")),
    ];
    let ran = run(&project, "sh", &script, &variables);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stdout.contains("| `ours` | conflicts | 1 |"), "{}", ran.stdout);
    let sent = project.read("sent");
    assert!(sent.contains("https://example.org/api/v4/projects/3/merge_requests/7/notes"), "{sent}");
    // Without a token nothing is sent.
    std::fs::remove_file(project.path().join("sent")).unwrap();
    let ran = run(&project, "sh", &script, &variables[..2]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(!project.path().join("sent").exists());
}
