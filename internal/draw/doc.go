// Package draw draws figures as SVG and PNG with the same layout: [Lines] over an axis,
// [Bars] in groups, [HeatMap]s, schedules ([Gantt]), one view of a machine ([Topology]) and
// the networks of several machines ([Systems]).
//
// A figure holds what is drawn and checks its data. It lays itself out on a canvas
// (canvas.go): a list of painted paths, lines of text and groups with a tooltip.
// Coordinates are in pixels, with y growing down. The canvas writes the list as SVG
// (svg.go), where text stays text, or paints it as PNG (png.go, path.go). A figure chooses
// its size. Charts are 960×540 pixels, or higher with many panels. Diagrams and Gantt charts
// are at least 1600 pixels wide and as high as they need (canvas.go).
//
// Each aspect of the appearance is defined once: colours, sizes and fonts (style.go,
// heat.go); marks, dashes and fills of series (style.go, hatch.go); positions and labels of
// ticks (ticks.go, ruler.go); positions of title, legend and note (frame.go).
//
// The layout of a view of a machine computes where blocks and wires go (system.go and
// arrange.go, sip.go, cube.go, pe.go). overrides.go computes the effect of overrides on
// links, labels.go finds space for the labels of wires, and diagram.go paints everything. A
// [Diagram] can also be written as a Graphviz file and as data (dot.go), and a Gantt chart
// as text (gantt_text.go).
//
// Text is measured with two fonts that are part of the program (text.go), for both formats,
// and never with the fonts of the computer. Therefore the same figure always has the same
// bytes. The SVG does not embed a font; it names fonts with the same widths.
//
// The package imports topology and simtime for machines and times, and internal/printable
// because names may contain characters that a picture must not show. It writes no files:
// callers receive bytes.
package draw
