package dist

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/kernbench/kernbench/ccl"
	"github.com/kernbench/kernbench/ccl/cost"
	"github.com/kernbench/kernbench/internal/lists"
	"github.com/kernbench/kernbench/internal/stream"
	"github.com/kernbench/kernbench/topology"
	"github.com/kernbench/kernbench/torch"
)

// Group is a process group as one rank sees it.
type Group struct {
	shared *groupState
	rank   int // in the group; -1 if it is not a member
	next   int // number of its next collective
	split  int // groups that SplitGroup has made of it

	objects int // number of its next collective of objects
}

// Rank returns the rank of the caller in the group, and -1 if it is not a member. A program
// without Spawn drives all ranks and is rank 0.
func (g *Group) Rank() int { return g.rank }

// Size returns the number of ranks of the group.
func (g *Group) Size() int { return len(g.shared.ranks) }

// Ranks returns the ranks of the world that are in the group, by their rank in it.
func (g *Group) Ranks() []int { return slices.Clone(g.shared.ranks) }

// Next returns the rank of the world that comes after the caller in the group: after the last
// rank the first. It panics if the caller is not a member.
func (g *Group) Next() int { return g.at("Next", g.rank+1) }

// Prev returns the rank of the world that comes before the caller in the group: before the
// first rank the last. It panics if the caller is not a member.
func (g *Group) Prev() int { return g.at("Prev", g.rank+g.Size()-1) }

// at returns the rank of the world of rank i of the group, counted around it.
func (g *Group) at(op string, i int) int {
	refuse(g.rank < 0, op, "the caller is not in %v: call it on these ranks alone", g)
	return g.shared.ranks[i%g.Size()]
}

// String names the group and its ranks: "group 1 of ranks [0 1]".
func (g *Group) String() string { return fmt.Sprintf("%v of ranks %v", g.shared, g.shared.ranks) }

// described returns the name of the group and its ranks, for errors: "group 1, which has
// ranks 0-3".
func (g *Group) described() string {
	return fmt.Sprintf("%v, which has %s", g.shared, stream.RankList(g.shared.ranks))
}

// groupState is a process group.
type groupState struct {
	name    string
	ranks   []int // of the world, by rank of the group
	made    []int // ranks that have made it
	splits  []*groupState
	forming map[int]*call
	calls   *stream.Stream // the order of its calls, which is that in all streams of workers
	options GroupOptions

	posted map[int]map[int][][]byte // objects by number of the call that ranks have not all made, and by rank
	sent   map[[2]int][][][]byte    // lists of objects by sender and receiver, ranks of the world
}

func (g *groupState) String() string { return g.name }

// Backend is the one backend that there is: the simulated machine's own.
const Backend = "ahbm"

// GroupOptions are the properties of a process group. A new group has those of the default
// group where no option changes them.
type GroupOptions struct {
	ccl.Settings            // of its collectives
	Timeout      torch.Time // of its collectives and messages; 0 is none
	// KeepOrder numbers the ranks of a group in the order in which NewGroup lists them. It is
	// not inherited.
	KeepOrder bool
}

// GroupOption changes a property of a process group.
type GroupOption func(*GroupOptions)

// Settings has a group do its collectives as an entry of ccl.yaml says, instead of its
// defaults.
func Settings(s ccl.Settings) GroupOption { return func(o *GroupOptions) { o.Settings = s } }

// Algorithm chooses the algorithm of a group's collectives, where it serves them; ccl.Auto
// is for each the one that costs least.
func Algorithm(name string) GroupOption { return func(o *GroupOptions) { o.Algorithm = name } }

// KeepOrder numbers the ranks of a group in the order in which they are listed. Without it
// they are sorted, as PyTorch does.
func KeepOrder() GroupOption { return func(o *GroupOptions) { o.KeepOrder = true } }

