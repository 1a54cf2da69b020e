//! Where blocking work goes: a pool of threads, or in line where a run must repeat.

use std::sync::Arc;

use millstream_core::Failure;

use crate::schedule::{Schedule, yield_times};

/// Runs blocking work away from the actors: opening, syncing, renaming, closing.
///
/// In a simulation there are no threads: the work runs in line, after as many yields as the seed
/// says.
#[derive(Clone)]
pub struct Offload {
    schedule: Option<Arc<dyn Schedule>>,
}

impl Offload {
    /// On the blocking threads of the tokio runtime that polls the result.
    pub const fn pool() -> Self {
        Self { schedule: None }
    }

    /// In line, in the order of a schedule.
    pub fn in_line(schedule: Arc<dyn Schedule>) -> Self {
        Self { schedule: Some(schedule) }
    }

    /// Runs `work` and resolves with what it returned.
    ///
    /// # Errors
    ///
    /// The error of `work`, or one that says that it panicked.
    pub async fn run<T, E>(
        &self,
        work: impl FnOnce() -> Result<T, E> + Send + 'static,
    ) -> Result<T, Failure>
    where
        T: Send + 'static,
        E: Into<Failure> + Send + 'static,
    {
        match &self.schedule {
            Some(schedule) => {
                yield_times(schedule.yields()).await;
                work().map_err(Into::into)
            }
            None => pooled(work).await,
        }
    }
}

async fn pooled<T, E>(work: impl FnOnce() -> Result<T, E> + Send + 'static) -> Result<T, Failure>
where
    T: Send + 'static,
    E: Into<Failure> + Send + 'static,
{
    #[expect(clippy::disallowed_methods, reason = "this is the place that blocking work goes to")]
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result.map_err(Into::into),
        Err(join) if join.is_panic() => {
            let message = crate::panic::panic_message(join.into_panic());
            Err(Failure::new(format!("blocking work panicked: {message}")))
        }
        Err(_) => Err(Failure::new("blocking work was dropped: the runtime shuts down")),
    }
}
