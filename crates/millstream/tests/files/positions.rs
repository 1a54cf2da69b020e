//! Reading a file in two halves is reading it at once, wherever it is cut.

use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex};

use millstream::prelude::*;
use millstream::{
    FileError, FilePosition, Read, ReadContext, Reader, Record, Source, TaskContext, codec,
};

use crate::kit::{Failed, Folder, gzip, run};

type Positions = Arc<Mutex<Vec<FilePosition>>>;

/// A source that begins at a position and notes those it comes to.
#[derive(Clone)]
struct Noted<S> {
    source: S,
    from: Option<FilePosition>,
    positions: Positions,
}

struct NotedReader<R> {
    reader: R,
    positions: Positions,
}

impl<S: Source<Position = FilePosition>> Source for Noted<S> {
    type Out = S::Out;
    type Position = FilePosition;
    type Reader = NotedReader<S::Reader>;

    async fn open(
        &self,
        split: &str,
        _: Option<FilePosition>,
        task: &TaskContext,
    ) -> Result<Self::Reader, Failure> {
        let reader = self.source.open(split, self.from, task).await?;
        Ok(NotedReader { reader, positions: self.positions.clone() })
    }
}

impl<R: Reader<Position = FilePosition>> Reader for NotedReader<R> {
    type Out = R::Out;
    type Position = FilePosition;

    fn read(&mut self, cx: &mut ReadContext<'_, '_, R::Out>) -> Result<Read, Failure> {
        assert_eq!(cx.budget(), 1);
        let said = self.reader.read(cx);
        if cx.budget() == 0 {
            // As it comes back out of a snapshot.
            let stored = codec::encode(&self.reader.position()).unwrap();
            self.positions.lock().unwrap().push(codec::decode(&stored).unwrap());
        }
        said
    }

    fn position(&self) -> FilePosition {
        self.reader.position()
    }
}

/// What a source gives from a position on: values, bad rows, and the positions behind the values.
async fn read_from<S: Source<Out: Record, Position = FilePosition>>(
    source: S,
    bad: &SideOutput<BadRow>,
    from: Option<FilePosition>,
) -> (Vec<S::Out>, Vec<BadRow>, Vec<FilePosition>) {
    let positions = Positions::default();
    let flow = Dataflow::new("read");
    let rows = flow.source("file", Noted { source, from, positions: positions.clone() });
    let bad = rows.side_output(bad).collect("bad");
    let good = rows.collect("good");
    run(&flow, Settings::new().batch_records(1)).await.unwrap();
    let positions = positions.lock().unwrap().clone();
    (good.take(), bad.take(), positions)
}

/// Reads at once, and again from each position; the bad rows behind it keep their lines.
async fn every_cut<S>(source: S, bad: &SideOutput<BadRow>, rows: usize, bad_rows: usize)
where
    S: Source<Out: Record + PartialEq + std::fmt::Debug, Position = FilePosition>,
{
    let (all, all_bad, positions) = read_from(source.clone(), bad, None).await;
    assert_eq!((all.len(), all_bad.len(), positions.len()), (rows, bad_rows, rows));
    for (at, position) in positions.into_iter().enumerate() {
        let (rest, rest_bad, _) = read_from(source.clone(), bad, Some(position)).await;
        assert_eq!(rest, all[at + 1..], "behind row {}", at + 1);
        let bad_behind = all_bad.iter().filter(|row| row.line > position.lines);
        assert!(rest_bad.iter().eq(bad_behind), "behind row {}: {rest_bad:?}", at + 1);
    }
}

#[actix::test]
async fn csv_is_read_on_behind_any_row() {
    let folder = Folder::new();
    let text = "\u{feff}\nname,n\n\na,1\n\"b\n\nb\",2\n\nx\n\"c,\"\"\",3\ny\n\nd,4\ne,5";
    for line_break in ["\n", "\r\n", "\r"] {
        for last in ["", line_break] {
            let text = format!("{}{last}", text.replace('\n', line_break));
            let plain = folder.file("t.csv", &text);
            let packed = folder.file("t.csv.gz", gzip(&text));
            for path in [plain, packed] {
                let bad = SideOutput::new("bad");
                let source = Csv::<(String, u32)>::open(path).bad_rows_to(&bad);
                every_cut(source, &bad, 5, 2).await;
            }
        }
    }
}

#[actix::test]
async fn lines_of_json_are_read_on_behind_any_line() {
    let folder = Folder::new();
    let text = "\u{feff}1\n\n2\r\nx\n  3 \n4\n\n\"giant, giant, giant\"\n5\n6";
    for last in ["", "\n", "\n\n"] {
        let text = format!("{text}{last}");
        let plain = folder.file("t.jsonl", &text);
        let packed = folder.file("t.jsonl.gz", gzip(&text));
        for path in [plain, packed] {
            let bad = SideOutput::new("bad");
            let source = JsonLines::<u32>::open(path).bad_rows_to(&bad);
            every_cut(source.line_bytes(NonZeroUsize::new(10).unwrap()), &bad, 6, 2).await;
        }
    }
}

#[actix::test]
async fn a_position_behind_the_end_of_a_changed_file_is_an_error() {
    let folder = Folder::new();
    let plain = folder.file("t.csv", "n\n1\n2\n");
    let packed = folder.file("t.csv.gz", gzip("n\n1\n2\n"));
    for path in [plain, packed] {
        let from = Some(FilePosition { bytes: 7, lines: 4 });
        let source = Csv::<u32>::open(&path);
        let flow = Dataflow::new("read");
        let noted = Noted { source, from, positions: Positions::default() };
        let _ = flow.source("file", noted).collect("out");
        let failed = Failed::of(run(&flow, Settings::new().batch_records(1)).await);
        assert!(matches!(failed.file_error(&path), FileError::Shorter { bytes: 7 }), "{failed:?}");
    }
}
