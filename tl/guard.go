package tl

// Guard looks at what a kernel is about to do, and may refuse it: for those who run
// kernels that must keep to some of the memory, the ports or the signals.
type Guard interface {
	// Access is a use of memory, of the kernel's own or in the part of a peer.
	Access(b *Block, use Use) error
	// Allocated is scratch memory that the kernel has got.
	Allocated(addr, bytes int64)
	// Peer is a rank that the kernel puts into, gets from or notifies, and what the
	// machine calls it.
	Peer(rank int) (int, error)
	// Port is one that the kernel sends to, receives from, or waits for; AnyPort is all.
	Port(p Port) error
	// Signal is one that the kernel changes at a peer, or else waits for or looks at.
	Signal(number int, changes bool) error
}

// Use is what a kernel does with a block of memory.
type Use uint8

// The uses.
const (
	Reads Use = iota
	Writes
	Reaches // at a peer
)

// Guarded is a machine whose operations a guard looks at first, of a kernel that is some
// rank.
func Guarded(m Machine, rank int, g Guard) Machine { return &guarded{m, rank, g} }

type guarded struct {
	Machine
	rank  int
	guard Guard
}

// at is what a kernel does to a block of a rank: at its own, what it would do otherwise.
func (g *guarded) at(rank int, b *Block, own Use) (peer int, err error) {
	if peer, err = g.guard.Peer(rank); err != nil {
		return 0, err
	}
	if rank != g.rank {
		own = Reaches
	}
	return peer, g.guard.Access(b, own)
}

func (g *guarded) Scratch(bytes int64) (int64, error) {
	addr, err := g.Machine.Scratch(bytes)
	if err == nil {
		g.guard.Allocated(addr, bytes)
	}
	return addr, err
}

func (g *guarded) Load(v *Value, from Block) error {
	if err := g.guard.Access(&from, Reads); err != nil {
		return err
	}
	return g.Machine.Load(v, from)
}

func (g *guarded) Store(v Value, to Block) error {
	if err := g.guard.Access(&to, Writes); err != nil {
		return err
	}
	return g.Machine.Store(v, to)
}

func (g *guarded) Composite(op *Composite) (Handle, error) {
	err := g.operands(op.Args)
	for i := 0; i < len(op.Epilogue) && err == nil; i++ {
		err = g.operands(op.Epilogue[i].Args)
	}
	if err == nil {
		err = g.guard.Access(&op.Out, Writes)
	}
	if err != nil {
		return Handle{}, err
	}
	return g.Machine.Composite(op)
}

// operands looks at those that are in memory, of this PE or of a peer.
func (g *guarded) operands(args []Arg) (err error) {
	for i := range args {
		if a := &args[i]; a.AtPeer {
			b := a.Value.Block()
			a.Peer, err = g.at(a.Peer, &b, Reads)
		} else {
			err = g.ref(&a.Value)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (g *guarded) ref(v *Value) error {
	if !v.InMem {
		return nil
	}
	b := v.Block()
	return g.guard.Access(&b, Reads)
}

func (g *guarded) Send(port Port, v Value) error {
	err := g.guard.Port(port)
	if err == nil {
		err = g.ref(&v)
	}
	if err != nil {
		return err
	}
	return g.Machine.Send(port, v)
}

func (g *guarded) Recv(port Port, v *Value, into *Block, wait bool) (Handle, Port, error) {
	err := g.guard.Port(port)
	if err == nil && into != nil {
		err = g.guard.Access(into, Writes)
	}
	if err != nil {
		return Handle{}, port, err
	}
	return g.Machine.Recv(port, v, into, wait)
}

func (g *guarded) Put(rank int, v Value, to Block) error {
	peer, err := g.at(rank, &to, Writes)
	if err != nil {
		return err
	}
	return g.Machine.Put(peer, v, to)
}

func (g *guarded) Get(rank int, v *Value, from Block) error {
	peer, err := g.at(rank, &from, Reads)
	if err != nil {
		return err
	}
	return g.Machine.Get(peer, v, from)
}

func (g *guarded) Notify(rank, signal int, op SignalOp, value int64) error {
	peer, err := g.guard.Peer(rank)
	if err == nil {
		err = g.guard.Signal(signal, true)
	}
	if err != nil {
		return err
	}
	return g.Machine.Notify(peer, signal, op, value)
}

func (g *guarded) WaitSignal(signal int, cmp Cmp, value int64) error {
	if err := g.guard.Signal(signal, false); err != nil {
		return err
	}
	return g.Machine.WaitSignal(signal, cmp, value)
}

func (g *guarded) TestSignal(signal int, cmp Cmp, value int64) (bool, error) {
	if err := g.guard.Signal(signal, false); err != nil {
		return false, err
	}
	return g.Machine.TestSignal(signal, cmp, value)
}

func (g *guarded) Select(cases []Case) (int, error) {
	for i := range cases {
		var err error
		if c := &cases[i]; c.Kind == SignalCase {
			err = g.guard.Signal(c.Signal, false)
		} else {
			err = g.guard.Port(c.Port)
		}
		if err != nil {
			return 0, err
		}
	}
	return g.Machine.Select(cases)
}
