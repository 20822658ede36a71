package torch

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kernbench/kernbench/ccl"
	"github.com/kernbench/kernbench/topology"
)

// Distributed is torch.distributed: process groups and their collectives. Its methods
// act for the rank that calls them.
//
// Under Spawn a rank is a SIP, and each rank brings tensors of its own. In a program
// without Spawn, a rank is a PE and the program drives them all: a tensor lies over
// the PEs of the group, and part i of it is rank i's.
type Distributed struct {
	c *Context
}

// Distributed is the process groups of the calling rank.
func (c *Context) Distributed() *Distributed { return &Distributed{c} }

// Group is a process group as one rank sees it.
type Group struct {
	shared *groupState
	rank   int // in the group; -1 if it is not a member
	next   int // number of its next collective
}

// Ranks is the ranks of the world that are in the group, by their rank in it.
func (g *Group) Ranks() []int { return slices.Clone(g.shared.ranks) }

// String names the group and its ranks: "group 1 of ranks [0 1]".
func (g *Group) String() string { return fmt.Sprintf("%v of ranks %v", g.shared, g.shared.ranks) }

// groupState is a process group.
type groupState struct {
	number   int   // 0 is the default group
	ranks    []int // of the world, by rank of the group
	made     []int // ranks that have made it
	forming  map[int]*call
	calls    stream // the order of its calls, which is that in all streams of workers
	settings ccl.Settings
}

func (g *groupState) String() string {
	if g.number == 0 {
		return "the default group"
	}
	return fmt.Sprintf("group %d", g.number)
}

// Backend is the one backend that there is: the simulated machine's own.
const Backend = "ahbm"

// GroupOption changes how a process group does its collectives.
type GroupOption func(*ccl.Settings)

// Settings has a group do its collectives as an entry of ccl.yaml says, instead of its
// defaults.
func Settings(s ccl.Settings) GroupOption { return func(to *ccl.Settings) { *to = s } }

// Algorithm chooses the algorithm of a group's collectives, where it serves them; ccl.Auto
// is for each the one that costs least.
func Algorithm(name string) GroupOption { return func(s *ccl.Settings) { s.Algorithm = name } }

// InitProcessGroup makes the default group. The group does its collectives as the defaults
// of ccl.yaml say, or the entry that they name, unless options say otherwise. Its ranks are
// all workers of Spawn, whatever world_size is; in a program without Spawn they are the first
// world_size PEs, or all PEs if ccl.yaml gives no world_size. A group whose queues cannot fit
// is refused.
func (d *Distributed) InitProcessGroup(backend string, opts ...GroupOption) error {
	c := d.c
	if err := c.operation("InitProcessGroup"); err != nil {
		return err
	}
	switch {
	case backend != Backend:
		return fmt.Errorf("InitProcessGroup: no backend %q: there is %q", backend, Backend)
	case d.IsInitialized():
		return fmt.Errorf("InitProcessGroup: called twice: DestroyProcessGroup comes first")
	}
	settings, err := c.ccl().Named("")
	if err != nil {
		return err
	}
	for _, o := range opts {
		o(&settings)
	}
	n := len(c.workers)
	if !c.spawned() {
		if n = settings.WorldSize; n == 0 {
			n = c.NumPEs()
		}
		if n > c.NumPEs() {
			return fmt.Errorf("InitProcessGroup: a world of %d ranks on a system of %d PEs: lower world_size", n, c.NumPEs())
		}
	}
	_, err = c.join("InitProcessGroup", count(0, n), settings)
	return err
}

// spawned reports whether ranks are workers of Spawn, and not PEs.
func (c *Context) spawned() bool { return c.current.proc != nil }

// ccl is the configuration of collectives.
func (c *Context) ccl() *ccl.Config {
	if c.options.CCL == nil {
		c.options.CCL = ccl.Default()
	}
	return c.options.CCL
}

// join makes the next group of the calling rank, which other ranks may have made
// before.
func (c *Context) join(op string, members []int, settings ccl.Settings) (*Group, error) {
	w := c.current
	number := w.made
	if number == len(c.groups) || c.groups[number].settings != settings {
		if err := c.checkSettings(op, members, settings); err != nil {
			return nil, err
		}
	}
	if number == len(c.groups) {
		g := &groupState{number: len(w.groups), ranks: slices.Clone(members), forming: map[int]*call{}, calls: stream{calls: true}, settings: settings}
		g.calls.init()
		c.groups = append(c.groups, g)
	}
	s := c.groups[number]
	if slices.Equal(s.ranks, members) && s.settings != settings {
		return nil, fmt.Errorf("%s: rank %d makes %s with other settings than %s: all ranks make the same groups in the same order",
			op, w.rank, s, rankList(slices.Clone(s.made)))
	}
	if !slices.Equal(s.ranks, members) {
		return nil, fmt.Errorf("%s: rank %d makes %s of ranks %v, %s made it of %v: all ranks make the same groups in the same order",
			op, w.rank, s, members, rankList(slices.Clone(s.made)), s.ranks)
	}
	s.made = append(s.made, w.rank)
	w.made++
	g := &Group{shared: s, rank: slices.Index(members, w.rank)}
	if !c.spawned() {
		g.rank = 0
	}
	w.groups = append(w.groups, g)
	return g, nil
}