// InitProcessGroup makes the default group. The group does its collectives as the defaults
// of ccl.yaml say, or the entry that they name, unless options say otherwise. Its ranks are
// all workers of Spawn, whatever world_size is; in a program without Spawn they are the first
// world_size PEs, or all PEs if ccl.yaml gives no world_size. A group whose queues cannot fit
// is refused.
func InitProcessGroup(r *torch.Rank, backend string, opts ...GroupOption) error {
	d := of(r)
	if err := d.s.Begin("InitProcessGroup"); err != nil {
		return err
	}
	switch {
	case backend != Backend:
		return fmt.Errorf("InitProcessGroup: no backend %q: there is %q", backend, Backend)
	case len(d.joined) > 0:
		return fmt.Errorf("InitProcessGroup: called twice: DestroyProcessGroup comes first")
	}
	settings, err := d.CCL().Named("")
	if err != nil {
		return err
	}
	o := GroupOptions{Settings: settings}
	for _, change := range opts {
		change(&o)
	}
	n := len(d.w.s.Ranks())
	if !d.w.spawned {
		if n = cmp.Or(o.WorldSize, d.NumPEs()); n > d.NumPEs() {
			return fmt.Errorf("InitProcessGroup: a world of %d ranks on a system of %d PEs: lower world_size", n, d.NumPEs())
		}
	}
	d.before = d.made
	_, err = d.join("InitProcessGroup", nil, lists.Count(0, n), o)
	return err
}

// join makes the next group of the calling rank, which other ranks may have made before:
// of a parent, or of the world if that is nil.
func (d *state) join(op string, parent *Group, members []int, o GroupOptions) (*Group, error) {
	all, made, name := &d.w.groups, &d.made, "the default group"
	if n := d.made - d.before; n > 0 {
		name = fmt.Sprintf("group %d", n)
	}
	if parent != nil {
		all, made, name = &parent.shared.splits, &parent.split, fmt.Sprintf("%v.%d", parent.shared, parent.split+1)
	}
	o.KeepOrder = false // the members are in their order
	if *made == len(*all) || (*all)[*made].options != o {
		if err := d.w.checkSettings(members, o.Settings); err != nil {
			return nil, fmt.Errorf("%s: %w", op, err)
		}
	}
	if *made == len(*all) {
		g := &groupState{
			name: name, ranks: slices.Clone(members), forming: map[int]*call{}, calls: stream.NewCalls(), options: o,
			posted: map[int]map[int][][]byte{}, sent: map[[2]int][][][]byte{},
		}
		*all = append(*all, g)
	}
	s := (*all)[*made]
	if slices.Equal(s.ranks, members) && s.options != o {
		return nil, fmt.Errorf("%s: rank %d makes %s with other settings than %s: all ranks make the same groups in the same order",
			op, d.s.Number, s, stream.RankList(s.made))
	}
	if !slices.Equal(s.ranks, members) {
		return nil, fmt.Errorf("%s: rank %d makes %s of ranks %v, %s made it of %v: all ranks make the same groups in the same order",
			op, d.s.Number, s, members, stream.RankList(s.made), s.ranks)
	}
	s.made = append(s.made, d.s.Number)
	*made++
	g := &Group{shared: s, rank: slices.Index(members, d.s.Number)}
	if !d.w.spawned {
		g.rank = 0
	}
	d.joined = append(d.joined, g)
	return g, nil
}

// checkSettings returns an error if a group of some ranks cannot do its collectives so.
func (c *world) checkSettings(members []int, settings ccl.Settings) error {
	if names := append(ccl.Names(), ccl.Auto); !slices.Contains(names, settings.Algorithm) {
		return fmt.Errorf("no algorithm %q: there are %s", settings.Algorithm, strings.Join(names, ", "))
	}
	if err := settings.Check(c.Topology().Spec()); err != nil {
		return err
	}
	queues := c.m.Queues(settings.Queues())
	if room := topology.Bytes(queues.NSlots) * queues.SlotSize; settings.ChunkBytes > room {
		return fmt.Errorf("chunks of %v, and a queue has %d slots of %v: lower ccl's chunk_bytes to %v", settings.ChunkBytes, queues.NSlots, queues.SlotSize, room)
	}
	return cost.CheckSettings(settings, c.Topology(), c.places(members), queues)
}

