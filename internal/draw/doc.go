// Package draw draws figures as SVG and PNG with the same layout.
//
// A figure lays itself out on a canvas (canvas.go): a list of painted paths, lines of text and
// groups with a tooltip, in pixels with y growing down. The canvas writes the list as SVG
// (svg.go), where text stays text, or paints it as PNG (png.go, stroke.go). A figure chooses its
// size; charts are 960×540.
//
// How things look has one place each: colours, sizes and fonts in style.go, hatches of fills in
// hatch.go. Text is measured with the two fonts that the program carries (text.go), for both
// formats and never with the fonts of the computer: same figure, same bytes. The SVG has no
// font in it and names those of the same widths.
//
// The package imports internal/printable, because names may hold characters that no picture
// should show. It writes no files: callers get bytes.
package draw
