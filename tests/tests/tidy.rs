//! Proves that the whole tree keeps the rules of style, with at most five exceptions.

use std::fmt::Write;

use tests::tidy::{
    Exception, Share, apply, doc_faults, faults, lints_of_its_own, setting_faults, shares,
};
use tests::{read, read_settings, say};

/// Every place that breaks a rule, with its reason; at most five.
const EXCEPTIONS: &[Exception] = &[
    Exception {
        rule: "exception",
        path: "crates/millstream-runtime/src/clock.rs",
        what: "`expect`",
        reason: "the system's clock is where the real time comes from",
    },
    Exception {
        rule: "exception",
        path: "crates/millstream-testkit/src/clock/simulated.rs",
        what: "`expect`",
        reason: "the simulated clock is tokio's paused one",
    },
    Exception {
        rule: "exception",
        path: "crates/millstream-runtime/src/offload.rs",
        what: "`expect`",
        reason: "it is the one way to the pool for blocking work",
    },
    Exception {
        rule: "exception",
        path: "crates/millstream/src/keyed.rs",
        what: "`expect`",
        reason: "the type of a key function has no name that would be shorter",
    },
];

#[test]
fn the_tree_keeps_the_rules_of_style() {
    let sources = read().expect("the sources of the workspace can be read");
    let settings = read_settings().expect("the manifests of the workspace can be read");
    let shares = shares(&sources);
    say(&report(sources.len(), &shares, &settings));

    let mut all = faults(&sources);
    all.extend(setting_faults(&settings));
    all.extend(doc_faults(&shares));
    let complaints = apply(all, EXCEPTIONS);
    let count = complaints.len();
    assert!(complaints.is_empty(), "{count} complaints\n{}", complaints.join("\n"));
}

/// What a reader may want to know although it is no fault.
fn report(files: usize, shares: &[Share], settings: &[(String, String)]) -> String {
    let mut text = format!("{files} files\n");
    for share in shares {
        let _ = writeln!(text, "{share}");
    }
    for (path, _) in settings.iter().filter(|(path, text)| lints_of_its_own(path, text)) {
        let _ = writeln!(text, "lints of its own: {path}");
    }
    let _ = writeln!(text, "{} exceptions", EXCEPTIONS.len());
    for Exception { rule, path, reason, .. } in EXCEPTIONS {
        let _ = writeln!(text, "    {path}: {rule}: {reason}");
    }
    text
}
