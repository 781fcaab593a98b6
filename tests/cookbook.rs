//! docs/cookbook.md: every command in it is run, in a folder that has what the recipe starts from.

use std::path::Path;

use crate::support::{Project, Upstream, git, write};

const COOKBOOK: &str = include_str!("../docs/cookbook.md");
const V1: &str = "int width = 1;\nint height = 1;\n\nint area() {\n  return width * height;\n}\n\nint depth = 1;\n\n\
                  int volume() {\n  return area() * depth;\n}\n";

/// An upstream with the tag v1.0, and a clone with the branch `ours`.
struct World {
    _upstream: Upstream,
    pin: String,
    clone: tempfile::TempDir,
    /// Where the upstream has its name.
    hub: tempfile::TempDir,
}

impl World {
    fn new() -> Self {
        let mut upstream = Upstream::new();
        let pin = upstream.commit("add", &[("src/a.c", V1), ("src/b.c", "b\n")]);
        upstream.git(&["tag", "v1.0"]);
        let clone = tempfile::tempdir().expect("a folder");
        let dir = clone.path();
        git(dir, &["clone", "-q", upstream.path().to_str().unwrap(), "."]);
        git(dir, &["checkout", "-q", "-b", "ours"]);
        let who = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"];
        for (file, text, subject) in [("src/a.c", ours(), "wider"), ("src/b.c", "B\n".to_owned(), "shout")] {
            write(&dir.join(file), text);
            git(dir, &[&who[..], &["commit", "-qam", subject]].concat());
        }
        let hub = tempfile::tempdir().expect("a folder");
        std::os::unix::fs::symlink(upstream.path(), hub.path().join("up")).unwrap();
        Self { _upstream: upstream, pin, clone, hub }
    }

    fn url(&self) -> String {
        self.hub.path().join("up").display().to_string()
    }

    /// The commits of the branch as mails in a folder; their names.
    fn mails(&self, folder: &Path) -> Vec<String> {
        git(self.clone.path(), &["format-patch", "-q", "-o", folder.to_str().unwrap(), "v1.0..ours"]);
        let mut names: Vec<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| name.ends_with(".patch"))
            .collect();
        names.sort();
        names
    }
}

fn ours() -> String {
    V1.replace("width = 1", "width = 2")
}

/// Makes what a recipe starts from.
fn prepare(recipe: &str, world: &World, project: &Project) {
    let (url, pin) = (world.url(), &world.pin);
    let mails = |folder: &str| world.mails(&project.path().join(folder));
    match recipe {
        "Files that CMake copies over fetched sources" => {
            let text = format!("FetchContent_Declare(up\n  GIT_REPOSITORY {url}\n  GIT_TAG {pin})\n");
            project.write("CMakeLists.txt", text);
            project.write("patches/src/a.c", ours());
            project.write("patches/README.md", "what these are\n");
            project.write("patches/src/a.c.orig", V1);
        }
        "A quilt series, as Debian has it" => {
            let names = mails("debian/patches");
            project.write("debian/patches/series", names.join("\n"));
        }
        "Mails" => {
            mails("mails");
            project.write("mails/README", "what these are\n");
        }
        "The branch of a fork" => {}
        "A checkout with edits" => {
            git(world.clone.path(), &["checkout", "-q", "v1.0"]);
            write(&world.clone.path().join("src/new.c"), "new\n");
            write(&world.clone.path().join("src/a.c"), ours());
        }
        "Patches of west" => {
            let names = mails("zephyr/patches/up");
            let entries: String =
                names.iter().map(|name| format!("  - path: up/{name}\n    module: modules/up\n")).collect();
            let other = "  - path: hal/x.patch\n    module: hal\n";
            project.write("zephyr/patches.yml", format!("patches:\n{entries}{other}"));
            let text =
                format!("manifest:\n  projects:\n    - name: up\n      url: {url}\n      revision: {pin}\n");
            project.write("west.yml", text);
        }
        "Patches of Electron" => {
            let names = mails("patches/up");
            project.write("patches/up/.patches", names.join("\n"));
        }
        "Patches in Bazel files" => {
            let list: String =
                mails("third_party").iter().map(|name| format!("\"//third_party:{name}\",")).collect();
            let text = format!(
                "git_override(\n    module_name = \"up\",\n    remote = \"{url}\",\n    commit = \"{pin}\",\n    \
                 patch_strip = 1,\n    patches = [{list}],\n)\n"
            );
            project.write("MODULE.bazel", text);
        }
        "Patches of CPM" => {
            let list =
                mails("patches").iter().map(|name| format!("patches/{name}")).collect::<Vec<_>>().join(" ");
            let text = format!("CPMAddPackage(NAME up GIT_REPOSITORY {url} GIT_TAG {pin} PATCHES {list})\n");
            project.write("CMakeLists.txt", text);
        }
        "A submodule, or Cargo, Conan and vcpkg" => {
            let dir = project.path();
            git(dir, &["init", "-q"]);
            git(dir, &["-c", "protocol.file.allow=always", "submodule", "add", "-q", &url, "third_party/up"]);
            let who = ["-c", "user.name=A", "-c", "user.email=a@example.org"];
            git(dir, &[&who[..], &["commit", "-qm", "submodule"]].concat());
        }
        other => panic!("the cookbook has a recipe that nothing prepares: {other}"),
    }
}

/// The recipes: their headings, and the lines of their `sh` blocks.
fn recipes() -> Vec<(&'static str, Vec<&'static str>)> {
    let mut recipes: Vec<(&str, Vec<&str>)> = Vec::new();
    let mut is_shell = false;
    for line in COOKBOOK.lines() {
        match (line.strip_prefix("## "), line) {
            (Some(heading), _) => recipes.push((heading, Vec::new())),
            (None, "```sh") => is_shell = true,
            (None, "```") => is_shell = false,
            (None, command) if is_shell => recipes.last_mut().expect("a heading").1.push(command),
            _ => {}
        }
    }
    recipes
}

#[test]
fn every_command_of_the_cookbook_does_what_it_says() {
    let recipes = recipes();
    assert!(recipes.len() >= 10);
    for (recipe, commands) in recipes {
        let (world, project) = (World::new(), Project::new());
        prepare(recipe, &world, &project);
        assert!(commands.len() <= 3 && commands.last() == Some(&"overlaid verify"), "{recipe}: {commands:?}");
        for command in commands {
            let command = command.replace("https://example.org/up.git", &world.url());
            let command = command.replace("~/src/up", world.clone.path().to_str().unwrap());
            let run = project.shell(&command);
            assert_eq!(run.code, 0, "{recipe}: {command}\n{}\n{}", run.stdout, run.stderr);
        }
        if !recipe.starts_with("A submodule") {
            // What was imported is in the tree.
            assert_eq!(project.shell("overlaid apply").code, 0, "{recipe}");
            let name = std::fs::read_dir(project.path().join(".overlaid")).unwrap();
            let tree = name.map(|entry| entry.unwrap().path()).find(|path| path.join("src/a.c").is_file());
            let tree = tree.expect("a tree");
            assert_eq!(std::fs::read_to_string(tree.join("src/a.c")).unwrap(), ours(), "{recipe}");
        }
    }
}
