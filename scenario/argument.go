package scenario

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"

	"github.com/kernbench/kernbench/comm"
	"github.com/kernbench/kernbench/internal/config"
)

// argument is one of a function's, as the file says it. It has an expression or a value, or
// neither if it has mistakes.
type argument struct {
	path, text string
	expr       *expr
	value      func(pl *Plan, rank int, ctx comm.Context) any
}

// contextArg is the argument that is a comm.Context.
const contextArg = "deviceCtx"

func (s *Scenario) compileArg(p *problems, path, text string) argument {
	a := argument{path: path, text: text}
	buffer := s.buffer(text)
	name, isDomain := strings.CutPrefix(text, "domain:")
	matrix, isMatrix := strings.CutPrefix(text, "matrix:")
	param, isParam := s.Params[text]
	switch {
	case p.known(path):
	case isDomain && !slices.Contains(s.domains, name):
		p.put(p.doc.ErrorIn(path, text, len(text)-len(name), "unknown domain %.60q; domains: %s%s", name, list(s.domains), config.DidYouMean(name, s.domains)))
	case isDomain:
		a.value = func(pl *Plan, rank int, _ comm.Context) any { return pl.domain(name).at(rank) }
	case isMatrix && !slices.Contains(s.file.Matrix, matrix):
		p.put(p.doc.ErrorIn(path, text, len(text)-len(matrix), "unknown matrix %.60q; signal_matrices: %s%s", matrix, list(s.file.Matrix), config.DidYouMean(matrix, s.file.Matrix)))
	case isMatrix:
		i := slices.Index(s.file.Matrix, matrix)
		a.value = func(pl *Plan, _ int, _ comm.Context) any { return pl.Windows[0].Matrices[i] }
	case buffer >= 0:
		a.value = func(pl *Plan, _ int, _ comm.Context) any { return pl.Buffers[buffer] }
	case isParam && param.Words != nil:
		a.value = func(pl *Plan, _ int, _ comm.Context) any { return pl.params[text].word }
	case text == contextArg:
		a.value = func(_ *Plan, _ int, ctx comm.Context) any { return ctx }
	case isName(text) && !slices.Contains(s.names, text):
		if p.unread {
			break // one of those, for all we know
		}
		known := append(append(s.bufferNames(), contextArg), s.names[slotRank:]...)
		p.at(path, "unknown argument %.60q: write a buffer, an expression, domain:NAME, matrix:NAME or %s; known here: %s%s", text, contextArg, strings.Join(known, ", "), config.DidYouMean(text, known))
	default:
		a.expr = p.expr(path, exprText(text), s.scope(slotI))
	}
	return a
}

// checkArg checks an argument at every rank, in the first and the last round.
func (pl *Plan) checkArg(p *problems, k *callKind, name string, a argument, want reflect.Type) {
	for _, round := range pl.SomeRounds() {
		for rank := range pl.Ranks {
			v, err := pl.arg(a, rank, round, comm.Context{})
			if err != nil {
				p.in(a.expr, err)
				return
			}
			if v != nil && !k.accepts(want, v) {
				what := article(reflect.TypeOf(v).String())
				switch v.(type) {
				case *Buffer:
					what = "a buffer, which is " + article(k.buffer.String())
				case int, float64, string:
					what = fmt.Sprintf("the %T %v", v, v)
				}
				p.at(a.path, "the %s %s wants %s here, and %s is %s", k.what, name, article(want.String()), a.text, what)
				return
			}
		}
	}
}

// article returns a noun as a sentence has it: an int, a tl.Ptr.
func article(noun string) string {
	if strings.IndexByte("aeiou", noun[0]) >= 0 {
		return "an " + noun
	}
	return "a " + noun
}

// arg returns the value of an argument: a *Buffer, an int, a float64, a string, a Domain, a Matrix
// or a comm.Context; nil of one with mistakes.
func (pl *Plan) arg(a argument, rank, round int, ctx comm.Context) (any, error) {
	switch {
	case a.value != nil:
		return a.value(pl, rank, ctx), nil
	case a.expr != nil:
		x, err := a.expr.eval(pl.at(rank, round))
		return x.value(), err
	}
	return nil, nil
}

// accepts reports whether a parameter takes a value, unchanged.
func (k *callKind) accepts(want reflect.Type, value any) bool {
	zero := reflect.Zero(want)
	switch v := value.(type) {
	case *Buffer:
		return want == k.buffer
	case int:
		switch {
		case zero.CanInt():
			return !zero.OverflowInt(int64(v))
		case zero.CanUint():
			return v >= 0 && !zero.OverflowUint(uint64(v))
		}
		return zero.CanFloat() && math.Abs(float64(v)) <= 1<<24
	case float64:
		return zero.CanFloat()
	}
	return reflect.TypeOf(value).AssignableTo(want)
}
