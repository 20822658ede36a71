package bench

import (
	"github.com/kernbench/kernbench/internal/config"
	"github.com/kernbench/kernbench/internal/table"
	"github.com/kernbench/kernbench/torch"
)

// Result is what a run of a bench has found out. Its JSON is a contract, which
// docs/benches.md describes. Its tagged fields are columns of a row for each run.
type Result struct {
	Bench     string       `json:"bench"`
	OK        bool         `json:"ok" table:",check"`                      // no wrong value and no race
	Crit      torch.Time   `json:"crit_ns" table:"ns,lower,critical path"` // the longest of a launch
	Notes     []string     `json:"notes,omitempty"`
	Metrics   table.Record `json:"metrics"`
	Rows      *table.Table `json:"rows"`
	Artifacts []string     `json:"artifacts"` // files written
	Config    Config       `json:"config"`
	// Launches is how long every launch and collective ran on each rank, if that was
	// asked for.
	Launches []torch.RankTimes `json:"launches,omitempty"`
	Schema   table.Schema      `json:"schema"` // columns of rows, metrics and launches

	Checks torch.Checks `json:"-"` // comparisons with a reference
	Races  []string     `json:"-"` // pairs of accesses that nothing orders
	logged string       // what is in the op log that was saved
}

// Config is what a result was made with. What cannot change a result, such as the
// number of threads, is not in it.
type Config struct {
	Version   string            `json:"version"` // of kernbench
	Topology  config.Used       `json:"topology"`
	CCL       *config.Used      `json:"ccl,omitempty"`        // of runs with collectives
	Tasks     *config.Used      `json:"tasks,omitempty"`      // of runs with programs of tasks: of the first
	TasksAlso []config.Used     `json:"tasks_also,omitempty"` // and others than that
	Params    map[string]string `json:"params,omitempty"`     // of benches that have some
	Fidelity  string            `json:"fidelity"`             // train or flit
	Data      string            `json:"data"`                 // on or off
	Check     string            `json:"check"`                // race or none
}
