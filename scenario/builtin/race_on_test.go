//go:build race

package builtin

// crowd is how many ranks of each backend TestManyReal has: processes with the race
// detector are slow to start.
var crowd = map[int]string{9: "inproc"}
