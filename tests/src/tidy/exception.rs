//! The few places that may break a rule.

use super::Fault;

/// How many exceptions the whole workspace may have.
const EXCEPTIONS: usize = 5;

/// A place that breaks a rule for a good reason. It stands for one fault, not for all of a file.
pub struct Exception {
    /// The rule.
    pub rule: &'static str,
    /// The file.
    pub path: &'static str,
    /// A part of what the fault says; empty for any.
    pub what: &'static str,
    /// Why it is right here.
    pub reason: &'static str,
}

impl Exception {
    fn covers(&self, fault: &Fault) -> bool {
        self.rule == fault.rule && self.path == fault.path && fault.what.contains(self.what)
    }
}

/// Takes away the faults that are exceptions; returns what is left to complain about.
///
/// An exception that is not needed, or has no reason, and a list that is too long, are complaints.
pub fn apply(mut faults: Vec<Fault>, exceptions: &[Exception]) -> Vec<String> {
    let mut complaints = Vec::new();
    if exceptions.len() > EXCEPTIONS {
        complaints.push(format!("{} exceptions, at most {EXCEPTIONS}", exceptions.len()));
    }
    for exception in exceptions {
        let Exception { rule, path, reason, .. } = exception;
        if reason.trim().is_empty() {
            complaints.push(format!("{path}: the exception from {rule} has no reason"));
        }
        match faults.iter().position(|fault| exception.covers(fault)) {
            Some(index) => drop(faults.remove(index)),
            None => complaints.push(format!("{path}: no exception from {rule} is needed")),
        }
    }
    complaints.extend(faults.iter().map(Fault::to_string));
    complaints
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(line: usize) -> Fault {
        let what = "`allow` switches a lint off".to_owned();
        Fault { rule: "exception", path: "a.rs".to_owned(), line, what }
    }

    fn exception(path: &'static str, reason: &'static str) -> Exception {
        Exception { rule: "exception", path, what: "", reason }
    }

    #[test]
    fn an_exception_covers_one_fault() {
        let left = apply(vec![fault(1), fault(2)], &[exception("a.rs", "because")]);
        assert_eq!(left, ["a.rs:2: `allow` switches a lint off (exception)"]);
    }

    #[test]
    fn an_exception_that_is_not_needed_is_reported() {
        let left = apply(vec![fault(1)], &[exception("b.rs", "because")]);
        assert_eq!(left.len(), 2);
        assert_eq!(left[0], "b.rs: no exception from exception is needed");
    }

    #[test]
    fn an_exception_without_a_reason_is_reported() {
        assert_eq!(apply(vec![fault(1)], &[exception("a.rs", " ")]).len(), 1);
    }

    #[test]
    fn a_sixth_exception_is_reported() {
        let list = |length| (0..length).map(|_| exception("a.rs", "because")).collect::<Vec<_>>();
        let faults = |length| (0..length).map(fault).collect::<Vec<_>>();
        assert_eq!(apply(faults(5), &list(5)), [""; 0]);
        assert_eq!(apply(faults(6), &list(6)), ["6 exceptions, at most 5"]);
    }
}
