//! Gzip files: read as the text in them, all members of it, and never mistaken for whole when cut.

use millstream::FileError;
use millstream::prelude::*;

use crate::kit::{Failed, Folder, gzip, read, read_all};

fn numbers(from: u64, to: u64) -> String {
    (from..to).map(|n| format!("{n},{}\n", n * n)).collect()
}

#[actix::test]
async fn a_gzip_file_reads_as_the_text_in_it() {
    let folder = Folder::new();
    let text = format!("\u{feff}n,square\n{}", numbers(0, 10_000));
    let path = folder.file("squares.CSV.GZ", gzip(text));
    let out: Vec<(u64, u64)> = read_all(Csv::open(&path)).await;
    assert_eq!(out, (0..10_000).map(|n| (n, n * n)).collect::<Vec<_>>());
}

#[actix::test]
async fn all_members_of_a_gzip_file_are_read() {
    let folder = Folder::new();
    let parts = ["", "n,sq", "uare\n1,", "1\n2,4", "", "\n"];
    let path = folder.file("squares.csv.gz", parts.map(gzip).concat());
    let out: Vec<(u64, u64)> = read_all(Csv::open(&path)).await;
    assert_eq!(out, [(1, 1), (2, 4)]);
}

#[actix::test]
async fn a_gzip_file_that_is_cut_short_fails_behind_the_rows_before_the_cut() {
    let folder = Folder::new();
    let whole = gzip(format!("n,square\n{}", numbers(0, 100_000)));
    let path = folder.file("squares.csv.gz", &whole[..whole.len() / 2]);
    let (out, ended) = read(Csv::<(u64, u64)>::open(&path)).await;
    let failed = Failed::of(ended);
    assert!(matches!(failed.file_error(&path), FileError::GzipCut));
    assert_eq!(failed.task, "read/file/0");
    assert!(out.len() > 1_000, "{} rows", out.len());
    assert_eq!(failed.line(), Some(out.len() as u64 + 2));
    assert!(out.into_iter().enumerate().all(|(n, row)| row == (n as u64, (n * n) as u64)));
}

#[actix::test]
async fn a_gzip_file_is_cut_short_wherever_it_is_cut() {
    let folder = Folder::new();
    let whole = gzip("n,square\n1,1\n2,4\n");
    for length in 0..whole.len() {
        let path = folder.file("squares.csv.gz", &whole[..length]);
        let (_, ended) = read(Csv::<(u64, u64)>::open(&path)).await;
        let failed = Failed::of(ended);
        assert!(matches!(failed.file_error(&path), FileError::GzipCut), "{failed:?}");
    }
}

#[actix::test]
async fn a_damaged_gzip_file_is_told_apart_from_a_cut_one() {
    let folder = Folder::new();
    let mut bytes = gzip(format!("n,square\n{}", numbers(0, 10_000)));
    let checksum = bytes.len() - 8;
    bytes[checksum] ^= 1;
    let path = folder.file("squares.csv.gz", bytes);
    let (_, ended) = read(Csv::<(u64, u64)>::open(&path)).await;
    let failed = Failed::of(ended);
    assert!(matches!(failed.file_error(&path), FileError::Gzip(_)), "{failed:?}");

    let path = folder.file("plain.csv.gz", "n,square\n1,1\n2,4\n");
    let (_, ended) = read(Csv::<(u64, u64)>::open(&path)).await;
    let failed = Failed::of(ended);
    assert!(matches!(failed.file_error(&path), FileError::Gzip(_)), "{failed:?}");
}

#[actix::test]
async fn lines_of_json_come_out_of_gzip_too() {
    let folder = Folder::new();
    let path = folder.file("n.jsonl.gz", [gzip("1\n2"), gzip("0\n3")].concat());
    assert_eq!(read_all(JsonLines::<u32>::open(&path)).await, [1, 20, 3]);
    let whole = gzip("1\n2\n");
    let path = folder.file("n.jsonl.gz", &whole[..whole.len() - 3]);
    let (_, ended) = read(JsonLines::<u32>::open(&path)).await;
    assert!(matches!(Failed::of(ended).file_error(&path), FileError::GzipCut));
}
