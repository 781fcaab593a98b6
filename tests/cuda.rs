//! Profiles that require CUDA: what is decided with a device, with another one, and without any. The driver and the
//! compiler are programs of ours here; nothing runs on a GPU.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::planted::{Kind, Scene, Situation};
use crate::support::{Project, Run};

const H200: &str = "NVIDIA H200, 9.0, 580.95.05, GPU-11111111-2222";

/// Puts a program of ours before all others.
fn program(project: &mut Project, name: &str, script: &str) {
    let bin = project.path().join("bin");
    let file = bin.join(name);
    std::fs::create_dir_all(&bin).unwrap();
    std::fs::write(&file, format!("#!/bin/sh\n{script}\n")).unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let all = std::iter::once(bin).chain(std::env::split_paths(&path));
    project.set("PATH", std::env::join_paths(all).unwrap());
}

/// The driver lists these GPUs.
fn gpus(project: &mut Project, lines: &str) {
    program(
        project,
        "nvidia-smi",
        &format!("case $1 in --version) echo 'CUDA Version : 13.0' ;; *) echo '{lines}' ;; esac"),
    );
}

/// The situation under a profile that requires CUDA, on a machine with a compiler for it.
fn on_cuda(mut situation: Situation) -> Situation {
    let project = &mut situation.project;
    let manifest = project.read("manifests/up.toml");
    project.write("manifests/up.toml", format!("{manifest}\n[profile.gpu]\nrequires = \"cuda\"\n"));
    program(project, "nvcc", "exit 1");
    situation
}

/// An overlay `fix` that mends a figure.
fn fault() -> Situation {
    let mut scene = Scene::new(&[("hero", "wrong"), ("other", "good")], &[]);
    let pin = scene.commit(&[("elsewhere", "more\n")]);
    scene.change("fix", Kind::Patch, "hero", "wrong", "good");
    on_cuda(scene.done(String::new(), &pin, &[]))
}

/// An overlay `fix` that upstream has made needless.
fn mended() -> Situation {
    let mut scene = Scene::new(&[("hero", "wrong")], &[]);
    let pin = scene.commit(&[("mends/hero", "good\n")]);
    scene.change("fix", Kind::Patch, "hero", "wrong", "good");
    on_cuda(scene.done(String::new(), &pin, &[]))
}

fn overlay(run: &Run) -> serde_json::Value {
    run.json()["overlays"][0].clone()
}

fn codes(overlay: &serde_json::Value) -> Vec<String> {
    let reasons = overlay["reasons"].as_array().unwrap().iter();
    reasons.map(|reason| reason["code"].as_str().unwrap().to_owned()).collect()
}

fn evidence(project: &Project) -> Vec<String> {
    let folder = project.path().join("docs/upstream/evidence");
    let files = std::fs::read_dir(folder).into_iter().flatten();
    files.map(|file| std::fs::read_to_string(file.unwrap().path()).unwrap()).collect()
}

fn runs_something(run: &Run) -> bool {
    run.stderr.lines().any(|line| line.starts_with("run "))
}

#[test]
fn evidence_names_the_device_and_another_driver_measures_again() {
    let mut situation = fault();
    let project = &mut situation.project;
    gpus(project, H200);
    project.run(&["prove"]).expect(0);
    let files = evidence(project);
    assert!(!files.is_empty());
    for file in &files {
        for says in ["\"NVIDIA H200 (sm_90)\"", "\"580.95.05\"", "\"cuda\": \"13.0\""] {
            assert!(file.contains(says), "{says} is not in {file}");
        }
    }
    assert!(!runs_something(&project.run(&["prove"]).expect(0)));
    gpus(project, &H200.replace("580.95.05", "581.15.01"));
    assert!(runs_something(&project.run(&["prove"]).expect(0)));
}

#[test]
fn a_drop_needs_the_devices_that_the_overlay_names() {
    let mut situation = mended();
    let project = &mut situation.project;
    gpus(project, H200);
    let manifest = project.read("manifests/up.toml");
    let named = |device: &str| {
        manifest.replace("patch = \"fix.patch\"", &format!("patch = \"fix.patch\"\ndevices = [\"{device}\"]"))
    };
    project.write("manifests/up.toml", named("sm_90"));
    project.run(&["prove"]).expect(1);
    project.write("manifests/up.toml", named("sm_80"));
    let run = project.run(&["prove", "--json"]).expect(3);
    assert!(codes(&overlay(&run)).contains(&"other-device".to_owned()), "{}", run.stdout);
    assert!(run.stdout.contains("sm_80"), "{}", run.stdout);
}

