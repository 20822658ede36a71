// Package taskchart shows what runs of tasks (package task) found out: as charts of who
// did what when, for internal/report and internal/figure to draw, and as rows of tables.
//
// What happened, and how long it took, is in task.Result; nothing is measured here. The
// package imports task, torch and internal/report.
package taskchart
