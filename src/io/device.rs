//! The device on which kernels run, as the driver tells of it.
//!
//! Decides which GPU a CUDA program would use here, or why it would find none. Links nothing of CUDA: it asks
//! `nvidia-smi`, and where that is missing reads what the kernel module lists. Never takes a guess: several kinds of
//! GPUs, and no word on which one is meant, are no device.

use std::path::Path;
use std::time::Duration;

use super::process::{self, Environment, How, Program};
use super::toolchain::Missing;

/// How long the driver may take to answer. Where nothing keeps it loaded, it is loaded for the question.
const PATIENCE: Duration = Duration::from_secs(60);

/// A device on which kernels run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Device {
    /// Its name, as the driver says.
    pub name: String,
    /// Its compute capability, as compilers name it: `sm_90`. `None`: the driver does not say.
    pub capability: Option<String>,
    /// The driver's version.
    pub driver: String,
    /// The CUDA version that the driver is made for. `None`: it does not say.
    pub cuda: Option<String>,
}

impl std::fmt::Display for Device {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.capability {
            Some(capability) => write!(f, "{} ({capability})", self.name),
            None => f.write_str(&self.name),
        }
    }
}

/// A row of what the driver lists.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Listed {
    device: Device,
    uuid: String,
}

/// The device that a CUDA program uses here. `scratch`: a folder that may be written.
///
/// # Errors
/// Why there is none, or why it cannot be told.
pub fn find(env: &Environment, scratch: &Path) -> Result<Device, Missing> {
    find_with(env, scratch, Path::new("/proc/driver/nvidia"))
}

fn find_with(env: &Environment, scratch: &Path, module: &Path) -> Result<Device, Missing> {
    let visible = env.get("CUDA_VISIBLE_DEVICES").map(|value| value.to_string_lossy().into_owned());
    if env.find(Path::new("nvidia-smi")).is_none() {
        return match read_module(module) {
            Some(device) if visible.is_none() => Ok(device),
            Some(_) => Err(none_because(
                "nvidia-smi is not on PATH, so it cannot be told which one CUDA_VISIBLE_DEVICES means",
            )),
            None => Err(Missing {
                what: "no CUDA device: no NVIDIA driver is loaded here".to_owned(),
                hint: "run this on a machine with a GPU; evidence that it writes counts here, too".to_owned(),
            }),
        };
    }
    let query = ["--query-gpu=name,compute_cap,driver_version,uuid", "--format=csv,noheader"];
    let text = ask(env, scratch, &query).map_err(|why| none_because(&why))?;
    let listed = parse_list(&text).ok_or_else(|| {
        let line = text.lines().next().unwrap_or("nothing");
        none_because(&format!("nvidia-smi says something that cannot be read: {line}"))
    })?;
    let in_bus_order = env.get("CUDA_DEVICE_ORDER").is_some_and(|order| order == "PCI_BUS_ID");
    let mut device = choose(&listed, visible.as_deref(), in_bus_order).map_err(|why| none_because(&why))?;
    // Drivers before 530 do not know this question; that costs a line in the evidence and nothing else.
    device.cuda = ask(env, scratch, &["--version"]).ok().and_then(|text| parse_cuda_version(&text));
    Ok(device)
}

fn none_because(why: &str) -> Missing {
    Missing {
        what: format!("no CUDA device: {why}"),
        hint: "`nvidia-smi` shows what the driver knows; evidence from another machine counts here, too"
            .to_owned(),
    }
}

/// What `nvidia-smi` answers; the error is a fragment that says why it does not.
fn ask(env: &Environment, scratch: &Path, args: &[&str]) -> Result<String, String> {
    let file = scratch.join(format!("nvidia-smi-{}", std::process::id()));
    let program = Program {
        program: "nvidia-smi".into(),
        args: args.iter().map(Into::into).collect(),
        dir: scratch.to_owned(),
        env: env.clone(),
        stdout: file.clone(),
        stderr: file.clone(),
        timeout: Some(PATIENCE),
        cap: 1 << 20,
    };
    let finished = std::fs::create_dir_all(scratch)
        .map_err(|error| format!("{}: {error}", scratch.display()))
        .and_then(|()| process::run(&program).map_err(|error| error.to_string()));
    let text = std::fs::read(&file).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    let _ = std::fs::remove_file(&file);
    let text = text.unwrap_or_default();
    let first = text.lines().map(str::trim).find(|line| !line.is_empty());
    match finished?.how {
        How::Exited(0) => Ok(text),
        _ if text.contains("\"compute_cap\" is not a valid field") => {
            Err("the driver is too old: nvidia-smi cannot tell the compute capability".to_owned())
        }
        how => Err(format!("nvidia-smi failed ({how}): {}", first.unwrap_or("it says nothing"))),
    }
}

