//go:build race

package machine

// raceDetector says whether it is on: it allocates on its own account.
const raceDetector = true
