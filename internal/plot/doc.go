// Package plot draws columns of a table: it turns a [Request] for columns and rows into a
// figure of package draw.
//
// Columns that a request leaves open are chosen by their roles: y is the first measured
// column with its bounds, x is the setting with the most values, and the settings that
// distinguish the rows define the series. Axes are labelled with the words and units of
// their columns. The words of a column are its label, or else its name written as words
// ([table.Column.Words]). A setting such as "64 GB/s" counts as a number. [Figures] chooses
// the figures that show a table.
//
// Files are read by internal/experiment, and pictures are written by the caller.
package plot
