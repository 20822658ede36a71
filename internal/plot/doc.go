// Package plot draws columns of a table: a [Request] of columns and rows becomes a figure of
// package draw.
//
// What a request leaves open is chosen by the roles of columns: the first measured column
// with its bounds, over the setting with the most numbers, a series for each value of the
// settings that tell the rows apart. Axes have the words and units of their columns; a
// setting such as "64 GB/s" is a number. [Figures] chooses the figures that show a table.
//
// Reading files is internal/experiment, writing pictures the caller's affair.
package plot
