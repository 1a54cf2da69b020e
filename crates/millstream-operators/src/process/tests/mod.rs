//! Tests of keyed processing.
