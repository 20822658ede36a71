package task

import (
	"fmt"
	"slices"

	"github.com/kernbench/kernbench/internal/lists"
	"github.com/kernbench/kernbench/tl"
)

// Domain is a communicator of some of the ranks with shared memory. Each member has a part
// of every tensor of the domain. All parts have the same size, and members access the parts
// of other members with Put and Get. A domain exists until the program ends. Domains may
// overlap.
type Domain struct {
	name    string
	ranks   []int // by member
	builder *Builder
	tensors []domainTensor
}

// domainTensor is a tensor of a domain.
type domainTensor struct {
	Tensor                 // with its name in the domain
	parts  map[int]*Tensor // by rank, for the ranks whose programs the builder has
}

// Domain creates a domain. The given ranks become its members 0, 1, ... in the given order.
// Without ranks, all ranks are members. In orchestrations of one rank, all members must
// create the same domains with the same tensors in the same order. A rank that is not a
// member may also call Domain; the method Rank of the result then returns -1.
func (b *Builder) Domain(name string, ranks ...int) *Domain {
	b.checkBuilding("Domain")
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

// Rank returns the member number of the rank whose program is built. It returns -1 if the
// rank is not a member, or if the orchestration is for all ranks.
func (d *Domain) Rank() int { return d.RankOf(d.builder.Rank()) }

// RankOf returns the member number of a rank, or -1 if the rank is not a member.
func (d *Domain) RankOf(rank int) int { return slices.Index(d.ranks, rank) }

// World returns the rank of the given member. Put, Get and Notify need this number.
func (d *Domain) World(member int) int {
	if member < 0 || member >= len(d.ranks) {
		panic(misuse("World", "domain %s has no member %d: there are 0 to %d", d.name, member, len(d.ranks)-1))
	}
	return d.ranks[member]
}

// Tensor creates a tensor of the domain, filled with zeros, and returns the part of the
// rank whose program is built. The rank must be a member. Every member must create the
// tensor with the same dtype and shape.
func (d *Domain) Tensor(name string, dtype tl.DType, shape tl.Shape) *Tensor {
	rank := d.builder.Rank()
	if d.builder.single {
		panic(misuse("Tensor", "domain %s: the orchestration is for all ranks: Tensors makes the parts of all members", d.name))
	}
	if d.Rank() < 0 {
		panic(misuse("Tensor", "domain %s: rank %d is none of its members, which are %v: ask Rank first", d.name, rank, d.ranks))
	}
	return d.addTensor("Tensor", name, dtype, shape)[rank]
}

// Tensors creates a tensor of the domain, filled with zeros, and returns the parts of all
// members, by member number. Only an orchestration that builds the programs of all ranks
// may call Tensors.
func (d *Domain) Tensors(name string, dtype tl.DType, shape tl.Shape) (parts []*Tensor) {
	if !d.builder.single {
		panic(misuse("Tensors", "domain %s: the orchestration is for rank %d alone: Tensor makes its part", d.name, d.builder.Rank()))
	}
	made := d.addTensor("Tensors", name, dtype, shape)
	for _, rank := range d.ranks {
		parts = append(parts, made[rank])
	}
	return parts
}

// addTensor creates a tensor of the domain. It returns the parts, by rank, of the members
// whose programs the builder has. Panics name op as the function that was called.
func (d *Domain) addTensor(op, name string, dtype tl.DType, shape tl.Shape) map[int]*Tensor {
	d.builder.checkBuilding(op)
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

// counterpart returns the part that the given rank holds of the same domain tensor as x. It
// returns nil if the rank has no part.
func (d *Domain) counterpart(x *Tensor, rank int) *Tensor {
	for i := range d.tensors {
		if d.tensors[i].parts[x.rank] == x {
			return d.tensors[i].parts[rank]
		}
	}
	return nil
}

// domains returns the domains that have the program's rank as a member, in the order of
// creation.
func (p *Program) domains() []*Domain {
	if p.builder == nil {
		return nil
	}
	return domainsWith(p.builder.domains, p.Rank)
}

// domainsWith returns those of the given domains that have the given rank as a member.
func domainsWith(domains []*Domain, rank int) (list []*Domain) {
	for _, d := range domains {
		if d.RankOf(rank) >= 0 {
			list = append(list, d)
		}
	}
	return list
}

// domainsLedBy returns the domains that have the rank `first` as their first member and the
// program's rank as a member.
func (p *Program) domainsLedBy(first int) []*Domain {
	return slices.DeleteFunc(p.domains(), func(d *Domain) bool { return d.ranks[0] != first })
}

// String returns the name, the members and the tensors of the domain, as in "even of [0 2]
// with x [4] f32".
func (d *Domain) String() string {
	text, sep := fmt.Sprintf("%s of %v", d.name, d.ranks), " with "
	for i := range d.tensors {
		text += sep + d.tensors[i].String()
		sep = ", "
	}
	return text
}

// checkSameDomains returns an error unless all members of each domain have created the
// domain with the same tensors and in the same order. Each member is compared with the
// first member.
func checkSameDomains(programs []*Program) error {
	for _, p := range programs {
		for _, first := range programs {
			got, want := p.domainsLedBy(first.Rank), domainsWith(first.domainsLedBy(first.Rank), p.Rank)
			for i := range max(len(got), len(want)) {
				if a, b := describeDomain(got, i), describeDomain(want, i); a != b {
					return fmt.Errorf("rank %d makes %s, and rank %d makes %s: %s", p.Rank, a, first.Rank, b, sameRule)
				}
			}
		}
	}
	return nil
}

// sameRule is the end of the errors about members whose domains differ.
const sameRule = "all members of a domain make it, with the same tensors, in the same order"

// describeDomain describes domain i of a list for error messages, or says that the list has
// no such domain.
func describeDomain(list []*Domain, i int) string {
	if i >= len(list) {
		return "no such domain"
	}
	return "the domain " + list[i].String()
}