#[test]
fn without_a_device_nothing_passes_and_the_reason_says_why() {
    let old = "case $1 in --version) exit 1 ;; *) echo 'Field \"compute_cap\" is not a valid field to query.'; exit 2 ;; esac";
    for (smi, says) in [
        ("echo 'NVIDIA-SMI has failed'; exit 9", "NVIDIA-SMI has failed"),
        (old, "the driver is too old"),
        ("echo 'No devices were found'", "finds no GPU"),
    ] {
        let mut situation = mended();
        let project = &mut situation.project;
        program(project, "nvidia-smi", smi);
        let run = project.run(&["prove", "--json"]).expect(4);
        let overlay = overlay(&run);
        assert_eq!(overlay["verdict"], "inconclusive");
        assert!(codes(&overlay).contains(&"no-device".to_owned()), "{overlay}");
        assert!(run.stdout.contains(says), "{}", run.stdout);
        // What a test reports without the device is a figure of nothing.
        assert_eq!(evidence(project), Vec::<String>::new());
        let run = project.run(&["test"]).expect(4);
        assert!(run.stdout.contains("no CUDA device"), "{}", run.stdout);
    }
}

#[test]
fn a_driver_that_is_older_than_the_toolkit_is_no_device() {
    let mut situation = fault();
    let project = &mut situation.project;
    gpus(project, &H200.replace("580.95.05", "535.183.01"));
    project.write("include/cuda_runtime_api.h", "#define CUDART_VERSION  13000\n");
    let run = project.run(&["prove", "--json"]).expect(4);
    assert!(run.stdout.contains("driver 535.183.01 is too old for programs of CUDA 13.0"), "{}", run.stdout);
}

#[test]
fn without_a_device_cases_for_the_compiler_count_and_figures_stay_unrun() {
    let mut scene = Scene::new(&[("figure", "good"), ("hero", "compiles-not"), ("other", "compiles")], &[]);
    let pin = scene.commit(&[("elsewhere", "more\n")]);
    scene.change("fix", Kind::Patch, "hero", "compiles-not", "compiles");
    let mut situation = on_cuda(scene.done(String::new(), &pin, &[]));
    let project = &mut situation.project;
    program(project, "nvidia-smi", "echo 'No devices were found'");
    let run = project.run(&["prove", "--json"]).expect(4);
    let seen = overlay(&run);
    assert!(seen["fixed"].to_string().contains("hero"), "{seen}");
    assert!(!seen["fixed"].to_string().contains("figure"), "{seen}");
    assert!(codes(&seen).contains(&"no-device".to_owned()), "{seen}");
    // It is on record, and not run again.
    assert!(!runs_something(&project.run(&["prove"]).expect(4)));
    let run = project.run(&["test", "--verbose"]);
    assert!(run.stdout.contains("unrun"), "{}", run.stdout);

    // With a device all of it counts.
    gpus(project, H200);
    let run = project.run(&["prove", "--json"]).expect(0);
    assert_eq!(overlay(&run)["verdict"], "needed");
}

#[test]
fn without_a_compiler_nothing_is_built() {
    let mut situation = fault();
    let project = &mut situation.project;
    gpus(project, H200);
    project.set("CUDACXX", Path::new("/nowhere/nvcc"));
    let run = project.run(&["prove"]).expect(4);
    assert!(run.stdout.contains("CUDACXX is `/nowhere/nvcc`"), "{}", run.stdout);
    assert!(!run.stderr.contains("build "), "{}", run.stderr);
}

#[test]
fn a_machine_without_a_device_judges_by_what_another_one_measured_and_says_so() {
    let mut situation = mended();
    let project = &mut situation.project;
    gpus(project, H200);
    project.run(&["prove"]).expect(1);

    // Another machine: no device, another variable that counts, nothing of the lab.
    std::fs::remove_dir_all(project.path().join(".overlaid")).unwrap();
    program(project, "nvidia-smi", "echo 'No devices were found'");
    project.set("SOMETHING", "else");
    let run = project.run(&["prove", "--json"]).expect(1);
    assert_eq!(overlay(&run)["verdict"], "droppable");
    assert!(
        run.stdout.contains("measured on NVIDIA H200 (sm_90), driver 580.95.05, CUDA 13.0"),
        "{}",
        run.stdout
    );
    assert!(!run.stderr.contains("build ") && !runs_something(&run), "{}", run.stderr);

    // No compiler either, and no CMake.
    project.set("CUDACXX", Path::new("/nowhere/nvcc"));
    project.run(&["prove"]).expect(1);

    // The test is another one by now: what was measured says nothing about it.
    let script = project.read("tests/check/check.sh");
    project.write("tests/check/check.sh", format!("{script}# another line\n"));
    project.run(&["prove"]).expect(4);
    project.write("tests/check/check.sh", &script);
    project.run(&["prove"]).expect(1);
    // And so is the overlay.
    let patch = project.read("overlays/up/fix.patch");
    project.write("overlays/up/fix.patch", patch.replace("+good", "+nan"));
    project.run(&["prove"]).expect(4);
}

