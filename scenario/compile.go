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

// reserved is the names that mean something in every scenario.
var reserved = append([]string{"min", "max", "cdiv", "floor"}, slotNames...)

// compile finds the mistakes that do not depend on how many ranks there are.
func (s *Scenario) compile(p *problems) {
	s.names = append(slices.Clone(slotNames), s.paramNames()...)
	p.unread = p.known("params") || slices.ContainsFunc(p.errs, func(e *config.Error) bool {
		name, ok := strings.CutPrefix(e.Path, "params.")
		return ok && !slices.Contains(s.paramNames(), name)
	})
	s.domains = slices.Sorted(maps.Keys(s.file.Domains))
	if strings.TrimSpace(s.Summary) == "" && !p.known("summary") || strings.Contains(strings.TrimSpace(s.Summary), "\n") {
		p.at("summary", "write one line that says what the scenario does")
	}
	if r := s.file.Ranks; r != nil && r.Min > r.Max && !p.known("ranks.max") {
		p.at("ranks.max", "%d is less than min, which is %d", r.Max, r.Min)
	}
	for _, name := range s.paramNames() {
		s.checkName(p, "params."+name, name)
	}
	for _, name := range s.domains {
		s.checkDomain(p, name)
	}
	for i, name := range s.file.Matrix {
		path := fmt.Sprintf("signal_matrices[%d]", i)
		if p.known(path) {
			continue
		}
		s.checkName(p, path, name)
		if slices.Contains(s.file.Matrix[:i], name) {
			p.at(path, "another matrix is called %s: rename one", name)
		}
	}
	sizes := s.scope(slotI, slotRank, slotRound, slotDevice)
	s.signals = p.optional("signals", s.file.Signals, sizes)
	s.window = p.optional("window", s.file.Window, sizes)
	for i := range s.file.Buffers {
		s.compileBuffer(p, i, sizes)
	}
	if len(s.file.Buffers) == 0 && !p.known("buffers") {
		p.at("buffers", "there is none: write at least one")
	}
	s.kernel = s.compileCall(p, &kernels, s.file.Kernel)
	s.tasks = s.compileCall(p, &orchestrations, s.file.Tasks)
	for i := range s.file.Outputs {
		s.compileOutput(p, i)
	}
	if len(s.file.Outputs) == 0 && !p.known("outputs") {
		p.at("outputs", "there is none: write at least one, with its buffer and golden")
	}
	if s.file.Kernel != nil || s.file.Tasks != nil {
		s.unused(p)
	} else if !p.known("kernel") && !p.known("tasks") {
		p.at("kernel", "missing, and so is tasks: write at least one of them, with its name and args")
	}
}

// checkName refuses names that expressions and arguments could not tell apart.
func (s *Scenario) checkName(p *problems, path, name string) {
	switch {
	case !isName(name):
		p.at(path, "%.60q is not a name: write lower-case words joined by _, such as my_name_2", name)
	case slices.Contains(reserved, name):
		p.at(path, "%s has a meaning of its own in expressions: use another name", name)
	}
}

func (s *Scenario) checkDomain(p *problems, name string) {
	ranks := s.file.Domains[name]
	path := "domains." + name
	if len(ranks) == 0 && !p.known(path) {
		p.at(path, "no members: list their ranks, such as [0, 2]")
	}
	for i, r := range ranks {
		if at := fmt.Sprintf("%s[%d]", path, i); slices.Contains(ranks[:i], r) && !p.known(at) {
			p.at(at, "rank %d is a member already: delete it here", r)
		}
	}
}

func (s *Scenario) compileBuffer(p *problems, i int, sizes scope) {
	b := &s.file.Buffers[i]
	path := fmt.Sprintf("buffers[%d]", i)
	if !p.known(path + ".name") {
		s.checkName(p, path+".name", b.Name)
		same := func(o bufferText) bool { return o.Name == b.Name }
		if slices.ContainsFunc(s.file.Buffers[:i], same) || slices.Contains(s.paramNames(), b.Name) {
			p.at(path+".name", "another buffer or parameter is called %s: rename one", b.Name)
		}
	}
	x := bufferExprs{
		offset: p.optional(path+".offset", b.Offset, sizes),
		bytes:  p.optional(path+".bytes", b.Bytes, sizes),
	}
	if b.Init != nil {
		x.init = s.source(p, path+".init", *b.Init, "input", inputs)
	}
	for axis, text := range b.Shape {
		x.shape = append(x.shape, p.expr(fmt.Sprintf("%s.shape[%d]", path, axis), text, sizes))
	}
	if n := len(b.Shape); (n == 0 || n > oplog.MaxRank) && !p.known(path+".shape") {
		p.at(path+".shape", "%d extents: write 1 to %d, such as [nranks, 64]", n, oplog.MaxRank)
	}
	if b.Offset != nil && b.Placement == Device {
		p.at(path+".offset", "unused: only buffers in the window have an offset; delete it, or write placement: window")
	}
	switch {
	case b.Staged && b.Placement == Device:
		p.at(path+".staged", "unused: only buffers in the window are staged; delete it, or write placement: window")
	case b.Staged && b.Init == nil:
		p.at(path+".staged", "nothing to stage: the buffer has no init; write one, or delete staged")
	}
	if b.Domain != nil && !slices.Contains(s.domains, *b.Domain) {
		p.at(path+".domain", "unknown domain %.60q; domains: %s%s", *b.Domain, list(s.domains), config.DidYouMean(*b.Domain, s.domains))
	}
	s.buffers = append(s.buffers, x)
}

// source reads where values come from: an expression of everything, or a function.
func (s *Scenario) source(p *problems, path string, text exprText, kind string, from map[string]Fill) source {
	name, isFunc := strings.CutPrefix(string(text), "func:")
	if !isFunc {
		return source{path: path, expr: p.expr(path, text, s.scope())}
	}
	name = strings.TrimSpace(name)
	f := from[name]
	if f == nil {
		known := slices.Sorted(maps.Keys(from))
		p.put(p.doc.ErrorIn(path, string(text), len(text)-len(name), "unknown %s function %.60q; registered: %s%s", kind, name, list(known), config.DidYouMean(name, known)))
	}
	return source{path: path, fill: f, name: name}
}

func (s *Scenario) compileOutput(p *problems, i int) {
	o := &s.file.Outputs[i]
	path := fmt.Sprintf("outputs[%d]", i)
	golden := source{}
	if !p.known(path + ".golden") {
		golden = s.source(p, path+".golden", o.Golden, "golden", goldens)
	}
	s.outputs = append(s.outputs, golden)
	if p.known(path + ".buffer") {
		return
	}
	if s.buffer(o.Buffer) < 0 {
		p.at(path+".buffer", "unknown buffer %.60q; buffers: %s%s", o.Buffer, list(s.bufferNames()), config.DidYouMean(o.Buffer, s.bufferNames()))
	}
	if slices.ContainsFunc(s.file.Outputs[:i], func(q outputText) bool { return q.Buffer == o.Buffer }) {
		p.at(path+".buffer", "%s is an output already: delete one", o.Buffer)
	}
}

// buffer is the index of a buffer, or -1.
func (s *Scenario) buffer(name string) int { return slices.Index(s.bufferNames(), name) }

func (s *Scenario) bufferNames() []string {
	return lists.Map(s.file.Buffers, func(b bufferText) string { return b.Name })
}