/// The GPUs of `nvidia-smi --query-gpu=name,compute_cap,driver_version,uuid --format=csv,noheader`, in its order.
/// `None`: a line is none of these.
fn parse_list(text: &str) -> Option<Vec<Listed>> {
    let lines =
        text.lines().map(str::trim).filter(|line| !line.is_empty() && *line != "No devices were found");
    lines
        .map(|line| {
            // From the right: names come from the maker.
            let mut parts = line.rsplitn(4, ',').map(str::trim);
            let (uuid, driver, capability, name) =
                (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
            let is_version = |text: &str| {
                text.contains('.') && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
            };
            let capability = match capability {
                version if is_version(version) => Some(format!("sm_{}", version.replace('.', ""))),
                not_known if not_known.starts_with('[') => None,
                _ => return None,
            };
            let is_gpu = is_version(driver) && !name.is_empty() && uuid.starts_with("GPU-");
            is_gpu.then(|| Listed {
                device: Device { name: name.to_owned(), capability, driver: driver.to_owned(), cuda: None },
                uuid: uuid.to_owned(),
            })
        })
        .collect()
}

/// The first GPU that a CUDA program sees. CUDA has an order of its own, the fastest first, unless it is told to take
/// the driver's: so a number names a GPU only where all are of one kind, or that order is asked for.
fn choose(listed: &[Listed], visible: Option<&str>, in_bus_order: bool) -> Result<Device, String> {
    let Some(first) = listed.first() else {
        return Err("the driver finds no GPU".to_owned());
    };
    let is_one_kind = listed.iter().all(|other| other.device == first.device);
    let unclear = || {
        let names: Vec<String> = listed.iter().map(|gpu| gpu.device.to_string()).collect();
        format!(
            "there are several kinds of GPUs ({}), and it is not said which one is meant; name it by its UUID in \
             CUDA_VISIBLE_DEVICES, or set CUDA_DEVICE_ORDER=PCI_BUS_ID",
            names.join(", ")
        )
    };
    let Some(visible) = visible else {
        return if is_one_kind || in_bus_order { Ok(first.device.clone()) } else { Err(unclear()) };
    };
    // CUDA takes the list up to the first name that is none.
    let wanted = visible.split(',').next().unwrap_or_default().trim();
    let by_number = wanted.parse::<usize>().ok();
    let by_uuid = |gpu: &&Listed| wanted.len() > "GPU-".len() && gpu.uuid.starts_with(wanted);
    match by_number {
        Some(number) if number < listed.len() => {
            if is_one_kind || in_bus_order {
                Ok(listed[number].device.clone())
            } else {
                Err(unclear())
            }
        }
        _ => match listed.iter().filter(by_uuid).collect::<Vec<_>>().as_slice() {
            [gpu] => Ok(gpu.device.clone()),
            _ => Err(format!("CUDA_VISIBLE_DEVICES is `{visible}`, and that names none of the GPUs here")),
        },
    }
}

/// The CUDA version in what `nvidia-smi --version` says.
fn parse_cuda_version(text: &str) -> Option<String> {
    let line = text.lines().find_map(|line| line.trim().strip_prefix("CUDA Version"))?;
    let version = line.trim_start_matches([' ', ':']).trim();
    let is_version = !version.is_empty() && version.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    is_version.then(|| version.to_owned())
}

/// The device that the kernel module lists, if all are of one kind. It does not tell the compute capability.
fn read_module(module: &Path) -> Option<Device> {
    let version = std::fs::read_to_string(module.join("version")).ok()?;
    let driver = version
        .lines()
        .next()?
        .split_whitespace()
        .find(|word| word.contains('.') && word.bytes().all(|b| b.is_ascii_digit() || b == b'.'))?;
    let gpus = std::fs::read_dir(module.join("gpus")).ok()?.filter_map(Result::ok);
    let mut names = gpus.filter_map(|gpu| {
        let text = std::fs::read_to_string(gpu.path().join("information")).ok()?;
        Some(text.lines().find_map(|line| line.strip_prefix("Model:"))?.trim().to_owned())
    });
    let name = names.next()?;
    let is_one_kind = names.all(|other| other == name);
    is_one_kind.then(|| Device { name, capability: None, driver: driver.to_owned(), cuda: None })
}

/// Whether a driver is new enough for programs of a CUDA toolkit, both as versions; `true` for toolkits that came
/// later than these rules. Within a major version a toolkit runs on all drivers of it.
/// (CUDA Compatibility, "Minor Version Compatibility".)
#[must_use]
pub fn is_new_enough(driver: &str, toolkit: &str) -> bool {
    /// The oldest driver for a major version of the toolkit.
    const OLDEST: [(u32, u32); 3] = [(11, 450), (12, 525), (13, 580)];
    let major = |version: &str| version.split('.').next().and_then(|part| part.parse::<u32>().ok());
    let (Some(driver), Some(toolkit)) = (major(driver), major(toolkit)) else { return true };
    OLDEST.iter().all(|(cuda, oldest)| toolkit != *cuda || driver >= *oldest)
}

/// The oldest driver for a toolkit, in words.
#[must_use]
pub fn too_old(driver: &str, toolkit: &str) -> Missing {
    Missing {
        what: format!("no CUDA device: driver {driver} is too old for programs of CUDA {toolkit}"),
        hint: "install a newer driver, or build with an older CUDA toolkit: name its nvcc in CUDACXX"
            .to_owned(),
    }
}

#[cfg(test)]
mod tests;
