//go:build race

package machine

// raceDetector says whether the race detector is on. The race detector allocates memory
// itself, which would disturb tests that count allocations.
const raceDetector = true
