//! Packages for registries.

use std::path::Path;
use std::process::Command;

/// A gzipped archive of these files.
pub fn archive(files: &[(&str, &str)]) -> Vec<u8> {
    let dir = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = dir.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let top = files[0].0.split('/').next().unwrap();
    let made = Command::new("tar")
        .args(["--create", "--gzip", "--directory"])
        .arg(dir.path())
        .arg(top)
        .output()
        .unwrap();
    assert!(made.status.success());
    made.stdout
}

/// A wheel of a package with one empty module; its file's name.
pub fn wheel(dir: &Path, name: &str) -> String {
    let script = format!(
        "import zipfile\nwith zipfile.ZipFile('{name}-1.0-py3-none-any.whl', 'w') as z:\n\
         \x20   z.writestr('{name}/__init__.py', '')\n\
         \x20   z.writestr('{name}-1.0.dist-info/METADATA', 'Metadata-Version: 2.1\\nName: {name}\\nVersion: 1.0\\n')\n\
         \x20   z.writestr('{name}-1.0.dist-info/WHEEL', 'Wheel-Version: 1.0\\nGenerator: test\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n')\n\
         \x20   z.writestr('{name}-1.0.dist-info/RECORD', '')\n"
    );
    let made = Command::new("python3")
        .arg("-c")
        .arg(script)
        .current_dir(dir)
        .status();
    assert!(made.unwrap().success());
    format!("{name}-1.0-py3-none-any.whl")
}
