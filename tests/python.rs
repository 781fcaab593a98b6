//! Upstreams in Python: nothing is built, and what is imported must be the variant's.

use crate::support::{Project, Upstream};

/// Root mean square norm of rows. With NumPy where it is there.
const NORM: &str = "\
try:
    import numpy
except ImportError:
    numpy = None

LANES = 32


def rms_norm(x, y, width):
    for row in range(0, len(x), width):
        part = x[row : row + width]
        if numpy is not None:
            square = float(numpy.square(numpy.asarray(part, dtype=numpy.float64)).sum())
        else:
            square = sum(value * value for value in part)
        scale = (square / COUNT) ** -0.5
        for column in range(width):
            y[row + column] = part[column] * scale
";

fn norm(count: &str) -> String {
    NORM.replace("COUNT", count)
}

/// Wrong for rows whose width is no multiple of the lanes.
const FAULTY: &str = "max(LANES, width // LANES * LANES)";

const TEST: &str = "\
import kernel_test as kt
import rownorm.norm as norm

FROM_TREE
report = kt.Report()
for case in report.sweep(width=[32, 40, 64, 72], rows=[1, 3]):
    random = kt.Random(report.seed, case)
    width, size = case['width'], case['width'] * case['rows']
    x = [random.uniform(-1, 1) for _ in range(size)]
    y = kt.poisoned(size)
    want = []
    for row in range(0, size, width):
        mean = sum(value * value for value in x[row : row + width]) / width
        want += [value * mean**-0.5 for value in x[row : row + width]]
    report.judge('rel_err', 1e-9, y, lambda: norm.rms_norm(x, y, width), lambda: kt.row_error(y, want, width))
report.exit()
";

fn project(test: &str) -> (Upstream, Project) {
    let mut upstream = Upstream::new();
    let pin =
        upstream.commit("base", &[("src/rownorm/__init__.py", ""), ("src/rownorm/norm.py", &norm(FAULTY))]);
    let tables = format!(
        "\n[profile.py]\npython-path = [\"src\"]\n\n[[overlay]]\nname = \"fix\"\nreason = \"the count of a row\"\n\
         base = \"{pin}\"\nfiles = [\"src/rownorm/norm.py\"]\ntests = [\"norm\"]\n\n[[test]]\nname = \"norm\"\n\
         command = [\"python3\", \"{{repository}}/tests/py/norm_rows.py\"]\nsources = [\"tests/py/**\"]\nrepeats = 1\n"
    );
    let project = Project::on(&upstream, &pin, &tables);
    project.write("overlays/up/src/rownorm/norm.py", norm("width"));
    project.write("tests/py/norm_rows.py", test);
    project.write("tests/py/kernel_test.py", include_str!("../templates/kernel-test/kernel_test.py"));
    (upstream, project)
}

fn with_check() -> String {
    TEST.replace("FROM_TREE", "kt.from_tree(norm)")
}

#[test]
fn what_is_imported_is_the_variants_and_nothing_is_built() {
    let (_upstream, project) = project(&with_check());
    let run = project.run(&["prove", "--json"]).expect(0);
    assert!(!run.stderr.contains("build "), "{}", run.stderr);
    let overlay = run.json()["overlays"][0].clone();
    assert_eq!(overlay["verdict"], "needed");
    let fixed: Vec<&str> =
        overlay["fixed"].as_array().unwrap().iter().map(|cell| cell["case"].as_str().unwrap()).collect();
    assert_eq!(fixed.len(), 4, "{fixed:?}");
    assert!(fixed.iter().all(|case| case.contains("40") || case.contains("72")), "{fixed:?}");
    // Nothing that one variant compiled is there for the other.
    let kept = walkdir::WalkDir::new(project.path()).into_iter().filter_map(Result::ok);
    let kept: Vec<_> = kept.filter(|entry| entry.file_name() == "__pycache__").collect();
    assert!(kept.is_empty(), "{kept:?}");

    std::fs::remove_dir_all(project.path().join(".overlaid/lab/up/answers")).unwrap();
    let again = project.run(&["prove"]).expect(0);
    assert!(!again.stderr.contains("run  "), "{}", again.stderr);
    // The test itself is a part of what it depends on.
    project.write("tests/py/norm_rows.py", with_check() + "# more\n");
    let again = project.run(&["prove"]).expect(0);
    assert!(again.stderr.contains("run  "), "{}", again.stderr);
}

