//! Reminders as a stage: a timer by the clock on the wall for each, and a second one if nobody has
//! said by then that it is done.

use std::time::Duration;

use millstream::prelude::*;
use serde::{Deserialize, Serialize};

/// What somebody says.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Say {
    /// Remind me of this in so long.
    Remind(Duration),
    /// It is done.
    Done,
}

/// A reminder, and which one for the same thing: the second comes a minute after the first.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) enum Which {
    /// The first.
    First,
    /// The second and last.
    Second,
}

/// How long after the first reminder the second one comes.
const AGAIN: Duration = Duration::from_secs(60);

/// A stage that reminds of things; each is a key.
pub(crate) fn reminders<C>(said: Stream<C>) -> Stream<impl Chain<Out = String>>
where
    C: Chain<Out = (String, Say)>,
{
    said.key_by(|(thing, _)| thing.clone()).process_fn(
        "reminders",
        |(_, said), (): &mut (), cx| match said {
            Say::Remind(after) => cx.replace_processing_timer(cx.now().plus(after), Which::First),
            Say::Done => cx.clear(),
        },
        |fired: Fired<Which>, (), cx| match fired.timer {
            Which::First => {
                cx.emit(format!("remember: {}", cx.key()));
                cx.replace_processing_timer(fired.at.plus(AGAIN), Which::Second);
            }
            Which::Second => cx.emit(format!("really, remember: {}", cx.key())),
        },
    )
}
