// Package chart draws runs of tasks (package task) as Gantt charts: which core did what, and
// when. A [Gantt] is written as text, as SVG or as PNG, with a panel for each rank. [Row] is
// a run as a row of a table ([NewRow]), for benches of this module.
//
// All times are those of task.Result; nothing is measured here. The layout of charts is in
// internal/draw. The package imports that, task and torch.
package chart
