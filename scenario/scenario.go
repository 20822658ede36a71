package scenario

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
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
