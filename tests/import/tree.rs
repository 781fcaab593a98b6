//! A folder of whole files, as CMake copies them over fetched sources.

use crate::support::{Project, Upstream};

/// Long enough that a change of a line is a small one.
const OLD: &str = "int width = 1;\nint height = 1;\nint depth = 1;\n\nint area() {\n  return width * height;\n}\n\n\
                   int volume() {\n  return area() * depth;\n}\n";
const ROPE: &str =
    "int rope = 1;\n\nint twice() {\n  return 2 * rope;\n}\n\nint thrice() {\n  return 3 * rope;\n}\n";

fn upstream() -> (Upstream, [String; 2]) {
    let mut upstream = Upstream::new();
    let new = OLD.replace("depth = 1", "depth = 2");
    let first =
        upstream.commit("add", &[("up/cuda/norm.cu", OLD), ("up/cuda/rope.cu", ROPE), ("README", "r\n")]);
    let second = upstream.commit("norm: deeper", &[("up/cuda/norm.cu", &new)]);
    (upstream, [first, second])
}

#[test]
fn from_a_folder_of_copied_files_to_a_green_verify_in_three_commands() {
    let (upstream, commits) = upstream();
    let project = Project::new();
    let url = upstream.path().display();
    project.write(
        "CMakeLists.txt",
        format!(
            "include(FetchContent)\nset(UP_COMMIT {pin})\nFetchContent_Declare(up\n  GIT_REPOSITORY {url}\n  GIT_TAG ${{UP_COMMIT}})\n\
             FetchContent_MakeAvailable(up)\nfile(GLOB_RECURSE CUDA RELATIVE ${{CMAKE_SOURCE_DIR}}/patches ${{CMAKE_SOURCE_DIR}}/patches/*.cu)\n\
             foreach(file ${{CUDA}})\n  configure_file(patches/${{file}} ${{up_SOURCE_DIR}}/${{file}} COPYONLY)\nendforeach()\n",
            pin = commits[1]
        ),
    );
    project.write(".github/workflows/release.yml", format!("env:\n  UP_COMMIT: {}\n", commits[1]));
    let ours = OLD.replace("depth = 1", "depth = 2").replace("height = 1", "height = 3");
    project.write("patches/up/cuda/norm.cu", format!("// Synced to upstream {}\n{ours}", &commits[1][..10]));
    project.write("patches/up/cuda/rope.cu", ROPE.replace("rope = 1", "rope = 2"));

    project.run(&["init"]).expect(0);
    let run = project.run(&["import", "patches"]).expect(0);
    assert!(run.stdout.contains("norm") && run.stdout.contains("fresh"), "{}", run.stdout);
    project.run(&["verify"]).expect(0);

    let text = project.read(&format!("manifests/{}.toml", name(&project)));
    assert!(text.contains("file  = \"CMakeLists.txt\"") && text.contains("release.yml"), "{text}");
    assert!(text.contains(&format!("base = \"{}\"", commits[1])), "{text}");
}

/// The name of the only manifest.
fn name(project: &Project) -> String {
    let mut names: Vec<_> = std::fs::read_dir(project.path().join("manifests")).unwrap().collect();
    assert_eq!(names.len(), 1);
    names.remove(0).unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned()
}

#[test]
fn a_file_that_was_made_from_an_older_version_gets_that_as_its_base() {
    let (upstream, commits) = upstream();
    let project = Project::on(&upstream, &commits[1], "");
    project.write("ours/up/cuda/norm.cu", OLD.replace("return area() * depth", "return depth * area()"));
    let run = project.run(&["import", "ours"]).expect(0);
    assert!(run.stdout.contains("stale-clean"), "{}", run.stdout);
    assert!(project.read("manifests/up.toml").contains(&format!("base = \"{}\"", commits[0])));
}

#[test]
fn files_without_folders_go_where_their_names_are() {
    let (upstream, commits) = upstream();
    let project = Project::on(&upstream, &commits[1], "");
    let ours = ROPE.replace("rope = 1", "rope = 2");
    project.write("ours/rope.cu", &ours);
    project.write("ours/README.ours", "not for the upstream\n");
    let run = project.run(&["import", "tree", "ours", "--exclude", "README*", "--group", "all"]).expect(0);
    assert!(run.stdout.contains("rope.cu is for up/cuda/rope.cu"), "{}", run.stdout);
    assert_eq!(project.read("overlays/up/up/cuda/rope.cu"), ours);
    let text = project.read("manifests/up.toml");
    assert!(text.contains("name = \"all\"") && text.contains("files = [\"up/cuda/rope.cu\"]"), "{text}");
}

#[test]
fn a_file_that_could_be_for_several_paths_is_refused() {
    let mut upstream = Upstream::new();
    let pin = upstream.commit("add", &[("a/x.c", "a\n"), ("b/x.c", "b\n")]);
    let project = Project::on(&upstream, &pin, "");
    project.write("ours/x.c", "c\n");
    let run = project.run(&["import", "ours"]).expect(2);
    assert!(run.stderr.contains("a/x.c, b/x.c"), "{}", run.stderr);
}

#[test]
fn a_new_file_is_one_and_the_table_says_so() {
    let (upstream, commits) = upstream();
    let project = Project::on(&upstream, &commits[1], "");
    project.write("ours/up/cuda/extra.cu", "int extra;\n");
    let run = project.run(&["import", "ours", "--when", "cuda"]).expect(0);
    assert!(run.stdout.contains("a new file"), "{}", run.stdout);
    project.run(&["verify"]).expect(0);
    assert!(project.read("manifests/up.toml").contains("when = [\"cuda\"]"));
}
