package inproc

// Runs is how many have a rank.
func Runs() int {
	runs.Lock()
	defer runs.Unlock()
	return len(runs.byName)
}
