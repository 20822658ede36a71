// Package compare says what changed between two tables of results, and measures what comes
// nearest to numbers of others.
//
// [Tables] matches the rows of two tables by their settings and says of every other column
// whether it got worse, better, or stayed. Which columns are settings, and whether less or
// more is better, is what the columns say (package table) or the [Options]; names tell
// nothing. It calculates with the decimals of the files, exactly. [All] does so for all
// tables of two files or folders.
//
// [GetReference] returns numbers of others: published measurements, bounds and results of
// other simulators, a CSV file each in data, with what is known of it and what is not.
// Benches and figures take such numbers from there, so that none stands in code. [Measure]
// measures what comes nearest on our machines.
package compare
