package scenario

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kernbench/kernbench/internal/config"
	"github.com/kernbench/kernbench/internal/lists"
	"github.com/kernbench/kernbench/oplog"
)

// reserved lists the names that have a meaning in every expression.
var reserved = append([]string{"min", "max", "cdiv", "floor"}, slotNames...)

// compile parses the expressions of the file. It records all mistakes that do not depend on
// the number of ranks.
func (s *Scenario) compile(p *problems) {
	s.names = append(slices.Clone(slotNames), s.paramNames()...)
	p.paramsUnread = p.hasMistake("params") || slices.ContainsFunc(p.errs, func(e *config.Error) bool {
		name, ok := strings.CutPrefix(e.Path, "params.")
		return ok && !slices.Contains(s.paramNames(), name)
	})
	s.domains = slices.Sorted(maps.Keys(s.file.Domains))
	if strings.TrimSpace(s.Summary) == "" && !p.hasMistake("summary") || strings.Contains(strings.TrimSpace(s.Summary), "\n") {
		p.addAt("summary", "write one line that says what the scenario does")
	}
	if r := s.file.Ranks; r != nil && r.Min > r.Max && !p.hasMistake("ranks.max") {
		p.addAt("ranks.max", "%d is less than min, which is %d", r.Max, r.Min)
	}
	for _, name := range s.paramNames() {
		s.checkName(p, "params."+name, name)
	}
	for _, name := range s.domains {
		s.checkDomain(p, name)
	}
	for i, name := range s.file.Matrix {
		path := fmt.Sprintf("signal_matrices[%d]", i)
		if p.hasMistake(path) {
			continue
		}
		s.checkName(p, path, name)
		if slices.Contains(s.file.Matrix[:i], name) {
			p.addAt(path, "another matrix is called %s: rename one", name)
		}
	}
	sizes := s.scope(slotI, slotRank, slotRound, slotDevice)
	s.signals = p.parseOptional("signals", s.file.Signals, sizes)
	s.window = p.parseOptional("window", s.file.Window, sizes)
	for i := range s.file.Buffers {
		s.compileBuffer(p, i, sizes)
	}
	if len(s.file.Buffers) == 0 && !p.hasMistake("buffers") {
		p.addAt("buffers", "there is none: write at least one")
	}
	s.kernel = s.compileCall(p, &kernels, s.file.Kernel)
	s.tasks = s.compileCall(p, &orchestrations, s.file.Tasks)
	for i := range s.file.Outputs {
		s.compileOutput(p, i)
	}
	if len(s.file.Outputs) == 0 && !p.hasMistake("outputs") {
		p.addAt("outputs", "there is none: write at least one, with its buffer and golden")
	}
	if s.file.Kernel != nil || s.file.Tasks != nil {
		s.checkUnused(p)
	} else if !p.hasMistake("kernel") && !p.hasMistake("tasks") {
		p.addAt("kernel", "missing, and so is tasks: write at least one of them, with its name and args")
	}
}

// checkName records a mistake at `path` if `name` is malformed or is reserved because it
// has a meaning in every expression.
func (s *Scenario) checkName(p *problems, path, name string) {
	switch {
	case !isName(name):
		p.addAt(path, "%.60q is not a name: write lower-case words joined by _, such as my_name_2", name)
	case slices.Contains(reserved, name):
		p.addAt(path, "%s has a meaning of its own in expressions: use another name", name)
	}
}

// checkDomain records a mistake if the domain has no members or lists a rank twice.
func (s *Scenario) checkDomain(p *problems, name string) {
	ranks := s.file.Domains[name]
	path := "domains." + name
	if len(ranks) == 0 && !p.hasMistake(path) {
		p.addAt(path, "no members: list their ranks, such as [0, 2]")
	}
	for i, r := range ranks {
		if at := fmt.Sprintf("%s[%d]", path, i); slices.Contains(ranks[:i], r) && !p.hasMistake(at) {
			p.addAt(at, "rank %d is a member already: delete it here", r)
		}
	}
}

