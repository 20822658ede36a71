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

// programs is what the files run, by the names there: kernels, and orchestrations that cut
// the same work into tasks.
var programs = []struct {
	name          string
	kernel, tasks any
}{
	{"all_to_all", allToAll, allToAllTasks},
	{"all_to_all_pairs", allToAllPairs, allToAllPairsTasks},
	{"all_gather", allGather, allGatherTasks},
	{"all_reduce_onephase", onePhase, onePhaseTasks},
	{"all_reduce_twophase", twoPhase, twoPhaseTasks},
	{"all_reduce_ring", ringBy(oneWay), ringTasksBy(oneWay)},
	{"all_reduce_bidirectional_ring", ringBy(bothWays), ringTasksBy(bothWays)},
	{"broadcast", broadcast, broadcastTasks},
	{"domain_rank_map", domainRankMap, domainRankMapTasks},
	{"dual_domain_overlap", dualDomainOverlap, dualDomainOverlapTasks},
	{"ep_dispatch_combine", epDispatchCombine, epTasks},
	{"ffn_tp", ffnTP, ffnTasks},
	{"reduce_scatter", reduceScatter, reduceScatterTasks},
	{"treduce", treduceBy(sumTile), treduceTasksBy(sumTile)}, // for files of users
	{"treduce_loop", treduceBy(sumTile), treduceTasksBy(sumTile)},
	{"treduce_treduce", treduceBy(reduceTile), treduceTasksBy(reduceTile)},
}

func init() {
	names, err := fs.Glob(files, "*.yaml")
	for _, name := range names {
		text, wrong := files.ReadFile(name)
		err = errors.Join(err, wrong)
		scenario.Register(strings.TrimSuffix(name, ".yaml"), text)
	}
	if err != nil {
		panic(err) // they are part of the program
	}
	for _, p := range programs {
		scenario.RegisterKernel(p.name, p.kernel)
		scenario.RegisterTasks(p.name, p.tasks)
	}
	scenario.RegisterGolden("ep_received", epReceived)
	scenario.RegisterGolden("ep_combined", epCombined)
	scenario.RegisterGolden("ffn_tp", ffnGolden)
}
