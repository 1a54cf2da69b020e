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
        ItemsReader::behind(self.items.clone().into_iter(), position.unwrap_or(0))
    }
}

/// Reads an iterator: [`Items`] or a split of a source of your own. The position is the number of
/// items given.
///
/// # Examples
///
/// A source with a split for each tenth of the numbers below a thousand:
///
/// ```
/// use millstream::prelude::*;
/// use millstream::{ItemsReader, Source, TaskContext};
/// use std::ops::Range;
///
/// #[derive(Clone)]
/// struct Tenths;
///
/// impl Source for Tenths {
///     type Out = u32;
///     type Position = u64;
///     type Reader = ItemsReader<Range<u32>>;
///
///     fn splits(&self) -> Vec<String> {
///         (0..10).map(|tenth| tenth.to_string()).collect()
///     }
///
///     async fn open(
///         &self,
///         split: &str,
///         position: Option<u64>,
///         _: &TaskContext,
///     ) -> Result<Self::Reader, Failure> {
///         let first = split.parse::<u32>()? * 100;
///         ItemsReader::behind(first..first + 100, position.unwrap_or(0))
///     }
/// }
///
/// let flow = Dataflow::new("tenths");
/// let _ = flow.source("numbers", Tenths).collect("out");
/// ```
#[derive(Clone, Debug)]
pub struct ItemsReader<I> {
    /// Gone after a panic of the iterator.
    items: Option<I>,
    given: u64,
}

impl<I: Iterator> ItemsReader<I> {
    /// The items behind the first `given` ones.
    ///
    /// # Errors
    ///
    /// When there are fewer than `given`.
    pub fn behind(mut items: I, given: u64) -> Result<Self, Failure> {
        if let Some(last) = given.checked_sub(1)
            && items.nth(usize::try_from(last)?).is_none()
        {
            return Err(Failure::new(format!("there are fewer than {given} items now")));
        }
        Ok(Self { items: Some(items), given })
    }
}

impl<I: Iterator<Item: Data> + 'static> Reader for ItemsReader<I> {
    type Out = I::Item;
    type Position = u64;

    fn read(&mut self, cx: &mut ReadContext<'_, '_, I::Item>) -> Result<Read, Failure> {
        // Taken out of its place, so that it need not be put back into memory for each item.
        let Some(mut items) = self.items.take() else { return Ok(Read::Ended) };
        let budget = cx.budget();
        cx.extend(items.by_ref().take(budget).map(Stamped::new));
        self.items = Some(items);
        let given = budget - cx.budget();
        self.given += given as u64;
        Ok(if given < budget { Read::Ended } else { Read::Ready })
    }

    fn position(&self) -> u64 {
        self.given
    }
}
