fn main() {
    let tree = overlaid::build_script::Script::new("manifests/rowops.toml").apply();

    let built = tree.cmake().build_target("rowops").build();

    println!("cargo::rerun-if-changed=src/shim.cpp");
    cc::Build::new()
        .cpp(true)
        .std("c++17")
        .file("src/shim.cpp")
        .include(tree.path().join("include"))
        .compile("shim");
    println!("cargo::rustc-link-search=native={}", built.join("build").display());
    println!("cargo::rustc-link-lib=static=rowops");
    println!("cargo::rustc-env=ROWOPS_FINGERPRINT={}", tree.fingerprint());
}
