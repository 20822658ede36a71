package scenario

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/kernbench/kernbench/internal/config"
	"github.com/kernbench/kernbench/numeric"
)

// Scenario is a file that was read and has no mistakes.
type Scenario struct {
	Name    string // "all_reduce"
	Source  string // the file, or "scenario all_reduce" for a registered scenario
	Summary string
	Ranks   int // the default number of ranks
	Text    []byte
	Params  map[string]Param

	file file
	doc  *config.Doc

	names   []string // the names that expressions may use, by slot (slotI ...)
	rooted  bool     // the scenario uses the root
	signals *expr
	window  *expr
	domains []string
	buffers []bufferExprs
	kernel  call
	tasks   call
	outputs []source // the golden values of each output
}

// bufferExprs holds the expressions of a buffer. Expressions that the file omits are nil.
type bufferExprs struct {
	shape         []*expr
	offset, bytes *expr
	init          source
}

// source is what computes the values of a buffer: an expression, a function, or neither.
type source struct {
	path string
	expr *expr
	fill Fill
	name string // the name of the function
}

func (s source) exists() bool { return s.expr != nil || s.fill != nil }

// Slots are the indices of names in Scenario.names and Plan.values. The parameters follow.
const (
	slotI = iota
	slotRank
	slotRound
	slotDevice
	slotRanks
	slotRoot
	slotParams
)

var slotNames = []string{slotI: "i", slotRank: "rank", slotRound: "round", slotDevice: "device", slotRanks: "nranks", slotRoot: "root"}

// Load finds a registered scenario with the given name. If there is none, it reads the file
// of that name. If there is no such file either, it finds a registered scenario whose name
// differs only in _, - and case. The error has a line for every mistake. If ctx ends before
// the file is read, the error is the cause of ctx.
func Load(ctx context.Context, name string) (*Scenario, error) {
	if text, ok := scenarios[name]; ok {
		return Parse("scenario "+name, text)
	}
	text, err := config.ReadFile(ctx, name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if known, ok := config.Resolve(ctx, name, Names()); ok {
			return Parse("scenario "+known, scenarios[known])
		}
		return nil, fmt.Errorf("no file %s and no scenario of that name; scenarios: %s%s", name, strings.Join(Names(), ", "), config.DidYouMean(name, Names()))
	case err != nil:
		return nil, fmt.Errorf("reading a scenario: %w", err)
	}
	return Parse(name, text)
}

// Parse parses the text of a scenario file. `source` is the name of the file in errors. The
// error has a line for every mistake, including those that appear only in the plan with the
// default choice.
func Parse(source string, text []byte) (*Scenario, error) {
	doc, err := config.ParseStandalone(source, text)
	if err != nil {
		return nil, err
	}
	s := &Scenario{Source: source, Text: text, doc: doc}
	s.Name = strings.TrimSuffix(filepath.Base(strings.TrimPrefix(source, "scenario ")), filepath.Ext(source))
	p := &problems{doc: doc, ctx: context.Background()}
	if err := doc.Decode(&s.file, scalars()); !errors.As(err, &p.errs) && err != nil {
		return nil, err
	}
	s.Summary, s.Ranks, s.Params = s.file.Summary, s.file.NRanks, s.file.Params
	s.compile(p)
	if s.Ranks > 0 { // also report mistakes that appear only with the default choices
		s.plan(Choice{}, p)
	}
	if err := p.errs.Err(); err != nil {
		return nil, err
	}
	return s, nil
}

// scope returns the names that an expression may use: all names except those of the slots
// `hidden`.
func (s *Scenario) scope(hidden ...int) scope {
	sc := scope{names: slices.Clone(s.names), params: s.Params}
	for _, h := range hidden {
		sc.names[h] = ""
	}
	return sc
}

// paramNames returns the names of the parameters in alphabetical order, which is the order
// of their slots.
func (s *Scenario) paramNames() []string { return slices.Sorted(maps.Keys(s.Params)) }

var (
	inputs    = map[string]Fill{}
	goldens   = map[string]Fill{}
	scenarios = map[string][]byte{}

	validName = regexp.MustCompile(`^[a-z][a-z0-9]*(_[a-z0-9]+)*$`)
)

func isName(text string) bool { return validName.MatchString(text) }

// Register adds a scenario under a name by which Load finds it. `text` is the content of
// its file. Register panics if the name is taken or malformed.
func Register(name string, text []byte) { addNamed("scenario", scenarios, name, text) }

// RegisterKernel adds a kernel under a name that scenario files use. `kernel` is a
// func(*tl.PE, ...) of the tile language.
func RegisterKernel(name string, kernel any) { kernels.register(name, kernel) }

// RegisterTasks adds an orchestration under a name that scenario files use. `orchestrate`
// is a func(*task.Builder, ...) that submits the tasks of one rank.
func RegisterTasks(name string, orchestrate any) { orchestrations.register(name, orchestrate) }

// RegisterInput adds a function that computes the initial values of a buffer. A scenario
// file chooses the function with the text func:NAME as the value of the key init.
func RegisterInput(name string, f Fill) { addNamed("input", inputs, name, f) }

// RegisterGolden adds a function that computes the golden values of an output. A file uses
// it as golden: func:NAME.
func RegisterGolden(name string, f Fill) { addNamed("golden", goldens, name, f) }

// addNamed adds `value` to the registry, which is the map `to`, under the given name. It
// panics if the name is taken or malformed. `what` names the kind of value in messages.
func addNamed[T any](what string, to map[string]T, name string, value T) {
	if _, taken := to[name]; taken {
		panic(fmt.Sprintf("scenario: two of kind %s are called %q: rename one", what, name))
	}
	if !isName(name) {
		panic(fmt.Sprintf("scenario: %q is no name for a %s: write lower-case words joined by _, such as all_to_all", name, what))
	}
	to[name] = value
}

// Names returns the names of the registered scenarios in alphabetical order.
func Names() []string { return slices.Sorted(maps.Keys(scenarios)) }

// MaxRanks is the largest number of ranks.
const MaxRanks = 64

// file is the content of a scenario file before its expressions are parsed.
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

// Placement is the kind of memory that holds a buffer.
type Placement string

// The placements.
const (
	Window Placement = "window" // memory that peers can reach
	Device Placement = "device" // private memory of the rank
)

// Where selects the ranks at which an output is compared.
type Where string

// The ranks of an output.
const (
	AllRanks Where = "all"
	AtRoot   Where = "root"
)

type (
	exprText   string
	deviceText string
	tolerance  float64 // relative: a fraction of the golden value
	distance   float64 // absolute: in units of the golden value
)

// scalars returns how the scalar types of scenario files, such as expressions and dtypes,
// are parsed and printed.
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

// defineNumber defines the syntax of type T in s: a number x with 0 <= x < limit.
// `rangeText` and `example` describe this range in errors.
func defineNumber[T ~float64](s config.Scalars, rangeText, example string, limit float64) {
	config.Define(s, "a number such as "+example, func(text string) (T, error) {
		f, err := strconv.ParseFloat(text, 64)
		if err != nil || !(f >= 0 && f < limit) {
			return 0, fmt.Errorf("expected a number %s such as %s, got %.60q", rangeText, example, text)
		}
		return T(f), nil
	}, func(x T) string { return fmt.Sprint(float64(x)) })
}
