//! Nothing sets the timers of an operator in a graph yet, so it must have none.

use millstream::prelude::*;

struct Alarm;

impl Operator for Alarm {
    type In = i32;
    type Out = i32;
    type Timer = i32;

    fn on_record(
        &mut self,
        _: Stamped<i32>,
        _: &mut Effects<i32, i32>,
    ) -> Result<(), Failure> {
        Ok(())
    }
}

fn main() {
    let flow = Dataflow::new("flights");
    let delays = flow.source("delays", Items::from(0..9));
    let _ = delays.operator("alarm", |_: &TaskInfo| Alarm);
}
