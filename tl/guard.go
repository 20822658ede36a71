package tl

// Guard checks each operation before the machine runs it, and may refuse it. It restricts
// a kernel to some of the memory, ports, peers and signals.
type Guard interface {
	// Access checks an access to a block of the kernel's own memory or of a peer's part
	// of a window.
	Access(b *Block, use Use) error
	// Allocated records scratch memory that the kernel has allocated.
	Allocated(addr, bytes int64)
	// Peer checks a rank that the kernel puts to, gets from or notifies. It returns the
	// number of that rank at the machine.
	Peer(rank int) (int, error)
	// Port checks a port that the kernel sends to, receives from or waits for. AnyPort
	// stands for all ports.
	Port(p Port) error
	// Signal checks the use of a signal. If changes is true, the kernel changes the signal
	// at a peer. Otherwise the kernel waits for the signal or tests it.
	Signal(number int, changes bool) error
}

// Use is the way in which a kernel accesses a block of memory.
type Use uint8

// The uses.
const (
	Reads Use = iota
	Writes
	Reaches // reads or writes at a peer
)

// Guarded returns a machine that asks the guard g about each operation before it runs the
// operation on m. rank is the rank of the kernel.
func Guarded(m Machine, rank int, g Guard) Machine { return &guarded{m, rank, g} }

type guarded struct {
	Machine
	rank  int
	guard Guard
}

// checkAt checks an access to b, a block in the part of a window that the given rank holds.
// It returns the number that the machine uses for this rank. The use that the guard checks
// is `own` if the rank is that of the kernel itself, and Reaches for other ranks.
func (g *guarded) checkAt(rank int, b *Block, own Use) (peer int, err error) {
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
	err := g.checkOperands(op.Args)
	for i := 0; i < len(op.Epilogue) && err == nil; i++ {
		err = g.checkOperands(op.Epilogue[i].Args)
	}
	if err == nil {
		err = g.guard.Access(&op.Out, Writes)
	}
	if err != nil {
		return Handle{}, err
	}
	return g.Machine.Composite(op)
}

// checkOperands asks the guard about each operand that is in memory of this PE or of a
// peer. For an operand at a peer, it replaces the rank by the number that the rank has at
// the machine.
func (g *guarded) checkOperands(args []Arg) (err error) {
	for i := range args {
		if a := &args[i]; a.AtPeer {
			b := a.Value.Block()
			a.Peer, err = g.checkAt(a.Peer, &b, Reads)
		} else {
			err = g.checkRef(&a.Value)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (g *guarded) checkRef(v *Value) error {
	if !v.InMem {
		return nil
	}
	b := v.Block()
	return g.guard.Access(&b, Reads)
}

func (g *guarded) Send(port Port, v Value) error {
	err := g.guard.Port(port)
	if err == nil {
		err = g.checkRef(&v)
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
	peer, err := g.checkAt(rank, &to, Writes)
	if err != nil {
		return err
	}
	return g.Machine.Put(peer, v, to)
}

func (g *guarded) Get(rank int, v *Value, from Block) error {
	peer, err := g.checkAt(rank, &from, Reads)
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
