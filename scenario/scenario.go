package scenario

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/kernbench/kernbench/internal/config"
)

// Scenario is a file that was read and makes sense.
type Scenario struct {
	Name    string // "allreduce"
	Source  string // the file, or "scenario allreduce" of a registered one
	Summary string
	Ranks   int // unless somebody says otherwise
	Text    []byte
	Params  map[string]Param

	file file
	doc  *config.Doc

	names   []string // of all that expressions may use; see the slots
	rooted  bool     // there is a root
	signals *expr
	window  *expr
	domains []string
	buffers []bufferExprs
	kernel  call
	tasks   call
	outputs []source // golden values, by output
}

// bufferExprs is the expressions of a buffer. Those that the file does not have are
// nil.
type bufferExprs struct {
	shape         []*expr
	offset, bytes *expr
	init          source
}

// source is where values come from: an expression, a function, or neither.
type source struct {
	path string
	expr *expr
	fill Fill
	name string // of the function
}

func (s source) exists() bool { return s.expr != nil || s.fill != nil }

// The places of names in the values of an expression. Parameters follow.
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

// Load finds a registered scenario, or else reads a file of that name. The error holds
// every mistake, as [config.Errors].
func Load(name string) (*Scenario, error) { return LoadContext(context.Background(), name) }

// LoadContext is like Load and returns the cause of ctx when ctx ends before all is read.
func LoadContext(ctx context.Context, name string) (*Scenario, error) {
	if text, ok := scenarios[name]; ok {
		return Parse("scenario "+name, text)
	}
	text, err := config.ReadFile(ctx, name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("no file %s and no scenario of that name; scenarios: %s%s", name, strings.Join(Names(), ", "), config.DidYouMean(name, Names()))
	case err != nil:
		return nil, fmt.Errorf("reading a scenario: %w", err)
	}
	return Parse(name, text)
}

// Parse is Load for a text in memory. Errors call it by the name given.
func Parse(source string, text []byte) (*Scenario, error) {
	doc, err := config.ParseAlone(source, text)
	if err != nil {
		return nil, err
	}
	s := &Scenario{Source: source, Text: text, doc: doc}
	s.Name = strings.TrimSuffix(filepath.Base(strings.TrimPrefix(source, "scenario ")), filepath.Ext(source))
	p := &problems{doc: doc}
	if err := doc.Decode(&s.file, scalars()); !errors.As(err, &p.errs) && err != nil {
		return nil, err
	}
	s.Summary, s.Ranks, s.Params = s.file.Summary, s.file.NRanks, s.file.Params
	s.compile(p)
	if s.Ranks > 0 { // what is wrong with the file as it stands
		s.plan(Choice{}, p)
	}
	if err := p.errs.Err(); err != nil {
		return nil, err
	}
	return s, nil
}

// scope returns the names that some expressions may use: all but the hidden ones.
func (s *Scenario) scope(hidden ...int) scope {
	sc := scope{names: slices.Clone(s.names), params: s.Params}
	for _, h := range hidden {
		sc.names[h] = ""
	}
	return sc
}

// paramNames is the names of the parameters in the order of their slots.
func (s *Scenario) paramNames() []string { return slices.Sorted(maps.Keys(s.Params)) }

var (
	inputs    = map[string]Fill{}
	goldens   = map[string]Fill{}
	scenarios = map[string][]byte{}

	validName = regexp.MustCompile(`^[a-z][a-z0-9]*(_[a-z0-9]+)*$`)
)

func isName(text string) bool { return validName.MatchString(text) }

// Register adds a scenario: the text of its file. Load finds it by its name.
func Register(name string, text []byte) { add("scenario", scenarios, name, text) }

// RegisterKernel adds a kernel, a func(*tl.PE, ...) of the tile language.
func RegisterKernel(name string, kernel any) { kernels.register(name, kernel) }

// RegisterTasks adds an orchestration, a func(*task.Builder, ...) that submits the tasks
// of one rank.
func RegisterTasks(name string, orchestrate any) { orchestrations.register(name, orchestrate) }

// RegisterInput adds a function that makes values of a buffer: init: func:NAME.
func RegisterInput(name string, f Fill) { add("input", inputs, name, f) }

// RegisterGolden adds a function that makes the values that an output must have:
// golden: func:NAME.
func RegisterGolden(name string, f Fill) { add("golden", goldens, name, f) }

func add[T any](what string, to map[string]T, name string, value T) {
	if _, taken := to[name]; taken {
		panic(fmt.Sprintf("scenario: two of kind %s are called %q: rename one", what, name))
	}
	if !isName(name) {
		panic(fmt.Sprintf("scenario: %q is no name for a %s: write lower-case words joined by _, such as all_to_all", name, what))
	}
	to[name] = value
}

// Names is the registered scenarios in alphabetical order.
func Names() []string { return slices.Sorted(maps.Keys(scenarios)) }