// places returns the PEs that ranks are, or, under Spawn, one of each rank's device: tensors
// say later which PEs hold them.
func (c *world) places(ranks []int) []int {
	if !c.spawned {
		return ranks
	}
	var pes []int
	for _, rank := range ranks {
		pes = append(pes, int(c.m.ID(rank, 0, 0)))
	}
	return pes
}

// NewGroup makes a group of some ranks of the world, sorted unless KeepOrder is given. All
// ranks call it, members or not, in the same order.
func NewGroup(r *torch.Rank, ranks []int, opts ...GroupOption) (*Group, error) {
	return of(r).subgroup("NewGroup", nil, ranks, opts)
}

// subgroup makes a group of some ranks of the default group, or of a parent by their ranks
// there.
func (d *state) subgroup(op string, parent *Group, ranks []int, opts []GroupOption) (*Group, error) {
	of, err := d.group(op, []*Group{parent})
	if err != nil {
		return nil, err
	}
	n := len(of.shared.ranks)
	sorted := slices.Sorted(slices.Values(ranks))
	outside := len(sorted) > 0 && (sorted[0] < 0 || sorted[len(sorted)-1] >= n)
	twice := len(slices.Compact(slices.Clone(sorted))) != len(ranks)
	refuse(outside || twice, op, "ranks %v: each is one of 0 to %d, once", ranks, n-1)
	refuse(len(ranks) == 0, op, "a group of no ranks")
	o := of.shared.options
	for _, change := range opts {
		change(&o)
	}
	if o.KeepOrder {
		sorted = ranks
	}
	return d.join(op, parent, pick(of.shared.ranks, sorted), o)
}

// DestroyProcessGroup waits for what the rank has asked for and forgets its groups.
func DestroyProcessGroup(r *torch.Rank) error {
	d := of(r)
	if _, err := d.group("DestroyProcessGroup", nil); err != nil {
		return err
	}
	refuse(d.coalescing != nil, "DestroyProcessGroup", "called within Coalescing, whose collectives need their group: do it after")
	err := d.Synchronize()
	d.joined = nil
	return err
}

// IsInitialized reports whether the rank has a default group.
func IsInitialized(r *torch.Rank) bool {
	return len(of(r).joined) > 0
}

// GetRank returns the rank of the caller in a group, the default one if none is given, and
// -1 if it is not a member. A program without Spawn drives all ranks and is rank 0.
func GetRank(r *torch.Rank, group ...*Group) int { return of(r).must("GetRank", group).rank }

// GetWorldSize returns the number of ranks of a group, and -1 if the caller is not a
// member.
func GetWorldSize(r *torch.Rank, group ...*Group) int {
	g := of(r).must("GetWorldSize", group)
	if g.rank < 0 {
		return -1
	}
	return len(g.shared.ranks)
}

// GetBackend returns the backend of a group.
func GetBackend(r *torch.Rank, group ...*Group) string {
	of(r).must("GetBackend", group)
	return Backend
}

// PEs returns the PEs of a group of a program without Spawn, by rank: where its tensors
// lie, with On.
func PEs(r *torch.Rank, group ...*Group) []int {
	d := of(r)
	g := d.must("PEs", group)
	refuse(d.w.spawned, "PEs", "a rank is a SIP under Spawn: lay tensors out with a DPPolicy")
	return slices.Clone(g.shared.ranks)
}

// group returns the group that a call names.
func (d *state) group(op string, group []*Group) (*Group, error) {
	if err := d.s.Begin(op); err != nil {
		return nil, err
	}
	return d.must(op, group), nil
}

func (d *state) must(op string, group []*Group) *Group {
	refuse(len(group) > 1, op, "%d groups: give one", len(group))
	refuse(d.s.Current() == nil, op, "called from a kernel")
	refuse(len(d.joined) == 0, op, "there is no process group: call InitProcessGroup first")
	if len(group) == 0 || group[0] == nil {
		return d.joined[0]
	}
	refuse(!slices.Contains(d.joined, group[0]), op, "the group is not one that this rank has made")
	return group[0]
}
