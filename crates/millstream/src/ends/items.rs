//! A source of the items of an iterator.

use millstream_core::{Data, Failure, Stamped};
use millstream_runtime::{Read, ReadContext, Reader, Source, TaskContext};

/// The items of something that can be iterated over again and again: a vector, an array, a range.
/// One split.
///
/// # On recovery
///
/// The position is the number of items given; that many are skipped.
///
/// # Examples
///
/// ```
/// use millstream::prelude::*;
///
/// let flow = Dataflow::new("items");
/// let _ = flow.source("numbers", Items::from(vec![1, 2, 3])).collect("out");
/// ```
#[derive(Clone, Debug)]
pub struct Items<I> {
    items: I,
}

impl<I: IntoIterator<Item: Data> + Clone + Send + 'static> From<I> for Items<I> {
    fn from(items: I) -> Self {
        Self { items }
    }
}

impl<I> Source for Items<I>
where
    I: IntoIterator<Item: Data> + Clone + Send + 'static,
{
    type Out = I::Item;
    type Position = u64;
    type Reader = ItemsReader<I::IntoIter>;

    async fn open(
        &self,
        _: &str,
        position: Option<u64>,
        _: &TaskContext,
    ) -> Result<Self::Reader, Failure> {
        let mut items = self.items.clone().into_iter();
        let given = position.unwrap_or(0);
        if let Some(last) = given.checked_sub(1) {
            let last = usize::try_from(last)?;
            if items.nth(last).is_none() {
                return Err(Failure::new(format!("there are fewer than {given} items now")));
            }
        }
        Ok(ItemsReader { items, given })
    }
}

/// Reads [`Items`].
pub struct ItemsReader<I> {
    items: I,
    given: u64,
}

impl<I: Iterator<Item: Data> + 'static> Reader for ItemsReader<I> {
    type Out = I::Item;
    type Position = u64;

    fn read(&mut self, cx: &mut ReadContext<'_, '_, I::Item>) -> Result<Read, Failure> {
        let budget = cx.budget();
        cx.extend(self.items.by_ref().take(budget).map(Stamped::new));
        let given = budget - cx.budget();
        self.given += given as u64;
        Ok(if given < budget { Read::Ended } else { Read::Ready })
    }

    fn position(&self) -> u64 {
        self.given
    }
}
