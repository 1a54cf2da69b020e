//! Who else is at work on the machine: a round that shares its cores with others says little.

use std::fs;
use std::time::Instant;

use millstream_bench_workload::cpu_seconds;

/// Cores that others may use during a round before it counts as disturbed. The kernel counts in
/// hundredths of a second, so the shortest rounds are known to a twentieth of a core.
pub(crate) const OTHERS_MAX: f64 = 0.1;

/// How often the kernel's counters tick in a second. Linux shows them to programs in hundredths
/// on every architecture.
const TICKS_PER_S: f64 = 100.0;

/// Tells how many cores others used during a round.
pub(crate) trait Meter {
    /// A round begins.
    fn begin(&mut self);

    /// The round is over and took `counted` seconds of processors itself: how many cores did
    /// others keep busy, on average? 0 where the machine does not tell.
    fn others(&mut self, counted: f64) -> f64;
}

/// Reads what the machine counts.
#[derive(Debug)]
pub(crate) struct Machine {
    begin: Instant,
    busy: Option<f64>,
    own: f64,
}

impl Machine {
    /// A meter that has not begun.
    pub(crate) fn new() -> Self {
        Self { begin: Instant::now(), busy: None, own: 0.0 }
    }
}

impl Meter for Machine {
    fn begin(&mut self) {
        *self = Self { begin: Instant::now(), busy: busy_now(), own: own_now() };
    }

    fn others(&mut self, counted: f64) -> f64 {
        let (Some(before), Some(after)) = (self.busy, busy_now()) else { return 0.0 };
        let counted = counted + own_now() - self.own;
        cores(after - before - counted, self.begin.elapsed().as_secs_f64())
    }
}

fn own_now() -> f64 {
    cpu_seconds().unwrap_or(0.0)
}

/// Seconds that all cores together have been busy, also for other machines on the same host.
fn busy_now() -> Option<f64> {
    busy(&fs::read_to_string("/proc/stat").ok()?)
}

/// The same from the text of `/proc/stat`: all but the fields `idle` and `iowait`, up to `steal`;
/// the guests after it are already in `user`.
fn busy(stat: &str) -> Option<f64> {
    let fields = stat.lines().next()?.strip_prefix("cpu ")?.split_whitespace();
    let ticks: Vec<f64> = fields.map_while(|field| field.parse().ok()).collect();
    let counted = ticks.iter().take(8).enumerate();
    let busy: f64 = counted.filter(|(place, _)| !matches!(place, 3 | 4)).map(|(_, t)| t).sum();
    (ticks.len() >= 8).then_some(busy / TICKS_PER_S)
}

fn cores(busy: f64, wall: f64) -> f64 {
    if wall > 0.0 { (busy / wall).max(0.0) } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_and_guests_are_not_counted_and_stolen_time_is() {
        let stat = "cpu  100 20 30 9000 400 5 6 39 50 60\ncpu0 1 2 3 4 5 6 7 8 9 10\n";
        assert_eq!(busy(stat), Some(2.0));
    }

    #[test]
    fn a_text_of_another_form_is_no_figure() {
        assert_eq!(busy(""), None);
        assert_eq!(busy("cpu  1 2 3\n"), None);
        assert_eq!(busy("intr 1 2 3 4 5 6 7 8\n"), None);
    }

    #[test]
    fn cores_are_seconds_of_work_a_second_and_never_negative() {
        assert_eq!(cores(1.0, 2.0), 0.5);
        assert_eq!(cores(-0.01, 2.0), 0.0);
        assert_eq!(cores(1.0, 0.0), 0.0);
    }
}
