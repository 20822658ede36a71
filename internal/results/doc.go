// Package results reads the results that the tool writes, whatever file they are in, as a
// table of cells, and compares two of them.
//
// [Read] takes CSV, the JSON of run, coll and others with rows, and the JSONL of sweeps.
// Cells stay as they are written, so that nothing is lost between a file and a table.
// [Compare] matches the rows of two tables by what they are about, and says of what was
// measured whether it got worse, better, or stayed; it calculates with the decimals of
// the files, exactly.
//
// Where results come from is not known here: no package of the simulator is imported, of
// this module only internal/config, for words that are nearly right. What is printed of
// a comparison is in internal/cli.
package results
