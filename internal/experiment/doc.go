// Package experiment runs independent points in parallel and keeps their rows durably.
//
// A [Point] is one configuration of a grid ([Product]). [Run] calls a function for each point, on all
// cores, and returns their rows in the order of the points, whatever order they ended in.
// Rows are values of the caller's type; JSON is for the file alone. The costs of points,
// where the caller knows them, give the time left ([Progress]).
//
// A file of results is lines of JSON: one that says what the sweep is and which columns it
// has, and one for each point that has ended.
//
//	{"sweep":{"identity":"bench ...","programs":["0.1.0 3b34..."],"points":200,"grid":"5f2a...","schema":{...}},"sum":"84bd56a5"}
//	{"point":3,"settings":{"topology":"ring_1d","n_elem":"8"},"row":{...},"sum":"e3114891"}
//
// A line is appended by one write as soon as its point has ended, and synced to the
// disk with those that end meanwhile. A process that is killed leaves whole lines
// and perhaps part of one, which the next to open the file cuts off. The checksum of a
// line, CRC-32C, covers the line and what the sweep is, so that damage and rows of other
// sweeps are refused with their line. Files of early versions have no checksums and no
// schema and are still read.
//
// When all points have been run the lines are put in order, by a file that takes the
// place of the first, so that neither workers nor interruptions nor shards that were
// merged ([Merge]) show in the bytes. A lock keeps a second process from the file. A file
// that is removed during the sweep is written again; one that is replaced is left alone,
// and the rows are kept under a new name.
//
// What a point means, and what a row holds, is the caller's affair. [ReadFile] reads any
// file of results, of an experiment or not, as tables.
package experiment
