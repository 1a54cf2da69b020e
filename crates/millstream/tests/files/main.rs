//! Proves what the ends that are files promise, by jobs that read and write real ones.
#![cfg(all(feature = "csv", feature = "gzip", feature = "json"))]

#[cfg(test)]
mod csv_rows;
#[cfg(test)]
mod csv_source;
#[cfg(test)]
mod file_sinks;
#[cfg(test)]
mod gzip;
#[cfg(test)]
mod json_lines;
#[cfg(test)]
mod kit;
#[cfg(test)]
mod positions;
#[cfg(test)]
mod round_trip;
#[cfg(test)]
mod targets;
#[cfg(test)]
mod transactions;
