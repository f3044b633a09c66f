//! Every dependency may be used under licences that ask for no more than a notice.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a helper of tests ends the test")]

use std::process::Command;

use serde_json::Value;
use spdx::{Expression, ParseMode};

/// Licences that a dependency may come under.
const ALLOWED: &[&str] =
    &["0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "BSL-1.0", "CC0-1.0", "ISC", "MIT", "Unicode-3.0", "Zlib"];

/// Crates that may come under one more licence. MPL-2.0 binds changes to the crate's own files, which
/// are used as they are; `directories` needs it.
const EXCEPTIONS: &[(&str, &str)] = &[("option-ext", "MPL-2.0")];

#[test]
fn every_dependency_has_an_allowed_licence() {
    let metadata = metadata();
    let packages = metadata["packages"].as_array().unwrap();
    assert!(packages.len() > 100, "only {} packages: is the graph complete?", packages.len());
    let refused: Vec<String> = packages
        .iter()
        .filter_map(|package| {
            let (name, version) = (package["name"].as_str()?, package["version"].as_str()?);
            refusal(name, package["license"].as_str()).map(|why| format!("{name} {version}: {why}"))
        })
        .collect();
    assert!(refused.is_empty(), "\n{}\n", refused.join("\n"));
    println!("{} packages, all under allowed licences", packages.len());
}

/// Why a crate's licence expression will not do.
fn refusal(name: &str, expression: Option<&str>) -> Option<String> {
    let Some(text) = expression else {
        return Some("names no licence expression; read its licence file and replace the crate if in doubt".to_owned());
    };
    let allowed = |requirement: &spdx::LicenseReq| {
        let licence = requirement.license.id().map_or("", |licence| licence.name);
        ALLOWED.contains(&licence) || EXCEPTIONS.contains(&(name, licence))
    };
    match Expression::parse_mode(text, ParseMode::LAX) {
        Ok(expression) if expression.evaluate(allowed) => None,
        Ok(_) => Some(format!("'{text}' asks for a licence that is not allowed; replace the crate")),
        Err(error) => Some(format!("'{text}' is no licence expression: {}", error.reason)),
    }
}

/// The dependencies of every platform where they have been fetched (`cargo fetch`), else those of this
/// one, which a build has fetched.
fn metadata() -> Value {
    ask(&["--offline"]).or_else(|_| ask(&["--filter-platform", &host()])).unwrap_or_else(|error| panic!("{error}"))
}

fn ask(options: &[&str]) -> Result<Value, String> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--locked"])
        .args(options)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    if output.status.success() {
        Ok(serde_json::from_slice(&output.stdout).unwrap())
    } else {
        Err(String::from_utf8_lossy(&output.stderr).into_owned())
    }
}

fn host() -> String {
    let output = Command::new("rustc").arg("-vV").output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().find_map(|line| line.strip_prefix("host: ")).unwrap().to_owned()
}

#[test]
fn a_licence_that_is_not_allowed_is_refused() {
    for text in [
        "GPL-3.0-only",
        "MIT AND GPL-2.0-or-later",
        "Apache-2.0 AND (MIT AND AGPL-3.0-only)",
        "MPL-2.0",
        "LicenseRef-Own",
    ] {
        assert!(refusal("a crate", Some(text)).is_some(), "{text}");
    }
    assert!(refusal("a crate", None).unwrap().contains("no licence expression"));
    for text in ["MIT/Apache-2.0", "GPL-3.0-only OR MIT", "(MIT OR Apache-2.0) AND Unicode-3.0"] {
        assert_eq!(refusal("a crate", Some(text)), None);
    }
}
