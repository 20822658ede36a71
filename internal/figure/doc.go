// Package figure draws. [Topology] lays out a view of a compiled system, and a
// [Diagram] writes itself as SVG, at the size of a slide, as a Graphviz file, or as
// data. [Gantt] draws schedules on an axis of time as SVG.
//
// A view only decides where blocks and wires go; scene.go says what those are,
// style.go how everything of a kind looks, svg.go and dot.go write them down. So
// all pictures share fonts, colours and legend, and a new view is a file.
//
// Coordinates are whole pixels, those of times tenths of one, and nothing depends
// on the fonts of the machine: same input, same bytes. The width of text is
// estimated from above, so that it fits its box with any common sans-serif font.
//
// The package imports topology and what that needs, and internal/report for
// the data of Gantt charts and the ticks of time. It writes no files and prints
// nothing: callers get bytes.
package figure
