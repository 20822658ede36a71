// Package chart draws runs of tasks (package task) as Gantt charts, which show what each
// core did at each time. A [Gantt] is written as text, SVG or PNG, with a panel for each
// rank. [Row] is a run as a row of a table ([NewRow]), for the benches of this module.
//
// All times are those of task.Result; this package measures nothing. internal/draw lays out
// the charts. The package imports internal/draw and task.
package chart
