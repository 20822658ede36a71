//go:build !race

package builtin

// crowd is how many ranks of each backend TestManyReal has.
var crowd = map[int]string{17: "inproc", 33: "inproc", 64: "shm"}
