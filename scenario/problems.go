package scenario

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/kernbench/kernbench/internal/config"
	"github.com/kernbench/kernbench/internal/printable"
)

// problems is the mistakes found in a scenario so far.
type problems struct {
	doc  *config.Doc
	errs config.Errors
	ctx  context.Context // of the caller: old spellings of names are reported to it

	unread bool // some parameters have no names that can be read
}

func (p *problems) put(e *config.Error) {
	if len(p.errs) < config.MaxErrors {
		p.errs = append(p.errs, e)
	}
}

// at is a mistake in the value at a path of the file.
func (p *problems) at(path, format string, args ...any) { p.put(p.doc.Errorf(path, format, args...)) }

// chosen adds a mistake in a choice, which begins with the value: at the key of the file
// that the choice was read from, else with the flag before it.
func (p *problems) chosen(c Choice, key, flag, text string) {
	switch {
	case c.Mistake != nil:
		p.copy(c.Mistake(key, text))
	case strings.HasSuffix(flag, "="):
		p.put(&config.Error{Msg: flag + text})
	default:
		p.put(&config.Error{Msg: flag + " " + text})
	}
}

// in is a mistake in an expression, or in the values that it has.
func (p *problems) in(x *expr, err error) {
	e, ok := errors.AsType[*exprError](err)
	if !ok {
		p.at(x.path, "%v", err)
		return
	}
	p.put(p.doc.ErrorIn(x.path, x.text, e.at, "%v", e.err))
}

// known reports whether the value at a path is one of those with mistakes already.
func (p *problems) known(path string) bool {
	return slices.ContainsFunc(p.errs, func(e *config.Error) bool { return e.Path == path && !e.Kept })
}

// expr reads an expression; nil if it has mistakes.
func (p *problems) expr(path string, text exprText, s scope) *expr {
	if p.known(path) {
		return nil
	}
	s.open = p.unread
	x, err := parseExpr(path, string(text), s)
	if err != nil && err != errUnread {
		p.in(&expr{path: path, text: string(text)}, err)
	}
	return x
}

// optional is expr of a value that need not be there.
func (p *problems) optional(path string, text *exprText, s scope) *expr {
	if text == nil {
		return nil
	}
	return p.expr(path, *text, s)
}

// copy adds a mistake that was found elsewhere.
func (p *problems) copy(err error) {
	one, ok := errors.AsType[*config.Error](err)
	if !ok {
		p.at("", "%v", err)
		return
	}
	p.put(one)
}

// list is names in a message.
func list(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

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
		args = append(args, printable.Words(c.Args)...)
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
