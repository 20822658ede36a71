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

// domainMemory holds the windows of the domains of a real rank.
type domainMemory struct {
	tensors map[*Tensor]procpe.Tensor
	comms   []*comm.Comm
}

// domainAlign is the alignment of the tensors of a domain, in bytes.
const domainAlign = 64

// newDomainMemory allocates a window for each domain that has the program's rank as a
// member. All ranks allocate the windows in ascending order of the first members of the
// domains, so that no two ranks wait for each other.
func newDomainMemory(c *comm.Comm, p *Program) (*domainMemory, error) {
	m := &domainMemory{tensors: map[*Tensor]procpe.Tensor{}}
	list := p.domains()
	slices.SortStableFunc(list, func(a, b *Domain) int { return cmp.Compare(a.ranks[0], b.ranks[0]) })
	for _, d := range list {
		if err := m.addDomain(c, p.Rank, d); err != nil {
			return m, fmt.Errorf("domain %s: %w", d.name, err)
		}
	}
	return m, nil
}

// addDomain allocates the window of domain d at the given rank. The window begins with a
// hash of the domain as this rank created it, which must equal the hash at the first
// member.
func (m *domainMemory) addDomain(c *comm.Comm, rank int, d *Domain) error {
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

// close frees the windows of all domains.
func (m *domainMemory) close() (err error) {
	for _, c := range m.comms {
		err = errors.Join(err, c.Close())
	}
	return err
}

// allocateDomains allocates the memory of all domains on the simulated machine. With an
// orchestration for each rank, it returns an error if the members of a domain have not
// created the same domain.
func (l *launch) allocateDomains(r *torch.Rank) error {
	var programs []*Program
	for _, d := range l.devices {
		programs = append(programs, d.Program)
	}
	if !l.options.Single {
		if err := checkSameDomains(programs); err != nil {
			return err
		}
	}
	l.domains = map[*Tensor]*torch.Tensor{}
	for _, p := range programs {
		for n, d := range p.domainsLedBy(p.Rank) {
			if err := l.allocateDomain(r, programs, p, n, d); err != nil {
				return fmt.Errorf("domain %s: %w", d.name, err)
			}
		}
	}
	return nil
}

// allocateDomain allocates the memory of the tensors of d, and records which memory the
// part of each member uses. The first member of d is the rank of program `first`. d has
// number n, counted from 0, among the domains with this first member.
func (l *launch) allocateDomain(r *torch.Rank, programs []*Program, first *Program, n int, d *Domain) error {
	var pes []int
	for _, rank := range d.ranks {
		pes = append(pes, int(l.computeCore(r, l.options.Devices[rank], 0)))
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
		l.domainTensors = append(l.domainTensors, memory)
		for _, rank := range d.ranks {
			l.domains[programs[rank].matchingDomain(first, n).tensors[i].parts[rank]] = memory
		}
	}
	return nil
}

// matchingDomain finds the domain that has number n among the domains whose first member is
// the rank of program `first`. Numbers count from 0. It returns the Domain that program p
// created for this domain.
func (p *Program) matchingDomain(first *Program, n int) *Domain {
	before := domainsWith(first.domainsLedBy(first.Rank)[:n], p.Rank)
	return p.domainsLedBy(first.Rank)[len(before)]
}

// freeDomains frees the memory of all domains on the simulated machine.
func (l *launch) freeDomains() (err error) {
	for _, x := range l.domainTensors {
		err = errors.Join(err, x.Free())
	}
	return err
}