// compileBuffer parses the expressions of buffer i of the file and records the mistakes of
// the buffer. `sizes` has the names that the expressions for the shape, the offset and the
// number of bytes may use.
func (s *Scenario) compileBuffer(p *problems, i int, sizes scope) {
	b := &s.file.Buffers[i]
	path := fmt.Sprintf("buffers[%d]", i)
	if !p.hasMistake(path + ".name") {
		s.checkName(p, path+".name", b.Name)
		same := func(o bufferText) bool { return o.Name == b.Name }
		if slices.ContainsFunc(s.file.Buffers[:i], same) || slices.Contains(s.paramNames(), b.Name) {
			p.addAt(path+".name", "another buffer or parameter is called %s: rename one", b.Name)
		}
	}
	x := bufferExprs{
		offset: p.parseOptional(path+".offset", b.Offset, sizes),
		bytes:  p.parseOptional(path+".bytes", b.Bytes, sizes),
	}
	if b.Init != nil {
		x.init = s.compileSource(p, path+".init", *b.Init, "input", inputs)
	}
	for axis, text := range b.Shape {
		x.shape = append(x.shape, p.parseExpr(fmt.Sprintf("%s.shape[%d]", path, axis), text, sizes))
	}
	if n := len(b.Shape); (n == 0 || n > oplog.MaxRank) && !p.hasMistake(path+".shape") {
		p.addAt(path+".shape", "%d extents: write 1 to %d, such as [nranks, 64]", n, oplog.MaxRank)
	}
	if b.Offset != nil && b.Placement == Device {
		p.addAt(path+".offset", "unused: only buffers in the window have an offset; delete it, or write placement: window")
	}
	switch {
	case b.Staged && b.Placement == Device:
		p.addAt(path+".staged", "unused: only buffers in the window are staged; delete it, or write placement: window")
	case b.Staged && b.Init == nil:
		p.addAt(path+".staged", "nothing to stage: the buffer has no init; write one, or delete staged")
	}
	if b.Domain != nil && !slices.Contains(s.domains, *b.Domain) {
		p.addAt(path+".domain", "unknown domain %.60q; domains: %s%s", *b.Domain, joinNames(s.domains), config.DidYouMean(*b.Domain, s.domains))
	}
	s.buffers = append(s.buffers, x)
}

// compileSource parses `text`, the value of an init or golden key. The value is an
// expression, which may use all names, or func:NAME. `kind` names the kind of function in
// messages, and `from` holds the registered functions.
func (s *Scenario) compileSource(p *problems, path string, text exprText, kind string, from map[string]Fill) source {
	name, isFunc := strings.CutPrefix(string(text), "func:")
	if !isFunc {
		return source{path: path, expr: p.parseExpr(path, text, s.scope())}
	}
	name = strings.TrimSpace(name)
	f := from[name]
	if f == nil {
		known := slices.Sorted(maps.Keys(from))
		p.add(p.doc.ErrorIn(path, string(text), len(text)-len(name), "unknown %s function %.60q; registered: %s%s", kind, name, joinNames(known), config.DidYouMean(name, known)))
	}
	return source{path: path, fill: f, name: name}
}

// compileOutput parses the golden values of output i of the file and records the mistakes
// of the output.
func (s *Scenario) compileOutput(p *problems, i int) {
	o := &s.file.Outputs[i]
	path := fmt.Sprintf("outputs[%d]", i)
	golden := source{}
	if !p.hasMistake(path + ".golden") {
		golden = s.compileSource(p, path+".golden", o.Golden, "golden", goldens)
	}
	s.outputs = append(s.outputs, golden)
	if p.hasMistake(path + ".buffer") {
		return
	}
	if s.bufferIndex(o.Buffer) < 0 {
		p.addAt(path+".buffer", "unknown buffer %.60q; buffers: %s%s", o.Buffer, joinNames(s.bufferNames()), config.DidYouMean(o.Buffer, s.bufferNames()))
	}
	if slices.ContainsFunc(s.file.Outputs[:i], func(q outputText) bool { return q.Buffer == o.Buffer }) {
		p.addAt(path+".buffer", "%s is an output already: delete one", o.Buffer)
	}
}

// bufferIndex returns the index of the buffer with the given name. It returns -1 if there
// is none.
func (s *Scenario) bufferIndex(name string) int { return slices.Index(s.bufferNames(), name) }

func (s *Scenario) bufferNames() []string {
	return lists.Map(s.file.Buffers, func(b bufferText) string { return b.Name })
}
