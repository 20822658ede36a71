//go:build race

package machine

// raceDetector says whether the race detector is on. It allocates memory itself.
const raceDetector = true
