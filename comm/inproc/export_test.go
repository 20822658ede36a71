package inproc

// Runs returns the number of runs that the process currently holds.
func Runs() int {
	runs.Lock()
	defer runs.Unlock()
	return len(runs.byName)
}
