//! Every limit of a job, each with a name and a default.

use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use actix_rt::ArbiterHandle;

use millstream_core::Clock;

use crate::schedule::Schedule;

/// Where the tasks of a job run.
#[derive(Clone, Default)]
pub enum Workers {
    /// All on the arbiter that starts the job.
    #[default]
    Current,
    /// On so many arbiters of the job's own, which end with it.
    Own(NonZeroUsize),
    /// On these arbiters, which belong to whoever made them.
    Given(Vec<ArbiterHandle>),
}

/// The limits of a job.
///
/// Each can be set by its method, and [`from_env`](Self::from_env) reads them from variables of the
/// name in capitals behind `MILLSTREAM_`, such as `MILLSTREAM_BATCH_RECORDS`. What is wrong with
/// one is told with its name, by `from_env` or at the start.
#[derive(Clone)]
pub struct Settings {
    pub(crate) limits: Limits,
    pub(crate) workers: Workers,
    pub(crate) parallelism: Option<usize>,
    pub(crate) key_groups: Option<u32>,
    pub(crate) clock: Option<Arc<dyn Clock>>,
    pub(crate) schedule: Option<Arc<dyn Schedule>>,
}

/// The limits themselves, as tasks see them.
#[derive(Clone, Debug)]
pub(crate) struct Limits {
    pub(crate) batch_records: usize,
    pub(crate) credits_within: usize,
    pub(crate) credits_across: usize,
    pub(crate) turn_records: usize,
    pub(crate) turn_time: Duration,
    pub(crate) timer_batch: usize,
    pub(crate) timer_edits: usize,
    pub(crate) final_firings: usize,
    pub(crate) start_wait: Duration,
    pub(crate) stop_wait: Duration,
    pub(crate) slow_turn: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            batch_records: 1_024,
            credits_within: 4,
            credits_across: 16,
            turn_records: 1_024,
            turn_time: Duration::from_micros(200),
            timer_batch: 1_024,
            timer_edits: 16_384,
            final_firings: 10_000,
            start_wait: Duration::from_secs(10),
            stop_wait: Duration::from_secs(10),
            slow_turn: Duration::from_millis(100),
        }
    }
}

/// A setting that no job can run with.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    /// Zero, where nothing would ever move.
    #[error("setting `{name}` is zero; it must be at least one")]
    Zero {
        /// Which.
        name: &'static str,
    },
    /// A variable of the environment that is no number, or not even text.
    #[error("environment variable {variable} is {value:?}; it must be a whole number of {unit}")]
    Variable {
        /// The variable.
        variable: String,
        /// What it holds; what of it is no valid text is replaced.
        value: String,
        /// What it counts.
        unit: &'static str,
    },
    /// No arbiter was given.
    #[error("setting `workers` is an empty list of arbiters; give at least one")]
    NoWorker,
}

impl Default for Settings {
    fn default() -> Self {
        Self::new()
    }
}

