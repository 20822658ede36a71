// Package compare reports what changed between two tables of results, and compares our
// machines with published numbers.
//
// [Tables] matches the rows of two tables by their settings. For every other column it
// reports whether the value got worse, got better or stayed the same. The columns (package
// table) or the [Options] say which columns are settings, and whether less or more is
// better. The names of columns do not matter. All calculations use the exact decimals of
// the files. [All] compares all tables of two files or folders.
//
// [GetReference] returns a reference: published measurements, bounds, or results of other
// simulators. Each reference is a CSV file in the folder data, with what is known about it
// and what is not. Benches and figures take such numbers from references, so that no code
// contains them. [Measure] measures on our machines what is most similar to a reference.
package compare
