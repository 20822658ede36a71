package coll

// OnWait sets a function that the group calls before every wait for another rank. If the
// function returns true, the group skips the wait.
func (g *Group) OnWait(f func(phase string) (skip bool)) { g.onWait = f }

// Phases of collectives whose waits a test can skip with OnWait.
const (
	CallBefore  = "call before"
	Data        = "data"
	Result      = "result"
	SlotInUse   = "slot in use"
	OthersRead  = "others read"
	OthersWrite = "others write"
)