macro_rules! limits {
    ($($(#[$doc:meta])* $name:ident: $unit:literal, $from:expr, $type:ty;)*) => {
        impl Settings {
            $(
                $(#[$doc])*
                #[must_use]
                pub fn $name(mut self, $name: $type) -> Self {
                    self.limits.$name = $name;
                    self
                }
            )*

            fn zero(&self) -> Option<&'static str> {
                $(
                    if self.limits.$name == <$type>::default() {
                        return Some(stringify!($name));
                    }
                )*
                None
            }

            fn read_limits(
                &mut self,
                read: &dyn Fn(&'static str, &'static str) -> Result<Option<u64>, SettingsError>,
            ) -> Result<(), SettingsError> {
                $(
                    if let Some(number) = read(stringify!($name), $unit)? {
                        self.limits.$name = ($from)(number);
                    }
                )*
                Ok(())
            }
        }
    };
}

fn size(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

limits! {
    /// Records after which a batch leaves, divided by the channels of its route but at least 64
    /// (or this, if this is less). 1,024 by default.
    batch_records: "records", size, usize;
    /// Batches under way on a channel within an arbiter. 4 by default.
    credits_within: "batches", size, usize;
    /// Batches under way on a channel from one arbiter to another, which is slow to wake. 16 by
    /// default.
    credits_across: "batches", size, usize;
    /// Records after which a task lets others run. 1,024 by default.
    turn_records: "records", size, usize;
    /// Time after which a task lets others run. 200 µs by default; microseconds in the environment.
    turn_time: "microseconds", Duration::from_micros, Duration;
    /// Timers that a task is given at once when they are due. 1,024 by default.
    timer_batch: "timers", size, usize;
    /// Timers set and deleted that are on their way to the actor that keeps them; a task with more
    /// takes no input until they have come. 16,384 by default.
    timer_edits: "timers", size, usize;
    /// Timers that the callbacks of one key may set for an instant that has passed already, while
    /// the timers of a watermark fire: at the final watermark, all that they set. With more the job
    /// fails, because they would never come to an end. 10,000 by default.
    final_firings: "timers", size, usize;
    /// How long a start waits for the tasks to open. 10 s by default; milliseconds in the
    /// environment.
    start_wait: "milliseconds", Duration::from_millis, Duration;
    /// How long a stop waits for the tasks to end. 10 s by default; milliseconds in the
    /// environment.
    stop_wait: "milliseconds", Duration::from_millis, Duration;
    /// A turn that takes longer than this is reported. 100 ms by default; milliseconds in the
    /// environment.
    slow_turn: "milliseconds", Duration::from_millis, Duration;
}

impl Settings {
    /// The defaults: everything on the current arbiter, one task a stage.
    pub fn new() -> Self {
        Self {
            limits: Limits::default(),
            workers: Workers::Current,
            parallelism: None,
            key_groups: None,
            clock: None,
            schedule: None,
        }
    }

    /// The defaults, changed by what the environment says: a variable for each limit, and
    /// `MILLSTREAM_WORKERS`, `MILLSTREAM_PARALLELISM`, `MILLSTREAM_KEY_GROUPS`.
    ///
    /// `MILLSTREAM_CREDITS` is [`credits`](Self::credits): it sets both kinds of credits, and
    /// `MILLSTREAM_CREDITS_WITHIN` and `MILLSTREAM_CREDITS_ACROSS` go before it.
    ///
    /// # Errors
    ///
    /// When a variable is set and is no whole number, or not even text; when
    /// `MILLSTREAM_CREDITS` or `MILLSTREAM_WORKERS` is zero. Any other limit of zero is refused at
    /// the start.
    pub fn from_env() -> Result<Self, SettingsError> {
        Self::from_raw(|variable| std::env::var_os(variable))
    }

    /// As [`from_env`](Self::from_env), with another place to look variables up.
    ///
    /// # Errors
    ///
    /// As [`from_env`](Self::from_env).
    ///
    /// # Examples
    ///
    /// ```
    /// use millstream_runtime::{Settings, SettingsError};
    ///
    /// let wrong = |name: &str| (name == "MILLSTREAM_TURN_TIME").then(|| "fast".to_owned());
    /// let error = Settings::from_variables(wrong).err().unwrap();
    /// assert_eq!(
    ///     error.to_string(),
    ///     "environment variable MILLSTREAM_TURN_TIME is \"fast\"; \
    ///      it must be a whole number of microseconds"
    /// );
    /// ```
    pub fn from_variables(look_up: impl Fn(&str) -> Option<String>) -> Result<Self, SettingsError> {
        Self::from_raw(|variable| look_up(variable).map(OsString::from))
    }

    fn from_raw(look_up: impl Fn(&str) -> Option<OsString>) -> Result<Self, SettingsError> {
        let read = |name: &'static str, unit: &'static str| {
            let variable = format!("MILLSTREAM_{}", name.to_uppercase());
            let Some(value) = look_up(&variable) else { return Ok(None) };
            match value.to_str().and_then(|value| value.trim().parse::<u64>().ok()) {
                Some(number) => Ok(Some(number)),
                None => {
                    let value = value.to_string_lossy().into_owned();
                    Err(SettingsError::Variable { variable, value, unit })
                }
            }
        };
        let mut settings = Self::new();
        // Before the more precise ones, so that those win.
        if let Some(credits) = read("credits", "batches")? {
            if credits == 0 {
                return Err(SettingsError::Zero { name: "credits" });
            }
            settings = settings.credits(size(credits));
        }
        settings.read_limits(&read)?;
        if let Some(workers) = read("workers", "arbiters")? {
            let workers = NonZeroUsize::new(size(workers));
            let workers = workers.ok_or(SettingsError::Zero { name: "workers" })?;
            settings.workers = Workers::Own(workers);
        }
        settings.parallelism = read("parallelism", "tasks")?.map(size);
        settings.key_groups = read("key_groups", "key groups")?
            .map(|groups| u32::try_from(groups).unwrap_or(u32::MAX));
        Ok(settings)
    }

    /// Where the tasks run: the current arbiter by default.
    #[must_use]
    pub fn workers(mut self, workers: Workers) -> Self {
        self.workers = workers;
        self
    }

    /// Batches under way on a channel, whether within an arbiter or across: sets both
    /// [`credits_within`](Self::credits_within) and [`credits_across`](Self::credits_across). In
    /// the environment it is `MILLSTREAM_CREDITS`, and the variables of those two go before it.
    #[must_use]
    pub fn credits(self, credits: usize) -> Self {
        self.credits_within(credits).credits_across(credits)
    }

    /// Tasks of a stage that names no number of its own. As many as there are workers by default.
    #[must_use]
    pub fn parallelism(mut self, parallelism: usize) -> Self {
        self.parallelism = Some(parallelism);
        self
    }

    /// The number of key groups: the most tasks that a keyed stage can ever have. By default the
    /// least power of two that leaves half as many more tasks room, between 128 and 32,768.
    #[must_use]
    pub fn key_groups(mut self, key_groups: u32) -> Self {
        self.key_groups = Some(key_groups);
        self
    }

    /// The job's clock, in place of the system's.
    #[must_use]
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = Some(clock);
        self
    }

    /// Who decides who goes first: for simulations.
    #[must_use]
    pub fn schedule(mut self, schedule: Arc<dyn Schedule>) -> Self {
        self.schedule = Some(schedule);
        self
    }

    /// Whether a job can run with these.
    ///
    /// # Errors
    ///
    /// The first setting that is wrong, by name.
    pub fn check(&self) -> Result<(), SettingsError> {
        if let Some(name) = self.zero() {
            return Err(SettingsError::Zero { name });
        }
        match (&self.workers, self.parallelism) {
            (Workers::Given(arbiters), _) if arbiters.is_empty() => Err(SettingsError::NoWorker),
            (_, Some(0)) => Err(SettingsError::Zero { name: "parallelism" }),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The credits within an arbiter and across that variables lead to.
    fn credits(variables: &[(&str, &str)]) -> Result<(usize, usize), SettingsError> {
        let look_up = |name: &str| {
            let found = variables.iter().find(|(variable, _)| *variable == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        let settings = Settings::from_variables(look_up)?;
        settings.check()?;
        Ok((settings.limits.credits_within, settings.limits.credits_across))
    }

    #[test]
    fn the_variable_of_the_credits_sets_both_kinds_and_the_precise_ones_win() {
        let (both, within, across) =
            ("MILLSTREAM_CREDITS", "MILLSTREAM_CREDITS_WITHIN", "MILLSTREAM_CREDITS_ACROSS");
        assert_eq!(credits(&[]), Ok((4, 16)));
        assert_eq!(credits(&[(both, " 7 ")]), Ok((7, 7)));
        assert_eq!(credits(&[(both, "7"), (within, "2")]), Ok((2, 7)));
        assert_eq!(credits(&[(across, "9"), (both, "7")]), Ok((7, 9)));
        assert_eq!(credits(&[(across, "9"), (within, "2"), (both, "7")]), Ok((2, 9)));
        let zero = |name| Err(SettingsError::Zero { name });
        assert_eq!(credits(&[(both, "0")]), zero("credits"));
        assert_eq!(credits(&[(both, "7"), (within, "0")]), zero("credits_within"));
        for value in ["", "many", "-1", "1.5", "0x10"] {
            let error = SettingsError::Variable {
                variable: both.to_owned(),
                value: value.to_owned(),
                unit: "batches",
            };
            assert_eq!(credits(&[(both, value)]), Err(error));
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_variable_that_is_no_text_is_refused_and_not_passed_over() {
        use std::os::unix::ffi::OsStringExt;

        let variables = [
            ("MILLSTREAM_CREDITS", "batches"),
            ("MILLSTREAM_TURN_TIME", "microseconds"),
            ("MILLSTREAM_WORKERS", "arbiters"),
            ("MILLSTREAM_KEY_GROUPS", "key groups"),
        ];
        for (variable, unit) in variables {
            let no_text =
                |name: &str| (name == variable).then(|| OsString::from_vec(b"4\xFF".to_vec()));
            let (variable, value) = (variable.to_owned(), "4\u{FFFD}".to_owned());
            let expected = SettingsError::Variable { variable, value, unit };
            assert_eq!(Settings::from_raw(no_text).err(), Some(expected));
        }
    }

    /// The name of the test below, and the variable that tells it that it is the process below.
    #[cfg(unix)]
    const BELOW: [&str; 2] =
        ["settings::tests::the_environment_itself_is_read_as_it_is", "MILLSTREAM_BELOW"];

    #[cfg(unix)]
    #[test]
    fn the_environment_itself_is_read_as_it_is() {
        use std::os::unix::ffi::OsStringExt;

        let [name, below] = BELOW;
        if std::env::var_os(below).is_some() {
            let expected = "environment variable MILLSTREAM_CREDITS is \"4\u{FFFD}\"; it must be \
                            a whole number of batches";
            assert_eq!(Settings::from_env().err().unwrap().to_string(), expected);
            return;
        }
        // A process cannot change its own environment without harm to its other threads.
        let output = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", name])
            .env(below, "1")
            .env("MILLSTREAM_CREDITS", OsString::from_vec(b"4\xFF".to_vec()))
            .output()
            .unwrap();
        let said = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success() && said.contains("1 passed"), "{said}");
    }
}
