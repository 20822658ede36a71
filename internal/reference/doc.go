// Package reference has numbers of others to compare ours with: published measurements,
// bounds and results of other simulators, a CSV file each in data, with what is known of
// it and what is not.
//
// [Get] hands out a reference as it was written down; benches and figures take their
// numbers from there, so that none stands in code. [Run] measures what comes nearest on
// our machines and puts it beside, with a sentence on what is different.
//
// Tables are internal/results', collectives are measured by internal/collperf; besides
// these the package imports ccl, topology and tl, and of internal config. Printing is in
// internal/cli.
package reference
