//! A cache of which files are gone or cut is made anew, since it can be deleted at any time.

use std::path::PathBuf;

use crate::support::{Project, Upstream, command};

fn project() -> (Upstream, Project, PathBuf) {
    let mut upstream = Upstream::new();
    let base = upstream.commit("start", &[("k.c", "int a;\n")]);
    let project = Project::on(&upstream, &base, "");
    let manifest = project.read("manifests/up.toml");
    project.write("manifests/up.toml", manifest.replace("url = \"", "url = \"file://"));
    project.run(&["status"]).expect(0);
    let all = std::fs::read_dir(project.path().join("cache/overlaid/upstreams")).unwrap();
    let mut found = all.map(|entry| entry.unwrap().path());
    let cache = found.find(|path| path.extension().is_some_and(|extension| extension == "git")).unwrap();
    assert!(command("chmod").args(["-R", "u+w"]).arg(&cache).status().unwrap().success());
    (upstream, project, cache)
}

fn packs(cache: &std::path::Path, extension: &str) -> Vec<PathBuf> {
    let all = std::fs::read_dir(cache.join("objects/pack")).unwrap().map(|entry| entry.unwrap().path());
    let found: Vec<_> = all.filter(|path| path.extension().is_some_and(|found| found == extension)).collect();
    assert!(!found.is_empty());
    found
}

#[test]
fn a_cache_without_its_index_is_made_anew() {
    let (_upstream, project, cache) = project();
    packs(&cache, "idx").iter().for_each(|file| std::fs::remove_file(file).unwrap());
    project.run(&["status", "--no-cache"]).expect(0);
    project.run(&["--offline", "status", "--no-cache"]).expect(0);
}

#[test]
fn a_cache_with_a_cut_pack_is_made_anew() {
    let (_upstream, project, cache) = project();
    for pack in packs(&cache, "pack") {
        std::fs::File::options().write(true).open(pack).unwrap().set_len(20).unwrap();
    }
    project.run(&["status", "--no-cache"]).expect(0);
    project.run(&["--offline", "status", "--no-cache"]).expect(0);
}

#[test]
fn a_file_in_place_of_a_cache_makes_way() {
    let (_upstream, project, cache) = project();
    std::fs::remove_dir_all(&cache).unwrap();
    std::fs::write(&cache, "no repository\n").unwrap();
    project.run(&["status", "--no-cache"]).expect(0);
}
