package scenario

import (
	"errors"
	"slices"
	"strings"

	"github.com/kernbench/kernbench/internal/config"
)

// problems is the mistakes found in a scenario so far.
type problems struct {
	doc  *config.Doc
	errs config.Errors

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
	case c.From != nil:
		p.put(c.From.Errorf(key, "%s", text))
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
