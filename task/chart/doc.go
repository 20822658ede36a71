// Package chart shows what runs of tasks (package task) found out: who did what when, as
// text ([Text]) and as a picture ([SVG]), with a panel for each rank.
//
// For benches and commands of this module it also has a chart before it is drawn ([Gantt],
// whose type is internal) and a run as a row of a table ([NewRow]).
//
// What happened, and how long it took, is in task.Result; nothing is measured here, and how
// a chart is laid out is for internal/report and internal/figure to know. The package
// imports these two, task and torch.
package chart
