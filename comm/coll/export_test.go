package coll

// OnWait has a function called before every wait of the group for another rank, which
// it may skip.
func (g *Group) OnWait(f func(phase string) (skip bool)) { g.onWait = f }

// Phases of waits that a mutant may leave out.
const (
	CallBefore  = "call before"
	Data        = "data"
	Result      = "result"
	SlotInUse   = "slot in use"
	OthersRead  = "others read"
	OthersWrite = "others write"
)
