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

// problems collects the mistakes in a scenario.
type problems struct {
	doc  *config.Doc
	errs config.Errors
	ctx  context.Context // of the caller; receives warnings about old spellings of names

	paramsUnread bool // the names of some parameters could not be read
}

func (p *problems) add(e *config.Error) {
	if len(p.errs) < config.MaxErrors {
		p.errs = append(p.errs, e)
	}
}

// addAt records a mistake in the value that is at `path` in the file.
func (p *problems) addAt(path, format string, args ...any) {
	p.add(p.doc.Errorf(path, format, args...))
}

// addInChoice records a mistake in choice c. `text` begins with the wrong value. If the
// choice was read from a file, the message says that the mistake is at the key `key`.
// Otherwise it says that the mistake is in the flag `flag`.
func (p *problems) addInChoice(c Choice, key, flag, text string) {
	switch {
	case c.Mistake != nil:
		p.addError(c.Mistake(key, text))
	case strings.HasSuffix(flag, "="):
		p.add(&config.Error{Msg: flag + text})
	default:
		p.add(&config.Error{Msg: flag + " " + text})
	}
}

// addInExpr records err, a mistake in expression x or in its value.
func (p *problems) addInExpr(x *expr, err error) {
	e, ok := errors.AsType[*exprError](err)
	if !ok {
		p.addAt(x.path, "%v", err)
		return
	}
	p.add(p.doc.ErrorIn(x.path, x.text, e.at, "%v", e.err))
}

// hasMistake reports whether a mistake at `path` is recorded. It ignores mistakes that left
// the value usable (Kept).
func (p *problems) hasMistake(path string) bool {
	return slices.ContainsFunc(p.errs, func(e *config.Error) bool { return e.Path == path && !e.Kept })
}

// parseExpr parses the expression `text`, which is at `path` in the file. If the text
// cannot be parsed, it returns nil and records a mistake. It records none if there is
// already a mistake at the path, or if an unknown name may be a parameter that could not be
// read.
func (p *problems) parseExpr(path string, text exprText, s scope) *expr {
	if p.hasMistake(path) {
		return nil
	}
	s.open = p.paramsUnread
	x, err := parseExpr(path, string(text), s)
	if err != nil && err != errMaybeParam {
		p.addInExpr(&expr{path: path, text: string(text)}, err)
	}
	return x
}

// parseOptional parses the expression `text`, which is at `path` in the file. It returns
// nil if the file omits the expression or the expression has mistakes.
func (p *problems) parseOptional(path string, text *exprText, s scope) *expr {
	if text == nil {
		return nil
	}
	return p.parseExpr(path, *text, s)
}

// addError records err as a mistake, with the position in the file if err has one.
func (p *problems) addError(err error) {
	one, ok := errors.AsType[*config.Error](err)
	if !ok {
		p.addAt("", "%v", err)
		return
	}
	p.add(one)
}

// joinNames returns `names` as a comma-separated list, or "none" if there are none.
func joinNames(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

var word = regexp.MustCompile(`[A-Za-z_][A-Za-z0-9_]*`)

// checkUnused records a mistake for each parameter, root, domain, matrix and buffer that
// the file declares and does not use. It searches the texts of expressions, so that an
// expression with a mistake still counts as a use. It also sets s.rooted.
func (s *Scenario) checkUnused(p *problems) {
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
		if o.Ranks == AtRoot || p.hasMistake(fmt.Sprintf("outputs[%d].ranks", i)) {
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
		if !slices.Contains(used, name) && !fills { // a function may use any parameter
			p.addAt("params."+name, "unused: delete it, or use it in an expression, an argument or the name of the kernel or the tasks")
		}
	}
	// A Go function may use the root, which cannot be seen here. Such a file must have the
	// key root.
	s.rooted = slices.Contains(used, "root") || fills && s.file.Root != nil
	if s.file.Root != nil && !s.rooted && len(s.file.Outputs) > 0 {
		p.addAt("root", "unused: delete it, or use root in an expression, an argument or as the ranks of an output")
	}
	for _, name := range s.domains {
		of := func(b bufferText) bool { return b.Domain != nil && *b.Domain == name }
		if !slices.Contains(args, "domain:"+name) && !slices.ContainsFunc(s.file.Buffers, of) {
			p.addAt("domains."+name, "unused: delete it, or use it for a buffer or as the argument domain:%s", name)
		}
	}
	for i, name := range s.file.Matrix {
		if path := fmt.Sprintf("signal_matrices[%d]", i); !p.hasMistake(path) && !slices.Contains(args, "matrix:"+name) {
			p.addAt(path, "unused: delete it, or use it as the argument matrix:%s", name)
		}
	}
	for i, b := range s.file.Buffers {
		if path := fmt.Sprintf("buffers[%d].name", i); !p.hasMistake(path) && !slices.Contains(given, b.Name) {
			p.addAt(path, "unused: delete the buffer, or give %s to the kernel or the tasks", b.Name)
		}
	}
}
