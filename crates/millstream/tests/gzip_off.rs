//! Proves that without the feature `gzip` a file in gzip is refused with the name of the feature.
#![cfg(all(feature = "json", not(feature = "gzip")))]

use millstream::FileError;
use millstream::prelude::*;

#[actix::test]
async fn a_gzip_file_is_refused_with_the_name_of_the_feature() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("n.jsonl.gz");
    let read = Dataflow::new("read");
    let _ = read.source("file", JsonLines::open(&path)).map(|n: u64| n).collect("out");
    let write = Dataflow::new("write");
    let _ = write.source("n", Items::from([1_u64])).sink("file", JsonLines::to(&path));
    for flow in [read, write] {
        let started = flow.start(Settings::new()).await;
        let Err(StartError::Failed(JobError::Failed { task, failure })) = started else {
            panic!("the job has started");
        };
        assert_eq!(&*task.stage, "file");
        assert_eq!(failure.place().unwrap().file, path);
        assert!(matches!(failure.cause().downcast_ref(), Some(FileError::GzipFeature)));
        assert!(failure.to_string().contains("feature `gzip`"));
    }
}
