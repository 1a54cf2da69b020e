//! Proves that crates import only from layers below, and that no modules import in a circle.

use std::collections::{BTreeMap, BTreeSet};

use cargo_metadata::{DependencyKind, Metadata, MetadataCommand, PackageId};
use tests::cycle::{self, OneIdea};
use tests::layer::{self, Dependency, Package};
use tests::{Source, read, root, say};

/// Modules that may import each other.
const ONE_IDEA: &[OneIdea] = &[OneIdea {
    crate_name: "millstream",
    modules: &["dataflow", "keyed", "stream"],
    reason: "a flow, its streams and its keyed streams return each other",
}];

#[test]
fn a_crate_depends_only_on_layers_below_it() {
    let metadata = metadata();
    let reaches = reaches(&metadata);
    let packages: Vec<Package> = metadata
        .workspace_packages()
        .into_iter()
        .map(|package| Package {
            name: package.name.to_string(),
            dependencies: package.dependencies.iter().map(dependency).collect(),
            reaches: reaches(&package.id),
        })
        .collect();
    assert!(packages.len() > 1, "the workspace has members");
    let faults = layer::faults(&packages);
    assert!(faults.is_empty(), "the layers are broken\n{}", faults.join("\n"));
}

#[test]
fn no_modules_of_a_crate_import_in_a_circle() {
    let sources = read().expect("the sources of the workspace can be read");
    let mut crates: BTreeMap<&str, Vec<&Source>> = BTreeMap::new();
    // A peer in a benchmark is a workspace of its own.
    for source in sources.iter().filter(|source| !source.path.contains("/peers/")) {
        if let Some((name, _)) = source.path.split_once("/src/") {
            crates.entry(name).or_default().push(source);
        }
    }
    let mut text = String::new();
    let mut cycles = Vec::new();
    for (name, files) in crates {
        let arrows = cycle::arrows(&files);
        let one_idea = ONE_IDEA.iter().find(|one| name.ends_with(&format!("/{}", one.crate_name)));
        let modules = one_idea.map_or(&[][..], |one| one.modules);
        text.push_str(&format!("{name}: {} arrows between its modules\n", arrows.len()));
        if let Some(OneIdea { modules, reason, .. }) = one_idea {
            text.push_str(&format!("    {} are one idea: {reason}\n", modules.join(", ")));
            assert!(cycle::find(&arrows, &[]).is_some(), "{name} needs no exception any more");
        }
        cycles.extend(cycle::find(&arrows, modules).map(|cycle| format!("{name}: {cycle}")));
    }
    say(&text);
    assert!(cycles.is_empty(), "modules import in a circle\n{}", cycles.join("\n"));
}

fn metadata() -> Metadata {
    MetadataCommand::new()
        .manifest_path(root().join("Cargo.toml"))
        .exec()
        .expect("cargo describes the workspace")
}

fn dependency(declared: &cargo_metadata::Dependency) -> Dependency {
    Dependency { name: declared.name.clone(), dev: declared.kind == DependencyKind::Development }
}

/// From a package to the names of all that is compiled into it; what only tests use is left out.
fn reaches(metadata: &Metadata) -> impl Fn(&PackageId) -> Vec<String> {
    let resolve = metadata.resolve.as_ref().expect("cargo resolves the workspace");
    let mut next: BTreeMap<&PackageId, Vec<&PackageId>> = BTreeMap::new();
    for node in &resolve.nodes {
        let compiled = node.deps.iter().filter(|dep| {
            dep.dep_kinds.iter().any(|kind| kind.kind != DependencyKind::Development)
        });
        next.insert(&node.id, compiled.map(|dep| &dep.pkg).collect());
    }
    move |start| {
        let mut seen = BTreeSet::new();
        let mut open = vec![start];
        while let Some(id) = open.pop() {
            for package in next.get(id).into_iter().flatten() {
                if seen.insert(*package) {
                    open.push(package);
                }
            }
        }
        seen.into_iter().map(|id| metadata[id].name.to_string()).collect()
    }
}
