// Package experiment runs independent points in parallel and keeps their rows durably.
//
// A [Point] is one configuration of a grid ([Product]). [Run] calls a function for each
// point, on all cores. It returns the rows in the order of the points, whatever order the
// points ended in. Rows are values of the caller's type; JSON is used only in the file. If
// the caller knows the costs of points, Run can estimate the time left (Options.Progress).
//
// A file of results has lines of JSON. The first line describes the sweep and its columns.
// Each other line is a point that has ended.
//
//	{"sweep":{"identity":"bench ...","programs":["0.1.0 3b34..."],"points":200,"grid":"5f2a...","schema":{...}},"sum":"84bd56a5"}
//	{"point":3,"settings":{"topology":"ring_1d","n_elem":"8"},"row":{...},"sum":"e3114891"}
//
// A line is appended by one write as soon as its point has ended. It is synced to the disk
// together with other lines that were written in the meantime. A process that is killed
// leaves whole lines and perhaps part of a line. The next process that opens the file
// removes the part. The checksum of a line, CRC-32C, covers the line and the description of
// the sweep. So damaged lines and rows of other sweeps are errors that name the line. Files
// of early versions have no checksums and no schema, and can still be read.
//
// When all points have run, a new file with the lines in order replaces the file. So the
// bytes do not depend on the number of workers, on interruptions or on merged shards
// ([Merge]). A lock keeps other processes from writing the file. A file that is removed
// during the sweep is written again. A file that is replaced is not changed; the rows are
// then kept under a new name.
//
// The caller decides what a point means and what a row contains. [ReadFile] reads any file
// of results as tables, also files that are not of an experiment.
package experiment
