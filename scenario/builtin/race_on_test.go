//go:build race

package builtin

// manyRanks maps the numbers of ranks that TestManyReal runs to a backend. There is no shm,
// because processes with the race detector start slowly.
var manyRanks = map[int]string{9: "inproc"}
