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
	rank   int // the caller's rank in the group; -1 if the caller is not a member
	next   int // the number of the rank's next collective, from 0
	split  int // the number of groups that SplitGroup has made of this group so far

	objects int // the number of the rank's next collective of objects, from 0
}

// Rank returns the rank of the caller in the group, or -1 if the caller is not a member. In
// a program without Spawn it returns 0.
func (g *Group) Rank() int { return g.rank }

// Size returns the number of ranks of the group.
func (g *Group) Size() int { return len(g.shared.ranks) }

// Ranks returns the members of the group as ranks of the world, in the order of the group.
func (g *Group) Ranks() []int { return slices.Clone(g.shared.ranks) }

// Next returns the member that follows the caller in the group, as a rank of the world. The
// first member follows the last one. Next panics if the caller is not a member.
func (g *Group) Next() int { return g.worldRank("Next", g.rank+1) }

// Prev returns the member that precedes the caller in the group, as a rank of the world.
// The last member precedes the first one. Prev panics if the caller is not a member.
func (g *Group) Prev() int { return g.worldRank("Prev", g.rank+g.Size()-1) }

// worldRank converts rank i of the group, modulo the size of the group, to a rank of the
// world. It panics if the caller is not a member. op is the name of the calling function,
// for errors.
func (g *Group) worldRank(op string, i int) int {
	refuse(g.rank < 0, op, "the caller is not in %v: call it on these ranks alone", g)
	return g.shared.ranks[i%g.Size()]
}

// String returns the name of the group and its ranks: "group 1 of ranks [0 1]".
func (g *Group) String() string { return fmt.Sprintf("%v of ranks %v", g.shared, g.shared.ranks) }

// describe returns the name of the group and its ranks for errors: "group 1, which has
// ranks 0-3".
func (g *Group) describe() string {
	return fmt.Sprintf("%v, which has %s", g.shared, stream.RankList(g.shared.ranks))
}

// groupState holds what all ranks of a process group share.
type groupState struct {
	name       string
	ranks      []int          // the members as ranks of the world, in the order of the group
	madeBy     []int          // the ranks that have called the function that makes the group
	splits     []*groupState  // the groups that SplitGroup has made of this group
	incomplete map[int]*call  // calls that not all ranks have made, by number
	calls      *stream.Stream // orders the collectives, which all workers call in the same order
	options    GroupOptions

	// posted has the encoded objects of calls that not all ranks have made, by the number
	// of the call and the rank of the group.
	posted map[int]map[int][][]byte
	// sent has the lists of encoded objects that have not been received, by sender and
	// receiver, which are ranks of the world.
	sent map[[2]int][][][]byte
}

func (g *groupState) String() string { return g.name }

// Backend is the name of the only backend, the simulated machine.
const Backend = "ahbm"

// GroupOptions holds the properties of a process group. A new group inherits the properties
// of the default group, or of its parent, unless an option changes them.
type GroupOptions struct {
	ccl.Settings            // the settings of the collectives
	Timeout      torch.Time // the timeout of collectives and messages; 0 means none
	// KeepOrder numbers the ranks of a group in the order in which NewGroup lists them. New
	// groups do not inherit it.
	KeepOrder bool
}

// GroupOption changes a property of a process group.
type GroupOption func(*GroupOptions)

// Settings replaces the settings of a group by s, for example by those of an entry of
// ccl.yaml.
func Settings(s ccl.Settings) GroupOption { return func(o *GroupOptions) { o.Settings = s } }

// Algorithm selects the algorithm for the collectives of a group. Collectives that this
// algorithm does not support use the default algorithm. The name ccl.Auto selects the
// algorithm with the lowest cost for each collective.
func Algorithm(name string) GroupOption { return func(o *GroupOptions) { o.Algorithm = name } }

// KeepOrder numbers the ranks of a group in the order in which NewGroup lists them. Without
// KeepOrder the ranks are sorted, as in PyTorch.
func KeepOrder() GroupOption { return func(o *GroupOptions) { o.KeepOrder = true } }