/// A copy of the package that is installed, and right.
fn install(project: &Project) -> String {
    project.write("installed/rownorm/__init__.py", "");
    project.write("installed/rownorm/norm.py", norm("width"));
    format!("import sys\nsys.path.insert(0, {:?})\n", project.path().join("installed").display().to_string())
}

#[test]
fn a_copy_that_is_installed_proves_nothing() {
    let (_upstream, project) = project(&with_check());
    let first = install(&project);
    project.write("tests/py/norm_rows.py", first.clone() + &TEST.replace("FROM_TREE", ""));
    let run = project.run(&["prove", "--json"]).expect(4);
    let reasons = run.json()["overlays"][0]["reasons"].to_string();
    assert!(reasons.contains("it opened no file of `src` in the tree"), "{reasons}");
    // The module says so itself.
    project.write("tests/py/norm_rows.py", first + &with_check());
    let run = project.run(&["test"]).expect(4);
    assert!(
        run.stdout.contains("reported nothing") || run.stdout.contains("opened no file"),
        "{}",
        run.stdout
    );
    let printed =
        walkdir::WalkDir::new(project.path().join(".overlaid/lab")).into_iter().filter_map(Result::ok);
    let printed = printed.filter(|entry| entry.file_name().to_string_lossy().ends_with(".stderr"));
    let printed: String = printed.map(|entry| std::fs::read_to_string(entry.path()).unwrap()).collect();
    assert!(printed.contains("rownorm.norm was imported from"), "{printed}");
}

#[test]
fn a_test_that_init_starts_runs_and_a_failing_case_runs_alone() {
    let (_upstream, project) = project(&with_check());
    let started = project.run(&["init", "--test", "twice", "--python"]).expect(0);
    let table = started
        .stdout
        .split_once("it is for:")
        .unwrap()
        .1
        .replace("[profile.python]", "")
        .replace("\"python\"", "\"py\"");
    let table = table.lines().filter(|line| !line.starts_with("python-path")).collect::<Vec<_>>().join("\n");
    let manifest = project.read("manifests/up.toml") + &table;
    project.write("manifests/up.toml", manifest);
    // It imports nothing of the upstream's yet, and so it says nothing about it.
    let run = project.run(&["test", "twice"]).expect(4);
    assert!(run.stdout.contains("opened no file of `src`"), "{}", run.stdout);
    let text = project
        .read("tests/kernels/twice.py")
        .replace("import kernel_test as kt", "import kernel_test as kt\nimport rownorm.norm");
    project.write("tests/kernels/twice.py", text);
    project.run(&["test", "twice"]).expect(0);
    // What is there is not written over.
    let again = project.run(&["init", "--test", "twice", "--python"]).expect(2);
    assert!(again.stderr.contains("is there already"), "{}", again.stderr);
    let alone =
        project.run(&["test", "norm", "--without", "fix", "--case", r#"{"rows": 1, "width": 40}"#]).expect(1);
    assert!(alone.stdout.contains("width 40") && !alone.stdout.contains("72"), "{}", alone.stdout);
}

#[test]
fn a_test_in_cpp_that_init_starts_is_built_and_passes() {
    let (_upstream, project) = project(&with_check());
    project.run(&["init", "--test", "first-one"]).expect(0);
    let started = project.run(&["init", "--test", "second"]).expect(0);
    assert!(started.stdout.contains("kept  tests/kernels/kernel_test.h"), "{}", started.stdout);
    let lists = project.read("tests/kernels/CMakeLists.txt");
    assert!(lists.ends_with("kernel_test(first_one)\nkernel_test(second)\n"), "{lists}");
    let table = started.stdout.split_once("it is for:").unwrap().1;
    project.write("manifests/up.toml", project.read("manifests/up.toml") + "\n[profile.cpu]\n" + table);
    let manifest =
        project.read("manifests/up.toml").replace("repeats = 1", "repeats = 1\nprofiles = [\"py\"]");
    project.write("manifests/up.toml", manifest);
    let run = project.run(&["--profile", "cpu", "test", "second", "--json"]).expect(0).json();
    assert_eq!(run["tests"][0]["variants"][0]["cells"].as_array().unwrap().len(), 9);
}

#[test]
fn what_is_asked_of_pytorch_and_cupy_is_asked_rightly() {
    let here = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut python = crate::support::command("python3");
    python.arg("-B").arg(here.join("tests/python/stand_ins.py")).arg(here.join("templates/kernel-test"));
    let output = python.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(said.lines().filter(|line| line.starts_with("ok ")).count(), 6, "{said}");
}
