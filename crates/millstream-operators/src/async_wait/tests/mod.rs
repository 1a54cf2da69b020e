//! Tests of the machines of calls.