// InitProcessGroup makes the default group. Its settings are the defaults of ccl.yaml, or
// the entry that these defaults name, unless opts change them. Under Spawn, the members are
// all workers, and world_size is ignored. In a program without Spawn, the members are the
// first world_size PEs, or all PEs if ccl.yaml sets no world_size. InitProcessGroup returns
// an error if the settings are wrong, or if the queues that they need do not fit on the
// PEs.
func InitProcessGroup(r *torch.Rank, backend string, opts ...GroupOption) error {
	d := stateOf(r)
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
	d.madeBefore = d.groupsMade
	_, err = d.join("InitProcessGroup", nil, lists.Count(0, n), o)
	return err
}

// join returns the group that the calling rank makes next. All ranks make the same groups
// in the same order. The first rank to make a group creates its shared state; the other
// ranks get the same state. `members` lists the ranks of the world in the order of the
// group, and `o` holds the options. join returns an error if another rank has made this
// group with other members or options. If `parent` is nil, the new group is a group of the
// world, and otherwise a split of `parent`. `op` is the name of the calling function, for
// errors.
func (d *state) join(op string, parent *Group, members []int, o GroupOptions) (*Group, error) {
	all, made, name := &d.w.groups, &d.groupsMade, "the default group"
	if n := d.groupsMade - d.madeBefore; n > 0 {
		name = fmt.Sprintf("group %d", n)
	}
	if parent != nil {
		all, made, name = &parent.shared.splits, &parent.split, fmt.Sprintf("%v.%d", parent.shared, parent.split+1)
	}
	o.KeepOrder = false // members is already in the order of the group
	if *made == len(*all) || (*all)[*made].options != o {
		if err := d.w.checkSettings(members, o.Settings); err != nil {
			return nil, fmt.Errorf("%s: %w", op, err)
		}
	}
	if *made == len(*all) {
		g := &groupState{
			name: name, ranks: slices.Clone(members), incomplete: map[int]*call{}, calls: stream.NewCalls(), options: o,
			posted: map[int]map[int][][]byte{}, sent: map[[2]int][][][]byte{},
		}
		*all = append(*all, g)
	}
	s := (*all)[*made]
	if slices.Equal(s.ranks, members) && s.options != o {
		return nil, fmt.Errorf("%s: rank %d makes %s with other settings than %s: all ranks make the same groups in the same order",
			op, d.s.Number, s, stream.RankList(s.madeBy))
	}
	if !slices.Equal(s.ranks, members) {
		return nil, fmt.Errorf("%s: rank %d makes %s of ranks %v, %s made it of %v: all ranks make the same groups in the same order",
			op, d.s.Number, s, members, stream.RankList(s.madeBy), s.ranks)
	}
	s.madeBy = append(s.madeBy, d.s.Number)
	*made++
	g := &Group{shared: s, rank: slices.Index(members, d.s.Number)}
	if !d.w.spawned {
		g.rank = 0
	}
	d.joined = append(d.joined, g)
	return g, nil
}

// checkSettings returns an error if a group of the given members cannot run its collectives
// with the given settings.
func (c *world) checkSettings(members []int, settings ccl.Settings) error {
	if names := append(ccl.Names(), ccl.Auto); !slices.Contains(names, settings.Algorithm) {
		return fmt.Errorf("no algorithm %q: there are %s", settings.Algorithm, strings.Join(names, ", "))
	}
	if err := settings.Check(c.Topology().Spec()); err != nil {
		return err
	}
	queues := c.m.Queues(settings.Queues())
	if capacity := topology.Bytes(queues.NSlots) * queues.SlotSize; settings.ChunkBytes > capacity {
		return fmt.Errorf("chunks of %v, and a queue has %d slots of %v: lower ccl's chunk_bytes to %v", settings.ChunkBytes, queues.NSlots, queues.SlotSize, capacity)
	}
	return cost.CheckSettings(settings, c.Topology(), c.representativePEs(members), queues)
}

