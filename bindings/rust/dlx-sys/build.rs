//! Finds libdlx: in DLX_LIB_DIR, by the feature `vendored`, or by pkg-config; else where the linker looks.
use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-env-changed=DLX_LIB_DIR");
    println!("cargo:rerun-if-env-changed=DLX_SOURCE_DIR");
    println!("cargo:rerun-if-env-changed=PKG_CONFIG_PATH");
    if let Some(folder) = env::var_os("DLX_LIB_DIR") {
        search(Path::new(&folder));
    } else if env::var_os("CARGO_FEATURE_VENDORED").is_some() {
        search(&build());
    } else if let Some(folder) = ask_pkg_config() {
        search(Path::new(&folder));
    }
    println!("cargo:rustc-link-lib=dylib=dlx");
}

/// `lib_dir` reaches the build scripts of crates that depend on this one, as DEP_DLX_LIB_DIR.
fn search(folder: &Path) {
    println!("cargo:rustc-link-search=native={}", folder.display());
    println!("cargo:lib_dir={}", folder.display());
}

fn ask_pkg_config() -> Option<String> {
    let found = Command::new("pkg-config").args(["--variable=libdir", "dlx"]).output().ok()?;
    let folder = String::from_utf8(found.stdout).ok()?.trim().to_owned();
    (found.status.success() && !folder.is_empty()).then_some(folder)
}

fn build() -> PathBuf {
    let here = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap());
    let source = env::var_os("DLX_SOURCE_DIR").map_or(here.join("../../.."), PathBuf::from);
    for part in ["CMakeLists.txt", "capi", "cmake", "include", "src"] {
        println!("cargo:rerun-if-changed={}", source.join(part).display());
    }
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap());
    let (tree, prefix) = (out.join("tree"), out.join("prefix"));
    run(Command::new("cmake")
        .arg("-S")
        .arg(&source)
        .arg("-B")
        .arg(&tree)
        .args(["-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_INSTALL_LIBDIR=lib"]));
    let jobs = env::var("NUM_JOBS").unwrap_or_else(|_| "1".into());
    run(Command::new("cmake").arg("--build").arg(&tree).args(["--parallel", &jobs]));
    run(Command::new("cmake").arg("--install").arg(&tree).arg("--prefix").arg(&prefix));
    prefix.join("lib")
}

fn run(command: &mut Command) {
    let status = command.status().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(status.success(), "{command:?}: {status}");
}
