package task

import (
	"fmt"
	"slices"

	"github.com/kernbench/kernbench/internal/lists"
	"github.com/kernbench/kernbench/tl"
)

// Domain is some of the ranks, with memory that they share: each member has a part of
// every tensor of the domain, of one size, and reaches those of the others with Put and
// Get. It lasts as long as the program. Domains may overlap.
type Domain struct {
	name    string
	ranks   []int // of each member
	builder *Builder
	tensors []domainTensor
}

// domainTensor is a tensor of a domain.
type domainTensor struct {
	Tensor                 // by its name in the domain
	parts  map[int]*Tensor // by rank: those of the builder's programs
}

// Domain makes a domain of some ranks, which become its members 0, 1, ... in the order
// given; of all ranks if none is given. In an orchestration of one rank every member makes
// the same domains, with the same tensors in the same order; a rank that is no member may
// make it too, and learns that it is none.
func (b *Builder) Domain(name string, ranks ...int) *Domain {
	b.goesOn("Domain")
	fail := func(format string, args ...any) {
		panic(misuse("Domain", "domain %s: %s", name, fmt.Sprintf(format, args...)))
	}
	if len(ranks) == 0 {
		ranks = lists.Count(0, b.NumRanks())
	}
	for i, rank := range ranks {
		if rank < 0 || rank >= b.NumRanks() {
			fail("no rank %d: there are 0 to %d", rank, b.NumRanks()-1)
		}
		if slices.Contains(ranks[:i], rank) {
			fail("rank %d is in the list twice", rank)
		}
	}
	if name == "" {
		fail("the name is empty: give it one")
	}
	if slices.ContainsFunc(b.domains, func(d *Domain) bool { return d.name == name }) {
		fail("there is one of this name: give each a name of its own")
	}
	if len(b.pauses) > 0 {
		fail("it is made after the first Value, when tasks run already: make all domains before it")
	}
	d := &Domain{name: name, ranks: slices.Clone(ranks), builder: b}
	b.domains = append(b.domains, d)
	return d
}

// Name returns the name of the domain.
func (d *Domain) Name() string { return d.name }

// Ranks returns the rank of each member.
func (d *Domain) Ranks() []int { return slices.Clone(d.ranks) }

// Size returns the number of members.
func (d *Domain) Size() int { return len(d.ranks) }

// Rank returns the number of the builder's rank in the domain, -1 if it is no member, and
// for an orchestration of all ranks.
func (d *Domain) Rank() int { return d.RankOf(d.builder.Rank()) }

// RankOf returns the number of a rank in the domain, -1 if it is no member.
func (d *Domain) RankOf(rank int) int { return slices.Index(d.ranks, rank) }

// World returns the rank that is a member: the one that Put, Get and Notify call it by.
func (d *Domain) World(member int) int {
	if member < 0 || member >= len(d.ranks) {
		panic(misuse("World", "domain %s has no member %d: there are 0 to %d", d.name, member, len(d.ranks)-1))
	}
	return d.ranks[member]
}

// Tensor makes a tensor of the domain, zeroed, and returns the part of the builder's rank,
// which must be a member. Every member makes it with the same dtype and shape.
func (d *Domain) Tensor(name string, dtype tl.DType, shape tl.Shape) *Tensor {
	rank := d.builder.Rank()
	if d.builder.single {
		panic(misuse("Tensor", "domain %s: the orchestration is for all ranks: Tensors makes the parts of all members", d.name))
	}
	if d.Rank() < 0 {
		panic(misuse("Tensor", "domain %s: rank %d is none of its members, which are %v: ask Rank first", d.name, rank, d.ranks))
	}
	return d.add("Tensor", name, dtype, shape)[rank]
}

// Tensors is like Tensor for an orchestration of all ranks: it returns the part of each
// member.
func (d *Domain) Tensors(name string, dtype tl.DType, shape tl.Shape) (parts []*Tensor) {
	if !d.builder.single {
		panic(misuse("Tensors", "domain %s: the orchestration is for rank %d alone: Tensor makes its part", d.name, d.builder.Rank()))
	}
	made := d.add("Tensors", name, dtype, shape)
	for _, rank := range d.ranks {
		parts = append(parts, made[rank])
	}
	return parts
}

// add makes a tensor, and its parts at the members that are ranks of the builder.
func (d *Domain) add(op, name string, dtype tl.DType, shape tl.Shape) map[int]*Tensor {
	d.builder.goesOn(op)
	x := domainTensor{Tensor{Name: name, DType: dtype, Shape: slices.Clone(shape)}, map[int]*Tensor{}}
	for _, p := range d.builder.programs {
		if d.RankOf(p.Rank) >= 0 {
			part := d.builder.declare(op, p, Tensor{Name: d.name + "." + name, DType: dtype, Shape: x.Shape, Window: true})
			if part.tooLarge() {
				panic(misuse(op, "%v: a tensor of a domain has at most %d bytes at each rank", part, int64(maxBytes)))
			}
			part.domain, x.parts[p.Rank] = d, part
		}
	}
	d.tensors = append(d.tensors, x)
	return x.parts
}

// counterpart returns the part that a rank has of a tensor, of which x is a part, nil if it
// has none.
func (d *Domain) counterpart(x *Tensor, rank int) *Tensor {
	for i := range d.tensors {
		if d.tensors[i].parts[x.rank] == x {
			return d.tensors[i].parts[rank]
		}
	}
	return nil
}

// domains returns the domains of which the program's rank is a member, in the order in
// which it made them.
func (p *Program) domains() []*Domain {
	if p.by == nil {
		return nil
	}
	return with(p.by.domains, p.Rank)
}

// with returns the domains of which a rank is a member.
func with(domains []*Domain, rank int) (list []*Domain) {
	for _, d := range domains {
		if d.RankOf(rank) >= 0 {
			list = append(list, d)
		}
	}
	return list
}

// led returns the domains that a rank leads, as its first member, and of which the
// program's rank is a member too.
func (p *Program) led(first int) []*Domain {
	return slices.DeleteFunc(p.domains(), func(d *Domain) bool { return d.ranks[0] != first })
}

// String returns the name, the members and the tensors: "even of [0 2] with x [4] f32".
func (d *Domain) String() string {
	text, sep := fmt.Sprintf("%s of %v", d.name, d.ranks), " with "
	for i := range d.tensors {
		text += sep + d.tensors[i].String()
		sep = ", "
	}
	return text
}

// sameDomains checks that members of domains have made the same ones, with the same
// tensors and in the same order. Each is compared with the first member.
func sameDomains(programs []*Program) error {
	for _, p := range programs {
		for _, first := range programs {
			got, want := p.led(first.Rank), with(first.led(first.Rank), p.Rank)
			for i := range max(len(got), len(want)) {
				if a, b := nth(got, i), nth(want, i); a != b {
					return fmt.Errorf("rank %d makes %s, and rank %d makes %s: %s", p.Rank, a, first.Rank, b, sameRule)
				}
			}
		}
	}
	return nil
}

// sameRule ends the errors of members whose domains differ.
const sameRule = "all members of a domain make it, with the same tensors, in the same order"

// nth returns a domain as errors have it.
func nth(list []*Domain, i int) string {
	if i >= len(list) {
		return "no such domain"
	}
	return "the domain " + list[i].String()
}
