//! The Python client from PyPI.

use std::process::Command;

use pleach_clients::{Running, tools};

#[test]
fn the_python_client_works() {
    let python = tools().join("venv/bin/python");
    assert!(python.exists(), "{} is not there: run scripts/setup.sh", python.display());
    let server = Running::in_memory();
    let output = Command::new(python)
        .arg(format!("{}/python/client.py", env!("CARGO_MANIFEST_DIR")))
        .env("KUBECONFIG", server.kubeconfig())
        .output()
        .expect("python starts");
    let said = String::from_utf8_lossy(&output.stderr);
    eprintln!("{said}");
    assert!(output.status.success(), "{said}");
    assert!(said.contains("Ran 8 tests"), "{said}");
}
