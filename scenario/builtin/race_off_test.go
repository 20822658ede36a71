//go:build !race

package builtin

// manyRanks maps the numbers of ranks that TestManyReal runs to a backend.
var manyRanks = map[int]string{17: "inproc", 33: "inproc", 64: "shm"}
