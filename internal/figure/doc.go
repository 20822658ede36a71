// Package figure draws. Today it draws compiled systems: [Topology] lays out a view
// of one, and a [Diagram] writes itself as SVG, at the size of a slide, as a
// Graphviz file, or as data.
//
// A view only decides where blocks and wires go; scene.go says what those are,
// style.go how everything of a kind looks, svg.go and dot.go write them down. So
// all pictures share fonts, colours and legend, and a new view is a file.
//
// Coordinates are whole pixels and nothing depends on the fonts of the machine:
// same system, same bytes. The width of text is estimated from above, so that it
// fits its box with any common sans-serif font.
//
// The package imports topology and what that needs. It writes no files and
// prints nothing: callers get bytes.
package figure
