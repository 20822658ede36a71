package scenario

import (
	"fmt"
	"math"
	"strconv"

	"github.com/kernbench/kernbench/internal/config"
	"github.com/kernbench/kernbench/internal/numeric"
)

// MaxRanks is the largest number of ranks.
const MaxRanks = 64

// file is a scenario as it is written.
type file struct {
	Summary string           `yaml:"summary" want:"one line that says what it does"`
	NRanks  int              `yaml:"nranks" range:"1..64"`
	Ranks   *rankRange       `yaml:"ranks,omitempty"`
	Root    *int             `yaml:"root,omitempty" range:"0..63"`
	Devices *deviceText      `yaml:"devices,omitempty"`
	Params  map[string]Param `yaml:"params,omitempty"`
	Signals *exprText        `yaml:"signals,omitempty"`
	Matrix  []string         `yaml:"signal_matrices,omitempty" want:"names such as [sent, taken]"`
	Window  *exprText        `yaml:"window,omitempty"`
	Domains map[string][]int `yaml:"domains,omitempty" range:"0..63"`
	Buffers []bufferText     `yaml:"buffers" want:"a list of buffers, each with name, dtype, shape and placement"`
	Kernel  *callText        `yaml:"kernel,omitempty"`
	Tasks   *callText        `yaml:"tasks,omitempty"`
	Outputs []outputText     `yaml:"outputs" want:"a list of outputs, each with buffer and golden"`
}

type rankRange struct {
	Min int `yaml:"min" range:"1..64"`
	Max int `yaml:"max" range:"1..64"`
}

type bufferText struct {
	Name      string        `yaml:"name" want:"a name such as x"`
	DType     numeric.DType `yaml:"dtype"`
	Shape     []exprText    `yaml:"shape" want:"a list of extents such as [nranks, 64]"`
	Placement Placement     `yaml:"placement"`
	Init      *exprText     `yaml:"init,omitempty"`
	Staged    bool          `yaml:"staged,omitempty"`
	Offset    *exprText     `yaml:"offset,omitempty"`
	Bytes     *exprText     `yaml:"bytes,omitempty"`
	Domain    *string       `yaml:"domain,omitempty" want:"the name of a domain"`
}

type callText struct {
	Name string     `yaml:"name" want:"the name of a registered function"`
	Args []exprText `yaml:"args" want:"a list of arguments such as [x, out, nranks]"`
}

type outputText struct {
	Buffer   string    `yaml:"buffer" want:"the name of a buffer"`
	Golden   exprText  `yaml:"golden"`
	Ranks    Where     `yaml:"ranks,omitempty"`
	Relative tolerance `yaml:"relative,omitempty" aka:"rtol"`
	Absolute distance  `yaml:"absolute,omitempty" aka:"atol"`
}

// Placement is where a buffer lies.
type Placement string

// The placements.
const (
	Window Placement = "window" // where peers can reach it
	Device Placement = "device" // in memory of the rank's own
)

// Where is the ranks at which an output is compared.
type Where string

// The ranks of an output.
const (
	AllRanks Where = "all"
	AtRoot   Where = "root"
)

type (
	exprText   string
	deviceText string
	tolerance  float64 // a share of the golden value
	distance   float64 // in units of the golden value
)

// scalars is the syntax of values that are written as one.
func scalars() config.Scalars {
	s := config.Scalars{}
	asWritten := func(text string) (exprText, error) { return exprText(text), nil }
	config.Define(s, "an expression such as 64*nranks", asWritten, func(t exprText) string { return string(t) })
	config.Define(s, "a number or words such as ring|tree", parseParam, Param.String)
	config.Define(s, "a dtype such as f32", numeric.ParseDType, numeric.DType.String)
	config.Define(s, "devices such as 0-3 or 0,2,5", func(text string) (deviceText, error) {
		_, err := ParseDevices(text)
		return deviceText(text), err
	}, func(t deviceText) string { return string(t) })
	defineNumber[tolerance](s, "from 0 to below 1", "1e-4", 1)
	defineNumber[distance](s, "from 0 on", "1e-3", math.Inf(1))
	config.DefineWords(s, []Placement{Window, Device})
	config.DefineWords(s, []Where{AllRanks, AtRoot})
	return s
}

// defineNumber adds the syntax of numbers from 0 to below a limit. which describes them.
func defineNumber[T ~float64](s config.Scalars, which, example string, limit float64) {
	config.Define(s, "a number such as "+example, func(text string) (T, error) {
		f, err := strconv.ParseFloat(text, 64)
		if err != nil || !(f >= 0 && f < limit) {
			return 0, fmt.Errorf("expected a number %s such as %s, got %.60q", which, example, text)
		}
		return T(f), nil
	}, func(x T) string { return fmt.Sprint(float64(x)) })
}
