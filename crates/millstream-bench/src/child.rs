//! A side as a child process: asked a round on its standard input, heard on its standard output.

use std::io::{self, BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread;
use std::time::Duration;

use millstream_bench_workload::{Answer, RoundReport, RoundRequest, line, parse};

use crate::error::BenchError;
use crate::rounds::Player;

/// How long a round may take. Far more than any needs: it is there so that a run ends.
const ROUND_LIMIT: Duration = Duration::from_secs(600);

/// A side's process. It is ended when this is dropped.
#[derive(Debug)]
pub(crate) struct SideProcess {
    side: &'static str,
    process: Child,
    requests: ChildStdin,
    answers: Receiver<io::Result<String>>,
    limit: Duration,
}

impl SideProcess {
    /// Starts the process that `command` says.
    pub(crate) fn start(side: &'static str, mut command: Command) -> Result<Self, BenchError> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let program = command.get_program().into();
        let mut process =
            command.spawn().map_err(|source| BenchError::Start { side, program, source })?;
        let (Some(requests), Some(output)) = (process.stdin.take(), process.stdout.take()) else {
            return Err(BenchError::Ended { side, status: "it has no pipes".to_owned() });
        };
        Ok(Self { side, process, requests, answers: listen(output), limit: ROUND_LIMIT })
    }

    /// Why nothing comes any more.
    fn ended(&mut self) -> BenchError {
        let status = match self.process.wait() {
            Ok(status) => status.to_string(),
            Err(error) => error.to_string(),
        };
        BenchError::Ended { side: self.side, status }
    }

    fn ask(&mut self, request: &RoundRequest) -> Result<(), BenchError> {
        let side = self.side;
        let text = line(request).map_err(|source| BenchError::Protocol { side, source })?;
        let sent = writeln!(self.requests, "{text}").and_then(|()| self.requests.flush());
        match sent {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Err(self.ended()),
            sent => sent.map_err(|source| BenchError::Pipe { side, source }),
        }
    }

    fn hear(&mut self, records: u64) -> Result<Answer, BenchError> {
        let (side, limit) = (self.side, self.limit);
        match self.answers.recv_timeout(limit) {
            Ok(Ok(text)) => parse(&text).map_err(|source| BenchError::Protocol { side, source }),
            Ok(Err(source)) => Err(BenchError::Pipe { side, source }),
            Err(RecvTimeoutError::Disconnected) => Err(self.ended()),
            Err(RecvTimeoutError::Timeout) => Err(BenchError::Silent { side, limit, records }),
        }
    }
}

impl Player for SideProcess {
    fn name(&self) -> &'static str {
        self.side
    }

    fn round(&mut self, request: &RoundRequest) -> Result<RoundReport, BenchError> {
        self.ask(request)?;
        match self.hear(request.records)? {
            Answer::Done(report) => Ok(report),
            Answer::Failed { error } => Err(BenchError::Refused {
                side: self.side,
                workload: request.workload.clone(),
                error,
            }),
        }
    }
}

impl Drop for SideProcess {
    fn drop(&mut self) {
        // Between rounds it has nothing to lose, and in a round that hangs nothing else helps.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Reads lines on a thread of its own, so that waiting for one can have a limit.
fn listen(output: ChildStdout) -> Receiver<io::Result<String>> {
    let (heard, answers) = sync_channel(1);
    thread::spawn(move || {
        for text in BufReader::new(output).lines() {
            if heard.send(text).is_err() {
                break;
            }
        }
    });
    answers
}

#[cfg(test)]
mod tests {
    use super::*;

    fn side(script: &str) -> SideProcess {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        SideProcess::start("script", command).unwrap()
    }

    fn round(side: &mut SideProcess) -> Result<RoundReport, BenchError> {
        side.round(&RoundRequest::new("map"))
    }

    #[test]
    fn a_side_answers_round_after_round() {
        let answer = r#"{"records":1,"seconds":2.5,"cpu_seconds":1.0,"checksum":9,"batches":3}"#;
        let mut side = side(&format!("while read -r request; do echo '{answer}'; done"));
        for _ in 0..3 {
            let report = round(&mut side).unwrap();
            assert_eq!((report.checksum, report.batches), (9, 3));
        }
    }

    #[test]
    fn a_side_that_fails_is_heard() {
        let mut side = side(r#"read -r request; echo '{"error":"too tired"}'; read -r again"#);
        let error = round(&mut side).unwrap_err();
        let text = r#"the side "script" could not do its round of "map": too tired"#;
        assert_eq!(error.to_string(), text);
    }

    #[test]
    fn a_side_that_says_nonsense_is_told_so() {
        let mut side = side("read -r request; echo well; read -r again");
        assert!(matches!(round(&mut side), Err(BenchError::Protocol { side: "script", .. })));
    }

    #[test]
    fn a_side_that_dies_is_an_error_with_its_status() {
        let mut side = side("read -r request; exit 3");
        let error = round(&mut side).unwrap_err().to_string();
        assert!(error.contains("exit status: 3"), "{error}");
    }

    #[test]
    fn a_side_that_hangs_does_not_hang_the_run() {
        let mut side = side("read -r request; read -r never");
        side.limit = Duration::ZERO;
        assert!(matches!(round(&mut side), Err(BenchError::Silent { side: "script", .. })));
    }

    #[test]
    fn a_program_that_is_not_there_is_named() {
        let error = SideProcess::start("gone", Command::new("/no/such/program")).unwrap_err();
        assert_eq!(error.to_string(), r#"the side "gone" cannot be started as /no/such/program"#);
    }
}
