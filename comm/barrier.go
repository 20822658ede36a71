package comm

// Barrier waits until all ranks of the communicator have called it. Ranks pass word
// on in rounds, each twice as far; a flag holds how many barriers its writer has
// entered, so that nothing needs resetting and a rank that is already in the next
// barrier does no harm.
func (c *Comm) Barrier() error {
	p := at("barrier", "")
	if err := c.usable(p); err != nil {
		return err
	}
	return c.barrier(p)
}

func (c *Comm) barrier(p place) error {
	c.generation++
	p.barrier = c.generation
	for k := range rounds(c.size) {
		to := (c.rank + 1<<k) % c.size
		from := (c.rank - 1<<k + c.size) % c.size
		flag := int64(flagsAt + line*k)
		if err := c.sent(p.with(c.ranks[to]), c.ctrl.Store(to, flag, c.generation)); err != nil {
			return err
		}
		if err := c.await(word(c.ctrl.local, flag), GE, int64(c.generation), p.with(c.ranks[from])); err != nil {
			return err
		}
	}
	return nil
}
