//! Who may depend on whom: a crate of one layer only on crates of the layers below it.

/// A package of the workspace and what it depends on.
pub struct Package {
    /// Its name.
    pub name: String,
    /// The names of what it declares, for builds and for tests.
    pub dependencies: Vec<Dependency>,
    /// The names of all that is compiled into it, at any distance.
    pub reaches: Vec<String>,
}

/// One line of a manifest.
pub struct Dependency {
    /// The package that is named.
    pub name: String,
    /// Named under `dev-dependencies`.
    pub dev: bool,
}

/// What a layer is for and what it must not know.
pub struct Layer {
    /// Its crates, those too whose place is only kept so far.
    pub crates: &'static [&'static str],
    /// Crates of others, by the beginning of their names, that it must not know.
    pub never: &'static [&'static str],
    /// What `never` names must not even be reached through somebody else.
    pub at_any_distance: bool,
}

/// The layers of this workspace, the lowest first.
pub const LAYERS: [Layer; 6] = [
    Layer { crates: &["millstream-core"], never: &LOGIC_NEVER, at_any_distance: true },
    Layer {
        crates: &[
            "millstream-operators",
            "millstream-plan",
            "millstream-snapshot",
            "millstream-metrics",
        ],
        never: &LOGIC_NEVER,
        at_any_distance: true,
    },
    Layer { crates: &["millstream-runtime"], never: &[], at_any_distance: false },
    Layer { crates: &["millstream"], never: &["actix"], at_any_distance: false },
    Layer { crates: &["millstream-testkit"], never: &["actix"], at_any_distance: false },
    Layer {
        crates: &["examples", "millstream-bench", "tests"],
        never: &[],
        at_any_distance: false,
    },
];

/// State machines know no actor, no runtime and no future.
const LOGIC_NEVER: [&str; 3] = ["actix", "futures", "tokio"];

/// Packages that depend on nothing of ours, and the only ones of ours that depend on them.
pub const APART: [(&str, &[&str]); 2] =
    [("millstream-bench-workload", &["millstream-bench"]), ("xtask", &[])];

/// What a crate's tests may use although it stands above the crate.
pub const FOR_TESTS: [&str; 1] = ["millstream-testkit"];

/// Every dependency that the layers do not allow, as a sentence.
pub fn faults(packages: &[Package]) -> Vec<String> {
    let ours = |name: &str| packages.iter().any(|package| package.name == name);
    let mut found = Vec::new();
    for package in packages {
        let Some(height) = height(&package.name) else {
            if users(&package.name).is_none() {
                found.push(format!("{} stands in no layer: give it a place", package.name));
            }
            found.extend(apart_faults(package, &ours));
            continue;
        };
        for dependency in &package.dependencies {
            let fault = if ours(&dependency.name) {
                upward(&package.name, dependency, height)
            } else {
                unknown(dependency, &LAYERS[height])
            };
            found.extend(fault.map(|why| describe(&package.name, dependency, why)));
        }
        if LAYERS[height].at_any_distance {
            found.extend(reach_faults(package, &LAYERS[height]));
        }
    }
    found
}

/// The layer of a package, counted from the lowest.
fn height(name: &str) -> Option<usize> {
    LAYERS.iter().position(|layer| layer.crates.contains(&name))
}

/// Who may depend on a package that stands apart.
fn users(name: &str) -> Option<&'static [&'static str]> {
    APART.iter().find(|(apart, _)| *apart == name).map(|(_, users)| *users)
}

/// Why a package may not depend on this one of ours, if it may not.
fn upward(package: &str, dependency: &Dependency, height_here: usize) -> Option<&'static str> {
    if dependency.dev && FOR_TESTS.contains(&dependency.name.as_str()) {
        return None;
    }
    match height(&dependency.name) {
        Some(there) if there < height_here => None,
        Some(there) if there == height_here => Some("crates of one layer do not import each other"),
        Some(_) => Some("it stands in a higher layer"),
        None if users(&dependency.name).is_some_and(|users| users.contains(&package)) => None,
        None => Some("it stands apart"),
    }
}

/// Why a layer may not know this crate of somebody else, if it may not. Tests may know all.
fn unknown(dependency: &Dependency, layer: &Layer) -> Option<&'static str> {
    let barred = !dependency.dev && matches(layer, &dependency.name);
    barred.then_some("its layer must not know that crate")
}

fn matches(layer: &Layer, name: &str) -> bool {
    let is = |family: &&str| {
        name.strip_prefix(family).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
    };
    layer.never.iter().any(is)
}

fn apart_faults(package: &Package, ours: &impl Fn(&str) -> bool) -> Vec<String> {
    let own = package.dependencies.iter().filter(|dependency| ours(&dependency.name));
    own.map(|dependency| describe(&package.name, dependency, "it depends on nothing of ours"))
        .collect()
}

