//! A file that is complete gets its name once, however often and by whomever that is asked for.

use std::fs;
use std::sync::{Arc, Mutex};

use millstream::prelude::*;
use millstream::{CsvSink, Epoch, FileError, FileTransaction, Sink, TaskContext, Writer, codec};

use crate::kit::{Failed, Flight, Folder, flight, run};

type Prepared = Arc<Mutex<Vec<FileTransaction>>>;

/// A sink that is opened with transactions of an earlier life, and may die before it commits.
#[derive(Clone)]
struct Reborn {
    sink: CsvSink<Flight>,
    restored: Vec<FileTransaction>,
    dies: bool,
    prepared: Prepared,
}

struct RebornWriter {
    writer: <CsvSink<Flight> as Sink>::Writer,
    dies: bool,
    prepared: Prepared,
}

impl Sink for Reborn {
    type In = Flight;
    type Transaction = FileTransaction;
    type Writer = RebornWriter;

    async fn open(
        &self,
        task: &TaskContext,
        _: Vec<FileTransaction>,
    ) -> Result<RebornWriter, Failure> {
        let writer = self.sink.open(task, self.restored.clone()).await?;
        Ok(RebornWriter { writer, dies: self.dies, prepared: self.prepared.clone() })
    }
}

impl Writer for RebornWriter {
    type In = Flight;
    type Transaction = FileTransaction;

    fn write(&mut self, batch: &mut Vec<Stamped<Flight>>) -> Result<(), Failure> {
        self.writer.write(batch)
    }

    async fn flush(&mut self) -> Result<(), Failure> {
        self.writer.flush().await
    }

    async fn prepare(&mut self, epoch: Epoch) -> Result<Option<FileTransaction>, Failure> {
        let transaction = self.writer.prepare(epoch).await?;
        self.prepared.lock().unwrap().extend(transaction.clone());
        Ok(transaction)
    }

    async fn commit(&mut self, transaction: FileTransaction) -> Result<(), Failure> {
        if self.dies {
            return Err(Failure::new("died"));
        }
        self.writer.commit(transaction.clone()).await?;
        self.writer.commit(transaction).await
    }
}

/// Runs a job of so many flights into `out.csv`; what was prepared, and how it ended.
async fn live(
    folder: &Folder,
    flights: u32,
    restored: &[FileTransaction],
    dies: bool,
) -> (Vec<FileTransaction>, Result<(), JobError>) {
    let sink = Csv::to(folder.path("out.csv"));
    let prepared = Prepared::default();
    let sink = Reborn { sink, restored: restored.to_vec(), dies, prepared: prepared.clone() };
    let flow = Dataflow::new("live");
    let rows = (0..flights).map(|n| flight("UA", n, None)).collect::<Vec<_>>();
    let _ = flow.source("rows", Items::from(rows)).sink("out", sink);
    let ended = run(&flow, Settings::new()).await;
    let prepared = prepared.lock().unwrap().clone();
    (prepared, ended)
}

/// A life that has prepared a file of two rows and died.
async fn dead(folder: &Folder) -> FileTransaction {
    let (prepared, ended) = live(folder, 2, &[], true).await;
    assert_eq!(Failed::of(ended).failure.to_string(), "died");
    assert_eq!(folder.names(), ["out.csv.part"]);
    prepared[0].clone()
}

const CONTENT: &str = "carrier,flight,dep_delay\nUA,0,\nUA,1,\n";

#[actix::test]
async fn a_commit_that_is_made_twice_is_made_once() {
    let folder = Folder::new();
    live(&folder, 2, &[], false).await.1.unwrap();
    assert_eq!(fs::read_to_string(folder.path("out.csv")).unwrap(), CONTENT);
    assert_eq!(folder.names(), ["out.csv"]);
}

#[actix::test]
async fn a_later_life_commits_what_an_earlier_one_has_prepared() {
    let folder = Folder::new();
    let transaction = dead(&folder).await;
    assert_eq!(transaction.bytes, CONTENT.len() as u64);
    let stored = codec::encode(&transaction).unwrap();
    let transaction: FileTransaction = codec::decode(&stored).unwrap();
    for _ in 0..2 {
        let (prepared, ended) = live(&folder, 0, std::slice::from_ref(&transaction), false).await;
        ended.unwrap();
        assert_eq!(prepared, []);
        assert_eq!(folder.names(), ["out.csv"]);
        assert_eq!(fs::read_to_string(folder.path("out.csv")).unwrap(), CONTENT);
    }
}

#[actix::test]
async fn records_behind_a_complete_file_are_an_error() {
    let folder = Folder::new();
    let transaction = dead(&folder).await;
    let failed = Failed::of(live(&folder, 1, &[transaction], false).await.1);
    assert!(matches!(failed.file_error(&folder.path("out.csv")), FileError::Complete));
    assert_eq!(fs::read_to_string(folder.path("out.csv")).unwrap(), CONTENT);
}

/// A sink that is asked to prepare before its last record.
#[derive(Clone)]
struct Early(CsvSink<Flight>);

struct EarlyWriter(<CsvSink<Flight> as Sink>::Writer);

impl Sink for Early {
    type In = Flight;
    type Transaction = FileTransaction;
    type Writer = EarlyWriter;

    async fn open(
        &self,
        task: &TaskContext,
        restored: Vec<FileTransaction>,
    ) -> Result<EarlyWriter, Failure> {
        let mut writer = self.0.open(task, restored).await?;
        writer.prepare(Epoch::new(1)).await?;
        Ok(EarlyWriter(writer))
    }
}

impl Writer for EarlyWriter {
    type In = Flight;
    type Transaction = FileTransaction;

    fn write(&mut self, batch: &mut Vec<Stamped<Flight>>) -> Result<(), Failure> {
        self.0.write(batch)
    }

    async fn flush(&mut self) -> Result<(), Failure> {
        self.0.flush().await
    }
}

#[actix::test]
async fn records_behind_a_prepared_file_are_an_error() {
    let folder = Folder::new();
    let flow = Dataflow::new("early");
    let rows = Items::from([flight("UA", 1, None)]);
    let _ = flow.source("rows", rows).sink("out", Early(Csv::to(folder.path("out.csv"))));
    let failed = Failed::of(run(&flow, Settings::new()).await);
    assert!(matches!(failed.file_error(&folder.path("out.csv")), FileError::Complete));
    assert_eq!(folder.names(), ["out.csv.part"]);
}

#[actix::test]
async fn a_prepared_file_that_is_not_as_it_was_left_is_an_error() {
    let folder = Folder::new();
    let transaction = dead(&folder).await;
    folder.file("out.csv.part", "less");
    folder.file("out.csv", "something else");
    let failed = Failed::of(live(&folder, 0, &[transaction], false).await.1);
    assert!(matches!(failed.file_error(&folder.path("out.csv")), FileError::Gone { .. }));
    assert_eq!(fs::read_to_string(folder.path("out.csv")).unwrap(), "something else");
}

#[actix::test]
async fn the_rest_of_another_run_does_not_take_the_place_of_a_committed_file() {
    let folder = Folder::new();
    let transaction = dead(&folder).await;
    live(&folder, 0, std::slice::from_ref(&transaction), false).await.1.unwrap();
    folder.file("out.csv.part", "the beginning of another");
    live(&folder, 0, &[transaction], false).await.1.unwrap();
    assert_eq!(fs::read_to_string(folder.path("out.csv")).unwrap(), CONTENT);
}
