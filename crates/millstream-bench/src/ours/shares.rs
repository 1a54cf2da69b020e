//! A source of what each of several parallel readers iterates over.

use std::marker::PhantomData;

use millstream::{Data, Failure, ItemsReader, Source, TaskContext};

/// Split `index` of `of` gives the items of `share(index, of)`.
pub(crate) struct Shares<I, F> {
    of: u64,
    share: F,
    items: PhantomData<fn() -> I>,
}

impl<I, F: Fn(u64, u64) -> I> Shares<I, F> {
    pub(crate) fn new(of: u64, share: F) -> Self {
        Self { of, share, items: PhantomData }
    }
}

impl<I, F: Clone> Clone for Shares<I, F> {
    fn clone(&self) -> Self {
        Self { of: self.of, share: self.share.clone(), items: PhantomData }
    }
}

impl<I, F> Source for Shares<I, F>
where
    I: Iterator<Item: Data> + 'static,
    F: Fn(u64, u64) -> I + Clone + Send + 'static,
{
    type Out = I::Item;
    type Position = u64;
    type Reader = ItemsReader<I>;

    fn splits(&self) -> Vec<String> {
        (0..self.of).map(|index| index.to_string()).collect()
    }

    async fn open(
        &self,
        split: &str,
        position: Option<u64>,
        _: &TaskContext,
    ) -> Result<ItemsReader<I>, Failure> {
        ItemsReader::behind((self.share)(split.parse()?, self.of), position.unwrap_or(0))
    }
}