fn reach_faults(package: &Package, layer: &Layer) -> Vec<String> {
    let barred = package.reaches.iter().filter(|name| matches(layer, name));
    barred.map(|name| format!("{} reaches {name}: its layer must not", package.name)).collect()
}

fn describe(from: &str, dependency: &Dependency, why: &str) -> String {
    let kind = if dependency.dev { " in its tests" } else { "" };
    format!("{from} depends on {}{kind}: {why}", dependency.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(name: &str, uses: &[&str], dev: &[&str]) -> Package {
        let line = |dev| move |name: &&str| Dependency { name: (*name).to_owned(), dev };
        let dependencies = uses.iter().map(line(false)).chain(dev.iter().map(line(true))).collect();
        Package { name: name.to_owned(), dependencies, reaches: Vec::new() }
    }

    /// The faults of one package in a workspace of all that the layers name.
    fn faults_of(one: Package) -> Vec<String> {
        let apart = APART.iter().map(|(name, _)| name);
        let named = LAYERS.iter().flat_map(|layer| layer.crates).chain(apart);
        let others = named.filter(|name| **name != one.name).map(|name| package(name, &[], &[]));
        let mut packages: Vec<Package> = others.collect();
        packages.push(one);
        faults(&packages)
    }

    #[test]
    fn what_points_down_is_allowed() {
        let below = ["millstream-core", "millstream-plan", "actix", "tokio", "serde"];
        assert_eq!(faults_of(package("millstream-runtime", &below, &[])), [""; 0]);
        assert_eq!(
            faults_of(package("millstream", &["millstream-runtime", "tokio"], &[])),
            [""; 0]
        );
        assert_eq!(faults_of(package("tests", &[], &["millstream-testkit", "actix"])), [""; 0]);
    }

    #[test]
    fn what_points_up_or_sideways_is_reported() {
        let up = faults_of(package("millstream-core", &["millstream-runtime"], &[]));
        assert_eq!(
            up,
            ["millstream-core depends on millstream-runtime: it stands in a higher layer"]
        );
        let sideways = faults_of(package("millstream-plan", &["millstream-metrics"], &[]));
        assert!(sideways.len() == 1 && sideways[0].contains("of one layer"));
        let tool = faults_of(package("millstream-testkit", &["xtask"], &[]));
        assert!(tool.len() == 1 && tool[0].contains("it stands apart"));
        let bench = faults_of(package("examples", &["millstream-bench"], &[]));
        assert_eq!(bench.len(), 1);
    }

    #[test]
    fn only_its_users_depend_on_a_package_that_stands_apart() {
        let workload = ["millstream-bench-workload"];
        assert_eq!(faults_of(package("millstream-bench", &workload, &[])), [""; 0]);
        assert_eq!(faults_of(package("examples", &workload, &[])).len(), 1);
        assert_eq!(faults_of(package("xtask", &workload, &[])).len(), 1);
    }

    #[test]
    fn only_the_runtime_among_the_library_crates_knows_actix() {
        for name in ["millstream", "millstream-testkit", "millstream-operators"] {
            assert_eq!(faults_of(package(name, &["actix-rt"], &[])).len(), 1, "{name}");
        }
        assert_eq!(faults_of(package("millstream-operators", &["futures-core"], &[])).len(), 1);
        assert_eq!(faults_of(package("millstream-metrics", &["tokio"], &[])).len(), 1);
        assert_eq!(faults_of(package("millstream-metrics", &["tokiometer"], &[])), [""; 0]);
    }

    #[test]
    fn the_logic_must_not_reach_a_runtime_through_somebody_else() {
        let mut operators = package("millstream-operators", &["helper"], &[]);
        operators.reaches = vec!["helper".to_owned(), "tokio-util".to_owned()];
        let found = faults_of(operators);
        assert_eq!(found, ["millstream-operators reaches tokio-util: its layer must not"]);
    }

    #[test]
    fn tests_may_use_the_test_kit_and_nothing_else_from_above() {
        let kit = ["millstream-testkit", "tokio"];
        assert_eq!(faults_of(package("millstream-operators", &[], &kit)), [""; 0]);
        let up = faults_of(package("millstream-operators", &[], &["millstream"]));
        assert!(up.len() == 1 && up[0].contains("in its tests"));
    }

    #[test]
    fn a_package_without_a_place_is_reported() {
        let found = faults_of(package("millstream-util", &[], &[]));
        assert_eq!(found, ["millstream-util stands in no layer: give it a place"]);
        let own = faults_of(package("xtask", &["millstream-core"], &[]));
        assert_eq!(own.len(), 1);
    }
}
