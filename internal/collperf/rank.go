package collperf

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/kernbench/kernbench/ccl"
	"github.com/kernbench/kernbench/comm"
	"github.com/kernbench/kernbench/comm/coll"
	"github.com/kernbench/kernbench/comm/launch"
	"github.com/kernbench/kernbench/numeric"
)

// rankJob is the name of the job of real ranks.
const rankJob = "collperf"

func init() {
	launch.Register(rankJob, func(ctx context.Context, c *comm.Comm, arg []byte) ([]byte, error) {
		return measureRank(ctx, c, arg, (*coll.Group).Do)
	})
}

// doFunc is a function that performs a collective, like [coll.Group.Do].
type doFunc func(g *coll.Group, k coll.Kind, d numeric.DType, op coll.Op, root int, dst, src []byte) error

// rankResult is the measurement of a row by one rank.
type rankResult struct {
	Times []time.Duration // by iteration
	Wrong int
}

// member is a real rank.
type member struct {
	*Options
	comm     *comm.Comm
	do       doFunc
	groups   []*coll.Group // by algorithm
	src, dst []byte        // buffers for the largest row
	same     []byte        // result of rank 0, to compare with
}

// measureRank measures all rows on one rank and returns the results as JSON. `arg` contains
// the options as JSON. The function `do` performs the collectives.
func measureRank(ctx context.Context, c *comm.Comm, arg []byte, do doFunc) ([]byte, error) {
	m := &member{comm: c, do: do}
	if err := json.Unmarshal(arg, &m.Options); err != nil {
		return nil, err
	}
	problems := m.problems(c.Size())
	if err := m.allocate(problems); err != nil {
		return nil, err
	}
	var all []rankResult
	for i, p := range problems {
		if err := p.draw(ctx); err != nil {
			return nil, err
		}
		for a, g := range m.groups {
			f, err := m.measure(p, g)
			if err != nil {
				return nil, fmt.Errorf("%v of %d bytes by %s: %w", p.collective, p.size, cmp.Or(m.algorithms()[a], Auto), err)
			}
			all = append(all, f)
		}
		problems[i] = nil // frees its values
	}
	return json.Marshal(all)
}

// allocate creates a group for each algorithm, and allocates buffers that serve all rows,
// so that no memory is allocated while rows are measured.
func (m *member) allocate(problems []*problem) error {
	for _, name := range m.algorithms() {
		o := coll.Options{}
		if i := slices.IndexFunc(collAlgorithms, func(a coll.Algorithm) bool { return a.String() == name }); i >= 0 {
			o.Algorithm = collAlgorithms[i]
		}
		g, err := coll.New(m.comm, o)
		if err != nil {
			return err
		}
		m.groups = append(m.groups, g)
	}
	in, out := 0, 0
	for _, p := range problems {
		s, d := p.buffers()
		in, out = max(in, s), max(out, d)
	}
	if !m.Window {
		m.src, m.dst = make([]byte, in), make([]byte, out)
		return nil
	}
	const line = 64
	at := (in + line - 1) / line * line
	w, err := m.comm.AllocWindow(int64(max(1, at+out)), 0)
	if err != nil {
		return err
	}
	m.src, m.dst = w.Local()[:in], w.Local()[at:at+out]
	return nil
}

// inPlace reports whether the result of a collective overwrites the input of a rank.
func inPlace(c ccl.Collective) bool {
	return c == ccl.AllReduce || c == ccl.Reduce || c == ccl.Broadcast
}

// buffers returns the sizes in bytes of a rank's input buffer and output buffer. The output
// size is 0 for collectives in place.
func (p *problem) buffers() (in, out int) {
	in, out = blocks(p.collective, p.ranks)
	if inPlace(p.collective) {
		out = 0
	}
	size := p.count * p.dtype.Size()
	return in * size, out * size
}

// measure measures a row on this rank. It writes the buffers before every iteration.
// Otherwise caches would make the iteration too fast, and results of the previous iteration
// could be mistaken for results of this iteration.
func (m *member) measure(p *problem, g *coll.Group) (f rankResult, err error) {
	in, out := p.buffers()
	src, dst := m.src[:in], m.dst[:out]
	result := dst
	if inPlace(p.collective) {
		dst, result = src, src
	}
	switch away := p.root != m.comm.Rank(); {
	case away && p.collective == ccl.Gather:
		dst = nil
	case away && p.collective == ccl.Scatter:
		src = nil
	}
	for i := -m.Warmups; i < m.iters(); i++ {
		clear(result)
		fillRepeating(src, p.inputs[m.comm.Rank()], 0)
		if err := m.comm.Barrier(); err != nil {
			return f, err
		}
		begin := time.Now()
		if p.collective == ccl.Barrier {
			err = g.Barrier()
		} else {
			err = m.do(g, kinds[p.collective], p.dtype, collOps[p.reduction], p.root, dst, src)
		}
		took := time.Since(begin)
		if err != nil {
			return f, err
		}
		if i < 0 {
			continue
		}
		f.Times = append(f.Times, took)
		if m.checks() {
			wrong, err := m.countWrong(p, g, result)
			if err != nil {
				return f, err
			}
			f.Wrong += wrong
		}
	}
	return f, nil
}

// fillRepeating fills a buffer with repetitions of the slice `bytes`. It starts with the
// byte of the slice at index `from`, modulo the length of the slice. If the slice is empty,
// the buffer does not change.
func fillRepeating(buffer, bytes []byte, from int) {
	for len(bytes) > 0 && len(buffer) > 0 {
		n := copy(buffer, bytes[from%len(bytes):])
		buffer, from = buffer[n:], from+n
	}
}

// countWrong returns the number of wrong elements of the rank's result. If rounding permits
// several results of an all-reduce, all ranks must have the same bits. countWrong then also
// compares the result with the result of rank 0.
func (m *member) countWrong(p *problem, g *coll.Group, result []byte) (int, error) {
	same := result
	if p.collective == ccl.AllReduce && p.result.bits == nil {
		m.same = slices.Grow(m.same[:0], len(result))[:len(result)]
		same = m.same
		clear(same)
		if m.comm.Rank() == 0 {
			copy(same, result)
		}
		if err := g.Do(coll.KindBroadcast, p.dtype, coll.Sum, 0, same, same); err != nil {
			return 0, fmt.Errorf("compare ranks: %w", err)
		}
	}
	return p.countWrongAt(m.comm.Rank(), result, same), nil
}
