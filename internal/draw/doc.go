// Package draw draws figures as SVG and PNG with the same layout: [Lines] over an axis, [Bars]
// in groups, [HeatMap]s, schedules ([Gantt]), and machines: a view of one ([Topology])
// and the networks of several ([Systems]).
//
// A figure says what is drawn and checks its data. It lays itself out on a canvas (canvas.go): a
// list of painted paths, lines of text and groups with a tooltip, in pixels with y growing down.
// The canvas writes the list as SVG (svg.go), where text stays text, or paints it as PNG (png.go,
// path.go). A figure chooses its size; charts are 960×540, diagrams and Gantt charts 1600 wide
// and as high as they need (canvas.go).
//
// How things look has one place each: colours, sizes and fonts (style.go, heat.go), marks, dashes
// and fills of series (style.go, hatch.go), where ticks are and what they say (ticks.go,
// ruler.go), and where title, legend and note go (frame.go).
//
// A view of a machine decides where blocks and wires go (system.go and arrange.go, sip.go, cube.go,
// pe.go). overrides.go says what overrides did to its links, labels.go finds room for their numbers,
// and diagram.go paints everything. A [Diagram] is also a Graphviz file and data (dot.go),
// and a Gantt chart also text (gantt_text.go).
//
// Text is measured with the two fonts that the program carries (text.go), for both formats and
// never with the fonts of the computer: same figure, same bytes. The SVG has no font in it and
// names those of the same widths.
//
// The package imports topology and sim, for machines and times, and internal/printable, because
// names may hold characters that no picture should show. It writes no files: callers get bytes.
package draw
