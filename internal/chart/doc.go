// Package chart draws results: [Lines] over an axis, [Bars] in groups or stacks,
// [HeatMap]s, and the [Network]s that they are of, as SVG and PNG with the same layout,
// the size of a slide.
//
// A figure only says what is drawn. How it looks has one place each: colours,
// sizes and markers (style.go, marker.go, ramp.go), where ticks lie and what they
// say (ticks.go, format.go), and where title, legend, axes and note go (frame.go).
// pen.go puts text and shapes on a canvas of gonum's vg. What is inside machines, and
// schedules, is drawn by internal/figure; pages that hold figures are in internal/report.
//
// Text is measured with the two fonts that the program carries, never with those
// of the computer: same figure, same bytes. The SVG has real text and no font; it
// names those of the same widths.
//
// The package imports nothing of this module.
package chart
