package torch

// Composite is a composite command that has run: from the first data that moved for
// it to the last that was written.
type Composite struct {
	Start, End Time
	Tiles      int // products of a Gemm, chunks of a Stream, chunks of all peers of a ReducePeers
}

// Composites is the composite commands in the op log, in the order of issue, after
// everything that this rank has asked for. There
// are none where no log is kept, which is without values unless one is asked for, and
// of a long program, of which the whole is not wanted, only the latest.
func (c *Context) Composites() (all []Composite) {
	if c.m.Log == nil || c.Synchronize() != nil {
		return nil
	}
	for i := range c.m.Log.Ops {
		if op := &c.m.Log.Ops[i]; op.Kind.IsComposite() {
			all = append(all, Composite{op.Start, op.End, int(op.Tiles)})
		}
	}
	return all
}
