use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use super::*;

/// A folder with a `nvidia-smi` of ours, and an environment that finds it.
struct Machine {
    top: PathBuf,
    env: Environment,
}

impl Machine {
    fn new(name: &str) -> Self {
        let top = std::env::temp_dir().join(format!("overlaid-device-{}-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&top);
        std::fs::create_dir_all(top.join("bin")).unwrap();
        let mut env = Environment::empty();
        env.set("PATH", top.join("bin"));
        Self { top, env }
    }

    /// `nvidia-smi` is this shell script.
    fn smi(self, script: &str) -> Self {
        let file = self.top.join("bin/nvidia-smi");
        std::fs::write(&file, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
        self
    }

    /// `nvidia-smi` lists these.
    fn gpus(self, lines: &str) -> Self {
        let version =
            "NVIDIA-SMI version  : 580.95.05\nDRIVER version      : 580.95.05\nCUDA Version        : 13.0";
        self.smi(&format!("case $1 in --version) echo '{version}' ;; *) echo '{lines}' ;; esac"))
    }

    fn set(mut self, name: &str, value: &str) -> Self {
        self.env.set(name, value);
        self
    }

    fn find(&self) -> Result<Device, String> {
        let found = find_with(&self.env, &self.top.join("scratch"), &self.top.join("module"));
        found.map_err(|missing| missing.what)
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.top);
    }
}

const H200: &str = "NVIDIA H200, 9.0, 580.95.05, GPU-11111111-2222";
const A100: &str = "NVIDIA A100-SXM4-80GB, 8.0, 580.95.05, GPU-33333333-4444";

#[test]
fn a_device_is_what_the_driver_says() {
    let device = Machine::new("one").gpus(H200).find().unwrap();
    assert_eq!(device.to_string(), "NVIDIA H200 (sm_90)");
    assert_eq!((device.driver.as_str(), device.cuda.as_deref()), ("580.95.05", Some("13.0")));
}

#[test]
fn without_a_driver_there_is_no_device() {
    let why = Machine::new("none").find().unwrap_err();
    assert!(why.contains("no NVIDIA driver is loaded"), "{why}");
    for (name, says) in [("empty", ""), ("found", "No devices were found")] {
        let why = Machine::new(name).gpus(says).find().unwrap_err();
        assert!(why.contains("finds no GPU"), "{why}");
    }
}

#[test]
fn an_error_of_the_driver_is_no_device_and_is_told() {
    let failing =
        "echo 'NVIDIA-SMI has failed because it could not communicate with the NVIDIA driver.'; exit 9";
    let why = Machine::new("error").smi(failing).find().unwrap_err();
    assert!(why.contains("exit code 9") && why.contains("could not communicate"), "{why}");
    let why = Machine::new("garbage").smi("echo 'Segmentation fault'").find().unwrap_err();
    assert!(why.contains("cannot be read: Segmentation fault"), "{why}");
}

#[test]
fn a_driver_that_does_not_know_the_question_is_too_old() {
    let old = "case $1 in --version) exit 1 ;; *) echo 'Field \"compute_cap\" is not a valid field to query.'; exit 2 ;; esac";
    let why = Machine::new("old").smi(old).find().unwrap_err();
    assert!(why.contains("the driver is too old"), "{why}");
}

#[test]
fn a_driver_without_a_cuda_version_is_a_driver() {
    let silent = format!("case $1 in --version) exit 1 ;; *) echo '{H200}' ;; esac");
    assert_eq!(Machine::new("silent").smi(&silent).find().unwrap().cuda, None);
    let not_known = "Tesla K80, [N/A], 470.82.01, GPU-1234";
    assert_eq!(Machine::new("k80").gpus(not_known).find().unwrap().capability, None);
}

#[test]
fn several_gpus_of_one_kind_are_one_device() {
    let machine = Machine::new("twins").gpus(&format!("{H200}\n{}", H200.replace("1111", "5555")));
    assert_eq!(machine.find().unwrap().capability.as_deref(), Some("sm_90"));
    assert!(machine.set("CUDA_VISIBLE_DEVICES", "1").find().is_ok());
}

#[test]
fn of_several_kinds_the_one_is_taken_that_is_named_for_certain() {
    let both = format!("{H200}\n{A100}");
    let why = Machine::new("kinds").gpus(&both).find().unwrap_err();
    assert!(why.contains("NVIDIA H200 (sm_90), NVIDIA A100-SXM4-80GB (sm_80)"), "{why}");
    // A number says nothing while CUDA sorts by speed.
    assert!(Machine::new("number").gpus(&both).set("CUDA_VISIBLE_DEVICES", "1").find().is_err());
    let by_bus = Machine::new("bus").gpus(&both).set("CUDA_DEVICE_ORDER", "PCI_BUS_ID");
    assert_eq!(by_bus.find().unwrap().name, "NVIDIA H200");
    assert_eq!(by_bus.set("CUDA_VISIBLE_DEVICES", "1,0").find().unwrap().name, "NVIDIA A100-SXM4-80GB");
    let by_uuid = Machine::new("uuid").gpus(&both).set("CUDA_VISIBLE_DEVICES", "GPU-3333");
    assert_eq!(by_uuid.find().unwrap().capability.as_deref(), Some("sm_80"));
}

#[test]
fn devices_that_are_hidden_are_none() {
    for hidden in ["", "-1", "7", "GPU-9", "GPU-", "MIG-1111", "none"] {
        let why = Machine::new("hidden").gpus(H200).set("CUDA_VISIBLE_DEVICES", hidden).find().unwrap_err();
        assert!(why.contains("names none of the GPUs"), "{hidden}: {why}");
    }
}

#[test]
fn where_only_the_kernel_module_tells_the_capability_is_not_known() {
    let machine = Machine::new("module");
    let gpu = machine.top.join("module/gpus/0000:01:00.0");
    std::fs::create_dir_all(&gpu).unwrap();
    let version = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.95.05  Tue Sep 23 10:11:16 UTC 2025\n";
    std::fs::write(machine.top.join("module/version"), version).unwrap();
    std::fs::write(gpu.join("information"), "Model: \t\t NVIDIA H200\nIRQ: 1\n").unwrap();
    let device = machine.find().unwrap();
    assert_eq!((device.to_string().as_str(), device.driver.as_str()), ("NVIDIA H200", "580.95.05"));
    assert!(machine.set("CUDA_VISIBLE_DEVICES", "0").find().is_err());
}

#[test]
fn a_toolkit_wants_a_driver_of_its_time() {
    assert!(is_new_enough("580.95.05", "13.0.88") && is_new_enough("525.60.13", "12.9"));
    assert!(!is_new_enough("575.57.08", "13.0") && !is_new_enough("470.82.01", "12.0"));
    // What nobody knows yet is not refused.
    assert!(is_new_enough("580.95.05", "14.0"));
}
