package task

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"

	"github.com/kernbench/kernbench/comm"
	"github.com/kernbench/kernbench/internal/procpe"
	"github.com/kernbench/kernbench/torch"
)

// domainMemory is the windows of a real rank's domains.
type domainMemory struct {
	tensors map[*Tensor]procpe.Tensor
	comms   []*comm.Comm
}

// domainAlign is what tensors of a domain begin at multiples of.
const domainAlign = 64

// newDomainMemory makes a window for each domain that the rank is a member of. All ranks
// take them in one order, that of the first members, so that each can begin.
func newDomainMemory(c *comm.Comm, p *Program) (*domainMemory, error) {
	m := &domainMemory{tensors: map[*Tensor]procpe.Tensor{}}
	list := p.domains()
	slices.SortStableFunc(list, func(a, b *Domain) int { return cmp.Compare(a.ranks[0], b.ranks[0]) })
	for _, d := range list {
		if err := m.add(c, p.Rank, d); err != nil {
			return m, fmt.Errorf("domain %s: %w", d.name, err)
		}
	}
	return m, nil
}

// add makes the window of a domain. It begins with a hash of what the rank makes, which
// has to be that of the first member.
func (m *domainMemory) add(c *comm.Comm, rank int, d *Domain) error {
	members, err := c.Domain(d.ranks...)
	if err != nil {
		return err
	}
	m.comms = append(m.comms, members)
	size := int64(domainAlign)
	var offsets []int64
	for i := range d.tensors {
		offsets = append(offsets, size)
		n := d.tensors[i].parts[rank].bytes()
		size += (n + domainAlign - 1) / domainAlign * domainAlign
	}
	w, err := members.AllocWindow(size, 0)
	if err != nil {
		return err
	}
	hash := fnv.New64a()
	fmt.Fprint(hash, d)
	own, first := hash.Sum64(), make([]byte, 8)
	binary.LittleEndian.PutUint64(w.Local(), own)
	if err := members.Barrier(); err != nil {
		return err
	}
	if err := w.Get(0, 0, first); err != nil {
		return err
	}
	if own != binary.LittleEndian.Uint64(first) {
		return fmt.Errorf("rank %d makes the domain %v, and rank %d another one of that size: %s", rank, d, d.ranks[0], sameRule)
	}
	for i := range d.tensors {
		x := &d.tensors[i]
		part := x.parts[rank]
		m.tensors[part] = procpe.Tensor{Name: part.Name, DType: x.DType, Shape: x.Shape, Window: w, Offset: offsets[i]}
	}
	return nil
}

// close gives the windows back.
func (m *domainMemory) close() (err error) {
	for _, c := range m.comms {
		err = errors.Join(err, c.Close())
	}
	return err
}

// allocate makes the memory of domains.
func (l *launch) allocate(r *torch.Rank) error {
	var programs []*Program
	for _, d := range l.devices {
		programs = append(programs, d.Program)
	}
	if !l.options.Single {
		if err := sameDomains(programs); err != nil {
			return err
		}
	}
	l.domains = map[*Tensor]*torch.Tensor{}
	for _, p := range programs {
		for n, d := range p.led(p.Rank) {
			if err := l.allocateDomain(r, programs, p, n, d); err != nil {
				return fmt.Errorf("domain %s: %w", d.name, err)
			}
		}
	}
	return nil
}

// allocateDomain makes the tensors of the n-th domain that a rank leads, and notes of which
// parts they are the memory.
func (l *launch) allocateDomain(r *torch.Rank, programs []*Program, first *Program, n int, d *Domain) error {
	var pes []int
	for _, rank := range d.ranks {
		pes = append(pes, int(l.compute(r, l.options.Devices[rank], 0)))
	}
	for i := range d.tensors {
		x := &d.tensors[i]
		elems := x.parts[first.Rank].bytes() / int64(x.DType.Size())
		if elems == 0 {
			continue
		}
		memory, err := r.Zeros(x.DType, torch.Shape{int(elems) * len(pes)}, torch.On(pes...))
		if err != nil {
			return err
		}
		l.owned = append(l.owned, memory)
		for _, rank := range d.ranks {
			l.domains[programs[rank].counterpart(first, n).tensors[i].parts[rank]] = memory
		}
	}
	return nil
}

// counterpart returns the n-th domain that a first member leads as this program knows it.
func (p *Program) counterpart(first *Program, n int) *Domain {
	before := with(first.led(first.Rank)[:n], p.Rank)
	return p.led(first.Rank)[len(before)]
}

// free gives the memory of domains back.
func (l *launch) free() (err error) {
	for _, x := range l.owned {
		err = errors.Join(err, x.Free())
	}
	return err
}
