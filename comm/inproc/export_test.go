package inproc

// Runs returns the number of runs that exist.
func Runs() int {
	runs.Lock()
	defer runs.Unlock()
	return len(runs.byName)
}
