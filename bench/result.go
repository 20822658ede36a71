package bench

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"

	"github.com/kernbench/kernbench/internal/config"
	"github.com/kernbench/kernbench/torch"
)

// Result is what a run of a bench found out. Its JSON is a contract, which
// docs/benches.md describes.
type Result struct {
	Bench     string     `json:"bench"`
	OK        bool       `json:"ok"`      // no wrong value and no race
	Crit      torch.Time `json:"crit_ns"` // the longest critical path of a launch
	Notes     []string   `json:"notes,omitempty"`
	Metrics   Values     `json:"metrics"`
	Rows      []Values   `json:"rows"`
	Artifacts []string   `json:"artifacts"` // files written
	Config    Config     `json:"config"`
	// Launches is how long every launch and collective ran on each rank, if that was
	// asked for.
	Launches []torch.RankTimes `json:"launches,omitempty"`

	Checks []torch.Check `json:"-"` // comparisons with a reference
	Races  []string      `json:"-"` // pairs of accesses that nothing orders
	logged string        // what is in the op log that was saved
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

// Values is named values, which JSON has as an object in this order.
type Values []torch.Metric

// MarshalJSON writes the object.
func (vs Values) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, v := range vs {
		if i > 0 {
			b.WriteByte(',')
		}
		value, err := json.Marshal(v.Value)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", v.Name, err)
		}
		fmt.Fprintf(&b, "%q:%s", v.Name, value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// validate reports why values are not fit for an object.
func (vs Values) validate() error {
	seen := map[string]bool{}
	for _, v := range vs {
		f, isFloat := v.Value.(float64)
		switch {
		case v.Name == "":
			return fmt.Errorf("the value %v has no name", v.Value)
		case seen[v.Name]:
			return fmt.Errorf("%s is reported twice: give one another name", v.Name)
		case isFloat && (math.IsNaN(f) || math.IsInf(f, 0)):
			return fmt.Errorf("%s is %v, which JSON has no number for", v.Name, f)
		}
		seen[v.Name] = true
	}
	return nil
}
