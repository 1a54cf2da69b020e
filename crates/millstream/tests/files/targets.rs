//! What stands where a sink is to put its file: links are followed, and only files are replaced.
#![cfg(unix)]

use std::fs::{self, FileType, OpenOptions};
use std::os::unix::fs::{FileTypeExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::Command;

use millstream::FileError;
use millstream::prelude::*;

use crate::file_sinks::{CSV, refused, write};
use crate::kit::{Failed, Folder, flight, run};

fn pipe(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

fn kind(path: &Path) -> FileType {
    fs::symlink_metadata(path).unwrap().file_type()
}

/// Writing to a place fails at the start; what is told of that.
async fn told(path: &Path) -> String {
    refused(path).await.file_error(path).to_string()
}

fn replaced(found: &str) -> String {
    format!(
        "the path leads to {found}, which the finished file would replace: name a regular file, \
         or one that is not there yet"
    )
}

fn taken(temporary: &Path, found: &str) -> String {
    format!(
        "the file is written as {}, and that is {found}: take it away, or name another file",
        temporary.display()
    )
}

#[actix::test]
async fn a_pipe_is_not_replaced() {
    let folder = Folder::new();
    let (path, link) = (folder.path("out.csv"), folder.path("link.csv"));
    pipe(&path);
    symlink("out.csv", &link).unwrap();
    assert_eq!(told(&path).await, replaced("a named pipe"));
    assert_eq!(told(&link).await, replaced("a named pipe"));
    assert!(kind(&path).is_fifo() && kind(&link).is_symlink());
    assert_eq!(folder.names(), ["link.csv", "out.csv"]);
}

#[actix::test]
async fn a_socket_is_not_replaced() {
    let folder = Folder::new();
    let path = folder.path("out.csv");
    let _socket = UnixListener::bind(&path).unwrap();
    assert_eq!(told(&path).await, replaced("a socket"));
    assert!(kind(&path).is_socket());
    assert_eq!(folder.names(), ["out.csv"]);
}

#[actix::test]
async fn a_temporary_name_that_no_regular_file_has_is_an_error_at_the_start() {
    let folder = Folder::new();
    let paths = ["pipe", "socket", "folder", "link"].map(|name| folder.path(name));
    let parts =
        ["pipe", "socket", "folder", "link"].map(|name| folder.path(&format!("{name}.part")));
    pipe(&parts[0]);
    // Open at both ends, so that nobody who opens it waits.
    let _pipe = OpenOptions::new().read(true).write(true).open(&parts[0]).unwrap();
    let _socket = UnixListener::bind(&parts[1]).unwrap();
    fs::create_dir(&parts[2]).unwrap();
    let other = folder.file("other", "other");
    symlink(&other, &parts[3]).unwrap();

    let found = ["a named pipe", "a socket", "a folder", "a symbolic link"];
    for ((path, part), found) in paths.iter().zip(&parts).zip(found) {
        assert_eq!(told(path).await, taken(part, found));
    }
    assert!(kind(&parts[0]).is_fifo() && kind(&parts[1]).is_socket());
    assert!(kind(&parts[2]).is_dir() && kind(&parts[3]).is_symlink());
    assert_eq!(fs::read_to_string(&other).unwrap(), "other");
    let names = ["folder.part", "link.part", "other", "pipe.part", "socket.part"];
    assert_eq!(folder.names(), names);
}

/// A folder with links one behind another, in two folders, to a file that may not be there.
fn linked(folder: &Folder) -> (PathBuf, PathBuf) {
    fs::create_dir(folder.path("inner")).unwrap();
    symlink("inner/second.csv", folder.path("first.csv")).unwrap();
    symlink("../data.csv", folder.path("inner/second.csv")).unwrap();
    (folder.path("first.csv"), folder.path("data.csv"))
}

#[actix::test]
async fn a_link_stays_and_the_file_that_it_leads_to_is_replaced() {
    for old in [Some("old"), None] {
        let folder = Folder::new();
        let (link, data) = linked(&folder);
        if let Some(old) = old {
            fs::write(&data, old).unwrap();
        }
        write(&link).await.unwrap();
        assert!(kind(&link).is_symlink() && kind(&folder.path("inner/second.csv")).is_symlink());
        assert!(kind(&data).is_file());
        assert_eq!(fs::read_to_string(&data).unwrap(), CSV);
        assert_eq!(folder.names(), ["data.csv", "first.csv", "inner"]);
        assert_eq!(fs::read_dir(folder.path("inner")).unwrap().count(), 1);
    }
}

#[actix::test]
async fn behind_a_link_the_temporary_file_is_beside_the_file_that_it_leads_to() {
    let folder = Folder::new();
    let (link, _) = linked(&folder);
    let flow = Dataflow::new("write");
    let rows = flow.source("rows", Generate::new(|n| flight("UA", n as u32, None)));
    let _ = rows.sink("out", Csv::to(&link));
    let job = flow.start(Settings::new()).await.unwrap();
    assert_eq!(folder.names(), ["data.csv.part", "first.csv", "inner"]);
    job.cancel().await.unwrap();
    assert_eq!(folder.names(), ["first.csv", "inner"]);
}

#[actix::test]
async fn a_sink_into_a_file_and_one_into_a_link_to_it_are_an_error_at_the_start() {
    let folder = Folder::new();
    let (link, data) = linked(&folder);
    let flow = Dataflow::new("write");
    let [left, right] = flow.source("rows", Items::from([flight("UA", 1, None)])).fork();
    let _ = left.sink("left", Csv::to(&link));
    let _ = right.sink("right", Csv::to(&data));
    let failed = Failed::of(run(&flow, Settings::new()).await);
    let error: &FileError = failed.failure.cause().downcast_ref().unwrap();
    assert!(matches!(error, FileError::InUse), "{error}");
    assert_eq!(folder.names(), ["first.csv", "inner"]);
}

#[actix::test]
async fn links_that_lead_to_a_folder_or_to_one_another_are_an_error_at_the_start() {
    let folder = Folder::new();
    let [to_folder, one, two] = ["folder.csv", "one.csv", "two.csv"].map(|name| folder.path(name));
    symlink(".", &to_folder).unwrap();
    symlink("two.csv", &one).unwrap();
    symlink("one.csv", &two).unwrap();
    let failed = refused(&to_folder).await;
    assert!(matches!(failed.file_error(&to_folder), FileError::IsFolder), "{failed:?}");
    let failed = refused(&one).await;
    assert!(matches!(failed.file_error(&one), FileError::Create(_)), "{failed:?}");
    assert_eq!(folder.names(), ["folder.csv", "one.csv", "two.csv"]);
}