#[test]
fn a_machine_with_a_device_measures_itself() {
    let mut situation = mended();
    let project = &mut situation.project;
    gpus(project, H200);
    project.run(&["prove"]).expect(1);
    gpus(project, "NVIDIA A100, 8.0, 580.95.05, GPU-5555");
    let run = project.run(&["prove"]).expect(1);
    assert!(runs_something(&run) && !run.stdout.contains("measured on"), "{}", run.stdout);
}

const A100: &str = "NVIDIA A100, 8.0, 580.95.05, GPU-5555";

#[test]
fn each_device_has_a_verdict_of_its_own_and_a_drop_needs_all_that_are_named() {
    let mut situation = mended();
    let project = &mut situation.project;
    let manifest = project.read("manifests/up.toml");
    let named = "patch = \"fix.patch\"\ndevices = [\"sm_90\", \"NVIDIA A100\"]";
    project.write("manifests/up.toml", manifest.replace("patch = \"fix.patch\"", named));
    let unseen =
        |project: &Project| project.run(&["verify", "--json"]).stdout.contains("device `NVIDIA A100`");

    gpus(project, H200);
    let run = project.run(&["prove", "--json"]).expect(3);
    assert!(overlay(&run).to_string().contains("a device `NVIDIA A100`"), "{}", run.stdout);
    assert!(unseen(project));
    let drop = project.run(&["drop", "fix", "--by", "Ada"]).expect(1);
    assert!(drop.stdout.contains("a device `NVIDIA A100`"), "{}", drop.stdout);

    gpus(project, A100);
    let run = project.run(&["prove"]).expect(1);
    assert!(runs_something(&run), "{}", run.stderr);
    let says = "on NVIDIA H200 (sm_90), driver 580.95.05, CUDA 13.0: droppable";
    assert!(run.stdout.contains(says), "{}", run.stdout);
    assert!(!unseen(project));

    // On the first machine again: nothing is run, and the other one's evidence counts.
    gpus(project, H200);
    let run = project.run(&["prove"]).expect(1);
    assert!(!runs_something(&run), "{}", run.stderr);
    assert!(run.stdout.contains("on NVIDIA A100 (sm_80)"), "{}", run.stdout);

    // Records that hold no more speak for nobody.
    let script = project.read("tests/check/check.sh");
    project.write("tests/check/check.sh", format!("{script}# another line\n"));
    let run = project.run(&["prove", "--json"]).expect(3);
    assert!(codes(&overlay(&run)).contains(&"other-device".to_owned()), "{}", run.stdout);
    assert!(unseen(project));
    project.write("tests/check/check.sh", &script);
    project.run(&["prove"]).expect(1);
    project.run(&["drop", "fix", "--by", "Ada"]).expect(0);
}

#[test]
fn what_another_device_needs_is_not_dropped() {
    // Upstream has mended it for one device, and not for the other.
    let mut scene = Scene::new(&[("hero", "wrong"), ("other", "good")], &[]);
    let pin = scene.commit(&[("cases/hero", &crate::planted::case_file("hero", "odd"))]);
    scene.change("fix", Kind::Files, "hero", "odd", "good");
    let mut situation = on_cuda(scene.done(String::new(), &pin, &[]));
    let project = &mut situation.project;
    let script = project.read("tests/check/check.sh");
    let odd = "odd) if [ \"$CARD\" = A100 ]; then result 0.5; else result 0.001; fi ;;\n    wrong) result";
    project.write("tests/check/check.sh", script.replace("wrong) result", odd));
    let manifest = project.read("manifests/up.toml");

    gpus(project, A100);
    project.set("CARD", "A100");
    let run = project.run(&["prove", "--json"]).expect(0);
    assert_eq!(overlay(&run)["verdict"], "needed");
    // The proof has noted the pin as the witness; the fault was seen before that, too.
    project.write("manifests/up.toml", manifest);
    gpus(project, H200);
    project.set("CARD", "H200");
    let run = project.run(&["prove", "--json"]).expect(3);
    let seen = overlay(&run);
    assert_eq!(seen["verdict"], "droppable", "{seen}");
    assert!(codes(&seen).contains(&"differs-by-device".to_owned()), "{seen}");
    assert!(
        seen.to_string().contains("on NVIDIA A100 (sm_80), driver 580.95.05, CUDA 13.0: needed"),
        "{seen}"
    );
    let drop = project.run(&["drop", "fix", "--by", "Ada"]).expect(1);
    assert!(drop.stdout.contains("on NVIDIA A100 (sm_80)"), "{}", drop.stdout);
}
