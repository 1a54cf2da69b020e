//! A source of what each of several parallel readers iterates over.

use std::marker::PhantomData;

use millstream::{Data, Failure, Read, ReadContext, Reader, Source, Stamped, TaskContext};

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
    type Reader = ShareReader<I>;

    fn splits(&self) -> Vec<String> {
        (0..self.of).map(|index| index.to_string()).collect()
    }

    async fn open(
        &self,
        split: &str,
        position: Option<u64>,
        _: &TaskContext,
    ) -> Result<ShareReader<I>, Failure> {
        let mut items = (self.share)(split.parse()?, self.of);
        let given = position.unwrap_or(0);
        items.by_ref().take(usize::try_from(given)?).for_each(drop);
        Ok(ShareReader { items, given })
    }
}

pub(crate) struct ShareReader<I> {
    items: I,
    given: u64,
}

impl<I: Iterator<Item: Data> + 'static> Reader for ShareReader<I> {
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
