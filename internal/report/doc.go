// Package report holds charts of schedules and pages of results.
//
// A [Gantt] is a set of schedules: here it becomes text, and in internal/figure a picture. A
// [Page] is figures, tables and the commands that make them again as one HTML file.
package report
