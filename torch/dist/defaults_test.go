package dist_test

import (
	"testing"

	"github.com/kernbench/kernbench/ccl"
	"github.com/kernbench/kernbench/internal/hosted/hostedtest"
	"github.com/kernbench/kernbench/internal/lists"
	"github.com/kernbench/kernbench/torch"
	"github.com/kernbench/kernbench/torch/dist"
)

// parseConfig parses the text of a ccl.yaml.
func parseConfig(t *testing.T, text string) *ccl.Config {
	t.Helper()
	config, err := ccl.Parse("c.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return config
}

// TestInitFollowsDefaults checks that InitProcessGroup without options takes the size of
// the world and the settings from the defaults of ccl.yaml. If the defaults name an entry,
// the values of the entry take precedence.
func TestInitFollowsDefaults(t *testing.T) {
	const pair = "algorithms: {pair: {algorithm: tree, buffer_kind: sram, world_size: 7}, plain: {}}\n"
	for _, tt := range []struct {
		config            string
		world             int
		algorithm, buffer string
	}{
		{pair, 256, "ring", "tcm"},
		{"defaults: {algorithm: pair}\n" + pair, 7, "tree", "sram"},
		{"defaults: {algorithm: pair, world_size: 12}\n" + pair, 7, "tree", "sram"},
		{"defaults: {algorithm: plain, world_size: 12, buffer_kind: hbm}\n" + pair, 12, "ring", "hbm"},
		{"defaults: {algorithm: direct, world_size: 5}\n" + pair, 5, "direct", "tcm"},
	} {
		l := hostedtest.New(t, torch.Options{CCL: parseConfig(t, tt.config)})
		torch.OK(dist.InitProcessGroup(l.Rank, "ahbm"))
		if got := dist.GetWorldSize(l.Rank); got != tt.world || len(dist.PEs(l.Rank)) != got {
			t.Errorf("%s: a world of %d ranks on %d PEs, want %d", tt.config, got, len(dist.PEs(l.Rank)), tt.world)
		}
		x := l.Ints(lists.Count(0, 3*tt.world), torch.I32, torch.On(dist.PEs(l.Rank)...))
		torch.OK(dist.AllReduce(l.Rank, x, dist.SUM))
		var sums []int
		for range tt.world {
			for i := range 3 {
				sums = append(sums, tt.world*i+3*tt.world*(tt.world-1)/2)
			}
		}
		l.Holds(tt.config, x, sums)
		if got := dist.Last(l.Context); got.Algorithm != tt.algorithm || got.Buffer != tt.buffer {
			t.Errorf("%s: %s with slots in %s, want %s in %s", tt.config, got.Algorithm, got.Buffer, tt.algorithm, tt.buffer)
		}
	}
}

// TestGroupsFollowDefaults checks that a new group inherits the settings of the default
// group.
func TestGroupsFollowDefaults(t *testing.T) {
	l := hostedtest.New(t, torch.Options{CCL: parseConfig(t, "defaults: {algorithm: few, world_size: 12}\nalgorithms: {few: {algorithm: mesh, buffer_kind: hbm}}\n")})
	torch.OK(dist.InitProcessGroup(l.Rank, "ahbm"))
	g := torch.Must(dist.NewGroup(l.Rank, []int{11, 3, 5, 7, 1}))
	x := l.Ints(lists.Count(0, 5), torch.I32, torch.On(dist.PEs(l.Rank, g)...))
	torch.OK(dist.AllReduce(l.Rank, x, dist.MAX, g))
	l.Holds("a group of five", x, hostedtest.Fill(4, 5))
	if got := dist.Last(l.Context); got.Algorithm != "mesh" || got.Buffer != "hbm" {
		t.Errorf("%s with slots in %s, want mesh in hbm", got.Algorithm, got.Buffer)
	}
}

// TestSpawnCountsWorkers checks that under Spawn the world consists of the workers.
// world_size of the default entry is ignored, and the other settings of the entry apply.
func TestSpawnCountsWorkers(t *testing.T) {
	config := parseConfig(t, "defaults: {algorithm: pair, world_size: 12}\nalgorithms: {pair: {algorithm: tree, buffer_kind: hbm, world_size: 7}}\n")
	l := hostedtest.New(t, torch.Options{Topology: hostedtest.System(t, "default", "system.sips.count=3"), CCL: config})
	torch.OK(l.Spawn(func(r *torch.Rank) error {
		torch.OK(dist.InitProcessGroup(r, "ahbm"))
		x := torch.Must(r.FromSlice([]int{r.Rank()}, torch.I32, torch.Shape{1}))
		torch.OK(dist.AllReduce(r, x, dist.SUM))
		torch.OK(r.Synchronize())
		if world, at := dist.GetWorldSize(r), torch.Must(x.Numpy()).At(0); world != 3 || at != 3 {
			t.Errorf("rank %d: a world of %d with a sum of %v, want 3 and 3", r.Rank(), world, at)
		}
		if got := dist.Last(r.Context); got.Algorithm != "tree" || got.Buffer != "hbm" {
			t.Errorf("%s with slots in %s, want tree in hbm", got.Algorithm, got.Buffer)
		}
		return nil
	}, 3))
}

// TestQueuesAreCheckedAtTheStart checks that InitProcessGroup and NewGroup refuse a group
// whose queues do not fit on the PEs, and that the program can continue with another group.
func TestQueuesAreCheckedAtTheStart(t *testing.T) {
	const full = ", and pe.tcm.size is 2MiB; use fewer or smaller slots (n_slots, slot_size), another memory for them (buffer_kind), or smaller messages (chunk_bytes)"
	for _, world := range []int{7, 12} {
		l := hostedtest.New(t, torch.Options{CCL: parseConfig(t, "defaults: {n_slots: 256}\n")})
		size := func(o *dist.GroupOptions) { o.WorldSize = world }
		hostedtest.Says(t, "the world", dist.InitProcessGroup(l.Rank, "ahbm", size),
			"InitProcessGroup: ring needs 3 × 256B of tiles and 2 ports × 256 slots × 4KiB of queues in tcm, 2097920B of TCM"+full)
		if dist.IsInitialized(l.Rank) {
			t.Error("there is a group")
		}
		torch.OK(dist.InitProcessGroup(l.Rank, "ahbm", size, func(o *dist.GroupOptions) { o.NSlots = 100 }))
		_, err := dist.NewGroup(l.Rank, []int{6, 2, 4, 0, 5, 1, 3}, dist.Algorithm("direct"))
		hostedtest.Says(t, "a group", err, "NewGroup: direct needs 4 × 256B of tiles and 6 ports × 100 slots × 4KiB of queues in tcm, 2401KiB of TCM"+full)
		g := torch.Must(dist.NewGroup(l.Rank, []int{6, 2, 4}, dist.Algorithm("direct")))
		x := l.Ints(lists.Count(0, 3), torch.I32, torch.On(dist.PEs(l.Rank, g)...))
		torch.OK(dist.AllReduce(l.Rank, x, dist.SUM, g))
		l.Holds("a smaller group", x, hostedtest.Fill(3, 3))
	}
	l := hostedtest.New(t, torch.Options{Topology: hostedtest.System(t, "default", "system.sips.count=3"), CCL: parseConfig(t, "defaults: {n_slots: 256, algorithm: auto}\n")})
	err := l.Spawn(func(r *torch.Rank) error { return dist.InitProcessGroup(r, "ahbm") }, 3)
	hostedtest.Says(t, "workers", err, "ranks 0-2: InitProcessGroup: auto finds no algorithm for all_reduce that fits: "+
		"ring needs 3 × 256B of tiles and 2 ports × 256 slots × 4KiB of queues in tcm, 2097920B of TCM"+full)
}
