package torch

import (
	"maps"
	"slices"

	"github.com/kernbench/kernbench/internal/machine"
)

// RankTimes is how long a launch or a collective ran on each of its ranks.
type RankTimes struct {
	Name  string `json:"name" table:",setting"` // of the kernel: "all_reduce(ring)" of a collective
	Start Time   `json:"start_ns" table:"ns,result"`
	Crit  Time   `json:"crit_ns" table:"ns,lower,critical path"` // the longest of Exec
	Ranks []int  `json:"ranks"`                                  // in the launch, or of a collective in the world; ascending
	// Exec is the time from Start to the end of each of Ranks. For a rank with several
	// PEs it is the time of the last one.
	Exec []Time `json:"pe_exec_ns"`
}

// rankTimes returns the times of a run that has ended. members is the rank of each PE, in
// the order of the program's targets; nil if each PE is a rank.
func rankTimes(run *machine.Run, members []int) RankTimes {
	t := RankTimes{Name: run.Name, Start: run.Start, Crit: run.Critical()}
	longest := map[int]Time{}
	for i, pe := range run.Program.Targets {
		rank := i
		if members != nil {
			rank = members[i]
		}
		longest[rank] = max(longest[rank], run.ExecOf(pe))
	}
	t.Ranks = slices.Sorted(maps.Keys(longest))
	for _, rank := range t.Ranks {
		t.Exec = append(t.Exec, longest[rank])
	}
	return t
}
