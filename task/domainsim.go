package task

import (
	"errors"
	"fmt"

	"github.com/kernbench/kernbench/torch"
)

// allocate makes the memory of domains.
func (l *launch) allocate(ctx *torch.Context) error {
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
			if err := l.allocateDomain(ctx, programs, p, n, d); err != nil {
				return fmt.Errorf("domain %s: %w", d.name, err)
			}
		}
	}
	return nil
}

// allocateDomain makes the tensors of the n-th domain that a rank leads, and notes of which
// parts they are the memory.
func (l *launch) allocateDomain(ctx *torch.Context, programs []*Program, first *Program, n int, d *Domain) error {
	var pes []int
	for _, rank := range d.ranks {
		pes = append(pes, int(l.compute(ctx, l.options.Devices[rank], 0)))
	}
	for i := range d.tensors {
		x := &d.tensors[i]
		elems := x.parts[first.Rank].bytes() / int64(x.dtype.Size())
		if elems == 0 {
			continue
		}
		memory, err := ctx.Zeros(x.dtype, torch.Shape{int(elems) * len(pes)}, torch.On(pes...))
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
