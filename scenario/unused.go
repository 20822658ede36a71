package scenario

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

var word = regexp.MustCompile(`[A-Za-z_][A-Za-z0-9_]*`)

// unused refuses what is there and nobody uses. It looks at the texts, so that an
// expression with a mistake still counts as a use.
func (s *Scenario) unused(p *problems) {
	var texts, args []string
	add := func(list ...*exprText) {
		for _, t := range list {
			if t != nil {
				texts = append(texts, string(*t))
			}
		}
	}
	add(s.file.Signals, s.file.Window)
	for _, b := range s.file.Buffers {
		add(b.Offset, b.Bytes, b.Init)
		for i := range b.Shape {
			add(&b.Shape[i])
		}
	}
	for i := range s.file.Outputs {
		o := &s.file.Outputs[i]
		add(&o.Golden)
		if o.Ranks == AtRoot || p.known(fmt.Sprintf("outputs[%d].ranks", i)) {
			texts = append(texts, "root")
		}
	}
	for _, c := range []*callText{s.file.Kernel, s.file.Tasks} {
		if c == nil {
			continue
		}
		for _, a := range c.Args {
			args = append(args, string(a))
		}
		_, inName, _ := strings.Cut(c.Name, "$")
		texts = append(texts, inName)
	}
	texts = append(texts, args...)
	fills := slices.ContainsFunc(texts, func(t string) bool { return strings.HasPrefix(t, "func:") })
	given := word.FindAllString(strings.Join(args, " "), -1)
	used := word.FindAllString(strings.Join(texts, " "), -1)

	for _, name := range s.paramNames() {
		if !slices.Contains(used, name) && !fills { // a function may use any
			p.at("params."+name, "unused: delete it, or use it in an expression, an argument or the name of the kernel or the tasks")
		}
	}
	// A function may use the root, which cannot be seen here: the file says so by naming one.
	s.rooted = slices.Contains(used, "root") || fills && s.file.Root != nil
	if s.file.Root != nil && !s.rooted && len(s.file.Outputs) > 0 {
		p.at("root", "unused: delete it, or use root in an expression, an argument or as the ranks of an output")
	}
	for _, name := range s.domains {
		of := func(b bufferText) bool { return b.Domain != nil && *b.Domain == name }
		if !slices.Contains(args, "domain:"+name) && !slices.ContainsFunc(s.file.Buffers, of) {
			p.at("domains."+name, "unused: delete it, or use it for a buffer or as the argument domain:%s", name)
		}
	}
	for i, name := range s.file.Matrix {
		if path := fmt.Sprintf("signal_matrices[%d]", i); !p.known(path) && !slices.Contains(args, "matrix:"+name) {
			p.at(path, "unused: delete it, or use it as the argument matrix:%s", name)
		}
	}
	for i, b := range s.file.Buffers {
		if path := fmt.Sprintf("buffers[%d].name", i); !p.known(path) && !slices.Contains(given, b.Name) {
			p.at(path, "unused: delete the buffer, or give %s to the kernel or the tasks", b.Name)
		}
	}
}