// checkSettings returns an error if a group of some ranks cannot do its collectives so.
func (c *Context) checkSettings(op string, members []int, settings ccl.Settings) error {
	if names := append(ccl.Names(), ccl.Auto); !slices.Contains(names, settings.Algorithm) {
		return fmt.Errorf("%s: no algorithm %q: there are %s", op, settings.Algorithm, strings.Join(names, ", "))
	}
	if err := settings.Check(c.Topology().Spec()); err != nil {
		return fmt.Errorf("%s: %w", op, err)
	}
	queues := c.m.Queues(settings.Queues())
	if room := topology.Bytes(queues.NSlots) * queues.SlotSize; settings.ChunkBytes > room {
		return fmt.Errorf("%s: chunks of %v, and a queue has %d slots of %v: lower ccl's chunk_bytes to %v", op, settings.ChunkBytes, queues.NSlots, queues.SlotSize, room)
	}
	if err := settings.Fit(c.Topology(), c.places(members), queues); err != nil {
		return fmt.Errorf("%s: %w", op, err)
	}
	return nil
}

// places returns the PEs that ranks are, or, under Spawn, one of each rank's device: tensors
// say later which PEs hold them.
func (c *Context) places(ranks []int) []int {
	if !c.spawned() {
		return ranks
	}
	var pes []int
	for _, rank := range ranks {
		pes = append(pes, int(c.m.ID(rank, 0, 0)))
	}
	return pes
}

// NewGroup makes a group of some ranks of the world. All ranks call it, members or
// not, in the same order.
func (d *Distributed) NewGroup(members []int, opts ...GroupOption) (*Group, error) {
	c := d.c
	world, err := d.group("NewGroup", nil)
	if err != nil {
		return nil, err
	}
	n := len(world.shared.ranks)
	sorted := slices.Sorted(slices.Values(members))
	if len(sorted) > 0 && (sorted[0] < 0 || sorted[len(sorted)-1] >= n) || len(slices.Compact(sorted)) != len(members) {
		panic(misuse("NewGroup", "ranks %v: each is one of 0 to %d, once", members, n-1))
	}
	if len(members) == 0 {
		panic(misuse("NewGroup", "a group of no ranks"))
	}
	settings := world.shared.settings
	for _, o := range opts {
		o(&settings)
	}
	return c.join("NewGroup", members, settings)
}

// DestroyProcessGroup waits for what the rank has asked for and forgets its groups.
func (d *Distributed) DestroyProcessGroup() error {
	if _, err := d.group("DestroyProcessGroup", nil); err != nil {
		return err
	}
	err := d.c.Synchronize()
	d.c.current.groups = nil
	return err
}

// IsInitialized reports whether the calling rank has a default group.
func (d *Distributed) IsInitialized() bool {
	return d.c.current != nil && len(d.c.current.groups) > 0
}

// GetRank is the rank of the caller in a group, the default one if none is given, and
// -1 if it is not a member. A program without Spawn drives all ranks and is rank 0.
func (d *Distributed) GetRank(group ...*Group) int { return d.must("GetRank", group).rank }

// GetWorldSize is the number of ranks of a group, and -1 if the caller is not a
// member.
func (d *Distributed) GetWorldSize(group ...*Group) int {
	g := d.must("GetWorldSize", group)
	if g.rank < 0 {
		return -1
	}
	return len(g.shared.ranks)
}

// GetBackend is the backend of a group.
func (d *Distributed) GetBackend(group ...*Group) string {
	d.must("GetBackend", group)
	return Backend
}

// PEs is the PEs of a group of a program without Spawn, by rank: where its tensors
// lie, with On.
func (d *Distributed) PEs(group ...*Group) []int {
	g := d.must("PEs", group)
	if d.c.spawned() {
		panic(misuse("PEs", "a rank is a SIP under Spawn: lay tensors out with a DPPolicy"))
	}
	return slices.Clone(g.shared.ranks)
}

// group is the group that a call names.
func (d *Distributed) group(op string, group []*Group) (*Group, error) {
	if err := d.c.operation(op); err != nil {
		return nil, err
	}
	return d.must(op, group), nil
}

func (d *Distributed) must(op string, group []*Group) *Group {
	switch w := d.c.current; {
	case len(group) > 1:
		panic(misuse(op, "%d groups: give one", len(group)))
	case w == nil:
		panic(misuse(op, "called from a kernel"))
	case len(w.groups) == 0:
		panic(misuse(op, "there is no process group: call InitProcessGroup first"))
	case len(group) == 0 || group[0] == nil:
		return w.groups[0]
	case !slices.Contains(w.groups, group[0]):
		panic(misuse(op, "the group is not one that this rank has made"))
	}
	return group[0]
}
