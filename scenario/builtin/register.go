package builtin

import (
	"embed"
	"errors"
	"io/fs"
	"strings"

	"github.com/kernbench/kernbench/scenario"
)

//go:embed *.yaml
var files embed.FS

// programs lists the kernels of the files, and the orchestrations that divide the same work
// into tasks, by the names that the files use.
var programs = []struct {
	name          string
	kernel, tasks any
}{
	{"all_to_all", allToAll, allToAllTasks},
	{"all_to_all_pairs", allToAllPairs, allToAllPairsTasks},
	{"all_gather", allGather, allGatherTasks},
	{"all_reduce_onephase", onePhase, onePhaseTasks},
	{"all_reduce_twophase", twoPhase, twoPhaseTasks},
	{"all_reduce_ring", ringKernel(oneWay), ringTasks(oneWay)},
	{"all_reduce_bidirectional_ring", ringKernel(bothWays), ringTasks(bothWays)},
	{"broadcast", broadcast, broadcastTasks},
	{"domain_rank_map", domainRankMap, domainRankMapTasks},
	{"dual_domain_overlap", dualDomainOverlap, dualDomainOverlapTasks},
	{"ep_dispatch_combine", epDispatchCombine, epTasks},
	{"ffn_tp", ffnTP, ffnTasks},
	{"reduce_scatter", reduceScatter, reduceScatterTasks},
	{"treduce", treduceKernel(sumTile), treduceTasks(sumTile)}, // for user-defined files
	{"treduce_loop", treduceKernel(sumTile), treduceTasks(sumTile)},
	{"treduce_treduce", treduceKernel(reduceTile), treduceTasks(reduceTile)},
}

func init() {
	names, err := fs.Glob(files, "*.yaml")
	for _, name := range names {
		text, wrong := files.ReadFile(name)
		err = errors.Join(err, wrong)
		scenario.Register(strings.TrimSuffix(name, ".yaml"), text)
	}
	if err != nil {
		panic(err) // cannot happen: the files are embedded
	}
	for _, p := range programs {
		scenario.RegisterKernel(p.name, p.kernel)
		scenario.RegisterTasks(p.name, p.tasks)
	}
	scenario.RegisterGolden("ep_received", epReceived)
	scenario.RegisterGolden("ep_combined", epCombined)
	scenario.RegisterGolden("ffn_tp", ffnGolden)
}