// representativePEs returns one PE for each rank in ranks. In a program without Spawn, a
// rank is a PE. Under Spawn, a rank is a SIP, and the result has the first PE of the SIP,
// because only the tensors of later calls decide which PEs take part.
func (c *world) representativePEs(ranks []int) []int {
	if !c.spawned {
		return ranks
	}
	var pes []int
	for _, rank := range ranks {
		pes = append(pes, int(c.m.ID(rank, 0, 0)))
	}
	return pes
}

// NewGroup makes a group with the given ranks of the world as its members. The ranks are
// sorted unless the option KeepOrder is given. All ranks of the world, members or not, must
// make the same groups in the same order.
func NewGroup(r *torch.Rank, ranks []int, opts ...GroupOption) (*Group, error) {
	return stateOf(r).subgroup("NewGroup", nil, ranks, opts)
}

// subgroup makes a group of the given ranks of the parent, or of the default group if
// parent is nil. op is the name of the calling function, for errors.
func (d *state) subgroup(op string, parent *Group, ranks []int, opts []GroupOption) (*Group, error) {
	base, err := d.group(op, []*Group{parent})
	if err != nil {
		return nil, err
	}
	n := len(base.shared.ranks)
	sorted := slices.Sorted(slices.Values(ranks))
	outside := len(sorted) > 0 && (sorted[0] < 0 || sorted[len(sorted)-1] >= n)
	twice := len(slices.Compact(slices.Clone(sorted))) != len(ranks)
	refuse(outside || twice, op, "ranks %v: each is one of 0 to %d, once", ranks, n-1)
	refuse(len(ranks) == 0, op, "a group of no ranks")
	o := base.shared.options
	for _, change := range opts {
		change(&o)
	}
	if o.KeepOrder {
		sorted = ranks
	}
	return d.join(op, parent, pick(base.shared.ranks, sorted), o)
}

// DestroyProcessGroup waits for all operations of the rank and removes all its groups.
func DestroyProcessGroup(r *torch.Rank) error {
	d := stateOf(r)
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
	return len(stateOf(r).joined) > 0
}

// GetRank returns the rank of the caller in the given group, or in the default group if no
// group is given. It returns -1 if the caller is not a member, and 0 in a program without
// Spawn.
func GetRank(r *torch.Rank, group ...*Group) int { return stateOf(r).mustGroup("GetRank", group).rank }

// GetWorldSize returns the number of ranks in a group, or -1 if the caller is not a member.
func GetWorldSize(r *torch.Rank, group ...*Group) int {
	g := stateOf(r).mustGroup("GetWorldSize", group)
	if g.rank < 0 {
		return -1
	}
	return len(g.shared.ranks)
}

// GetBackend returns the backend of a group.
func GetBackend(r *torch.Rank, group ...*Group) string {
	stateOf(r).mustGroup("GetBackend", group)
	return Backend
}

// PEs returns the PEs of a group in a program without Spawn, in the order of the ranks.
// Pass them to torch.On to place a tensor for the collectives of the group.
func PEs(r *torch.Rank, group ...*Group) []int {
	d := stateOf(r)
	g := d.mustGroup("PEs", group)
	refuse(d.w.spawned, "PEs", "a rank is a SIP under Spawn: lay tensors out with a DPPolicy")
	return slices.Clone(g.shared.ranks)
}

// group returns the group that the program has passed as the optional last argument of a
// call, or the default group. It returns an error if the rank may not start an operation.
// op is the name of the calling function, for errors.
func (d *state) group(op string, group []*Group) (*Group, error) {
	if err := d.s.Begin(op); err != nil {
		return nil, err
	}
	return d.mustGroup(op, group), nil
}

// mustGroup returns the group that the program has passed as the optional last argument of
// a call, or the default group. It panics if there is no such group. op is the name of the
// calling function, for errors.
func (d *state) mustGroup(op string, group []*Group) *Group {
	refuse(len(group) > 1, op, "%d groups: give one", len(group))
	refuse(d.s.Current() == nil, op, "called from a kernel")
	refuse(len(d.joined) == 0, op, "there is no process group: call InitProcessGroup first")
	if len(group) == 0 || group[0] == nil {
		return d.joined[0]
	}
	refuse(!slices.Contains(d.joined, group[0]), op, "the group is not one that this rank has made")
	return group[0]
}
