//! Side outputs: further ways out of an operator, each with a type and a name of its own.

use std::any::{Any, type_name};
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use millstream_core::{Data, Stamped};

use crate::let_go_all;

/// The typed name of a side output, shared by the operator that writes it and the graph that reads
/// it.
///
/// # Examples
///
/// ```
/// use millstream_operators::SideOutput;
///
/// let late: SideOutput<u64> = SideOutput::new("late");
/// assert_eq!(late.name(), "late");
/// ```
pub struct SideOutput<T> {
    name: Arc<str>,
    value: PhantomData<fn() -> T>,
}

impl<T> SideOutput<T> {
    /// A side output of this name. Within one operator a name stands for one type.
    pub fn new(name: impl Into<Arc<str>>) -> Self {
        Self { name: name.into(), value: PhantomData }
    }

    /// The name in the plan and in metrics.
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl<T> Clone for SideOutput<T> {
    fn clone(&self) -> Self {
        Self { name: self.name.clone(), value: PhantomData }
    }
}

impl<T> fmt::Debug for SideOutput<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SideOutput<{}>({:?})", type_name::<T>(), self.name)
    }
}

/// The records of one side output that wait to be taken; holds those of its type.
pub struct SideBuffer {
    name: Arc<str>,
    type_name: &'static str,
    records: Box<dyn Any + Send>,
}

impl SideBuffer {
    /// An empty buffer for this output.
    pub fn of<T: Data>(output: &SideOutput<T>) -> Self {
        Self {
            name: output.name.clone(),
            type_name: type_name::<T>(),
            records: Box::new(Values::<T>(Vec::new())),
        }
    }

    /// The output's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The records, if they are of this type.
    pub fn records<T: Data>(&mut self) -> Option<&mut Vec<Stamped<T>>> {
        self.records.downcast_mut::<Values<T>>().map(|values| &mut values.0)
    }
}

/// Records of a user's type, dropped one by one.
struct Values<T>(Vec<Stamped<T>>);

impl<T> Drop for Values<T> {
    fn drop(&mut self) {
        let_go_all(&mut self.0);
    }
}

/// The side outputs that something reads. What is written to any other is counted and dropped.
#[derive(Default)]
pub struct SideBuffers {
    buffers: Vec<SideBuffer>,
    unread: u64,
    /// The first record that was written under a known name with another type.
    mismatch: Option<String>,
}

impl SideBuffers {
    /// Buffers for these outputs.
    pub fn new(buffers: Vec<SideBuffer>) -> Self {
        Self { buffers, unread: 0, mismatch: None }
    }

    /// Adds a record for an output; if nothing reads that output, the record is counted and
    /// dropped.
    pub fn push<T: Data>(&mut self, output: &SideOutput<T>, record: Stamped<T>) {
        let Some(buffer) = self.buffers.iter_mut().find(|buffer| buffer.name == output.name) else {
            self.unread += 1;
            return;
        };
        let expected = buffer.type_name;
        match buffer.records() {
            Some(records) => records.push(record),
            None => {
                self.mismatch.get_or_insert_with(|| {
                    format!(
                        "side output {:?} is read as {expected} and written as {}",
                        output.name,
                        type_name::<T>()
                    )
                });
            }
        }
    }

    /// All buffers, in the order they were given.
    pub fn buffers(&mut self) -> &mut [SideBuffer] {
        &mut self.buffers
    }

    /// How many records were written to outputs that nothing reads, since the last call.
    pub fn take_unread(&mut self) -> u64 {
        std::mem::take(&mut self.unread)
    }

    /// Whether a record was written with a type that its reader does not expect.
    pub(crate) const fn has_mismatch(&self) -> bool {
        self.mismatch.is_some()
    }

    /// What to say if a record was written with a type that its reader does not expect.
    pub fn take_mismatch(&mut self) -> Option<String> {
        self.mismatch.take()
    }
}
