package scenario

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/kernbench/kernbench/comm"
	"github.com/kernbench/kernbench/internal/config"
	"github.com/kernbench/kernbench/task"
	"github.com/kernbench/kernbench/tl"
)

// argument is an argument of a function as the file writes it. It has an expression or a
// value, or neither if it has mistakes.
type argument struct {
	path, text string
	expr       *expr
	value      func(pl *Plan, rank int, ctx comm.Context) any
}

// contextArg is the name of the argument that passes the comm.Context.
const contextArg = "deviceCtx"

// compileArg parses `text`, an argument of a kernel or an orchestration, and records the
// mistakes in it. `path` is the path of the argument in the file.
func (s *Scenario) compileArg(p *problems, path, text string) argument {
	a := argument{path: path, text: text}
	buffer := s.bufferIndex(text)
	name, isDomain := strings.CutPrefix(text, "domain:")
	matrix, isMatrix := strings.CutPrefix(text, "matrix:")
	param, isParam := s.Params[text]
	switch {
	case p.hasMistake(path):
	case isDomain && !slices.Contains(s.domains, name):
		p.add(p.doc.ErrorIn(path, text, len(text)-len(name), "unknown domain %.60q; domains: %s%s", name, joinNames(s.domains), config.DidYouMean(name, s.domains)))
	case isDomain:
		a.value = func(pl *Plan, rank int, _ comm.Context) any { return pl.domain(name).forRank(rank) }
	case isMatrix && !slices.Contains(s.file.Matrix, matrix):
		p.add(p.doc.ErrorIn(path, text, len(text)-len(matrix), "unknown matrix %.60q; signal_matrices: %s%s", matrix, joinNames(s.file.Matrix), config.DidYouMean(matrix, s.file.Matrix)))
	case isMatrix:
		i := slices.Index(s.file.Matrix, matrix)
		a.value = func(pl *Plan, _ int, _ comm.Context) any { return pl.Windows[0].Matrices[i] }
	case buffer >= 0:
		a.value = func(pl *Plan, _ int, _ comm.Context) any { return pl.Buffers[buffer] }
	case isParam && param.Words != nil:
		a.value = func(pl *Plan, _ int, _ comm.Context) any { return pl.params[text].Words[0] }
	case text == contextArg:
		a.value = func(_ *Plan, _ int, ctx comm.Context) any { return ctx }
	case isName(text) && !slices.Contains(s.names, text):
		if p.paramsUnread {
			break // it may be a parameter whose name could not be read
		}
		known := append(append(s.bufferNames(), contextArg), s.names[slotRank:]...)
		p.addAt(path, "unknown argument %.60q: write a buffer, an expression, domain:NAME, matrix:NAME or %s; known here: %s%s", text, contextArg, strings.Join(known, ", "), config.DidYouMean(text, known))
	default:
		a.expr = p.parseExpr(path, exprText(text), s.scope(slotI))
	}
	return a
}

// checkArg records a mistake if argument a cannot be computed, or if a parameter of type
// `want` cannot hold its value. It tries the value at every rank, in the first and the last
// round. `name` is the name of the function, which is a kernel or an orchestration.
func (pl *Plan) checkArg(p *problems, k *callKind, name string, a argument, want reflect.Type) {
	for _, round := range pl.SomeRounds() {
		for rank := range pl.Ranks {
			v, err := pl.argValue(a, rank, round, comm.Context{})
			if err != nil {
				p.addInExpr(a.expr, err)
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
				p.addAt(a.path, "the %s %s wants %s here, and %s is %s", k.what, name, article(want.String()), a.text, what)
				return
			}
		}
	}
}

// article returns `noun` with "a" or "an" before it, such as "an int" or "a tl.Ptr".
func article(noun string) string {
	if strings.IndexByte("aeiou", noun[0]) >= 0 {
		return "an " + noun
	}
	return "a " + noun
}

// argValue returns the value of argument a at a rank in a round. The value is a *Buffer, an
// int, a float64, a string, a Domain, a Matrix or a comm.Context. It is nil if the argument
// has mistakes.
func (pl *Plan) argValue(a argument, rank, round int, ctx comm.Context) (any, error) {
	switch {
	case a.value != nil:
		return a.value(pl, rank, ctx), nil
	case a.expr != nil:
		x, err := a.expr.root.eval(pl.valuesAt(rank, round))
		return x.value(), err
	}
	return nil, nil
}

// accepts reports whether a parameter of type `want` can hold `value` without changing it.
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

// callKind is a kind of function that scenario files call: kernels, which run on every
// rank, or orchestrations, which submit the tasks of a rank.
type callKind struct {
	key    string       // the key in files
	what   string       // the name in messages
	first  reflect.Type // the type of the first parameter, which files do not pass
	buffer reflect.Type // the type of parameters that take a buffer
	funcs  map[string]any
}

var (
	kernels        = callKind{"kernel", "kernel", reflect.TypeFor[*tl.PE](), reflect.TypeFor[tl.Ptr](), map[string]any{}}
	orchestrations = callKind{"tasks", "orchestration", reflect.TypeFor[*task.Builder](), reflect.TypeFor[*task.Tensor](), map[string]any{}}
)

// register adds function f under the given name. It panics if f is variadic or has results,
// if the first parameter of f does not have the type that this kind of function needs, or
// if the name is taken or malformed.
func (k *callKind) register(name string, f any) {
	t := reflect.TypeOf(f)
	if t == nil || t.Kind() != reflect.Func || t.NumIn() == 0 || t.In(0) != k.first || t.NumOut() > 0 || t.IsVariadic() {
		panic(fmt.Sprintf("scenario: %s is a %T: %s is a func(%v, ...) without results", name, f, article(k.what), k.first))
	}
	addNamed(k.what, k.funcs, name, f)
}

// call is a function with its arguments, as the file writes them.
type call struct {
	*callKind
	text *callText // nil if the file has no such call
	args []argument
}

// compileCall parses the arguments of a call of a kernel or an orchestration. `text` is nil
// if the file has no such call.
func (s *Scenario) compileCall(p *problems, k *callKind, text *callText) call {
	c := call{callKind: k, text: text}
	if text == nil {
		return c
	}
	for i, arg := range text.Args {
		c.args = append(c.args, s.compileArg(p, fmt.Sprintf("%s.args[%d]", k.key, i), string(arg)))
	}
	return c
}

// paramInName matches a parameter in the name of a function.
var paramInName = regexp.MustCompile(`\$\w*`)

// resolveCall finds the registered function of call c and records a mistake if the function
// does not accept the arguments. In the name of the function, it replaces each $PARAM by
// the value of the parameter. It returns the name and the function. Both are empty if the
// file has no such call, or if the call has a mistake other than in the value of an
// argument.
func (pl *Plan) resolveCall(p *problems, c *call) (name string, f any) {
	s, at := pl.scenario, c.key+".name"
	if c.text == nil || p.hasMistake(at) || p.hasMistake(c.key) {
		return "", nil
	}
	params := s.paramNames()
	slices.SortFunc(params, func(a, b string) int { return len(b) - len(a) }) // $mode_2 before $mode
	missing := ""
	name = paramInName.ReplaceAllStringFunc(c.text.Name, func(word string) string {
		for _, param := range params {
			if rest, ok := strings.CutPrefix(word, "$"+param); ok {
				return pl.params[param].String() + rest
			}
		}
		missing = cmp.Or(missing, word)
		return word
	})
	if missing != "" {
		if !p.paramsUnread {
			p.add(p.doc.ErrorIn(at, c.text.Name, strings.Index(c.text.Name, missing), "no parameter %s: params has %s%s", missing[1:], joinNames(s.paramNames()), config.DidYouMean(missing[1:], s.paramNames())))
		}
		return "", nil
	}
	known := slices.Sorted(maps.Keys(c.funcs))
	if current, ok := config.Resolve(p.ctx, name, known); ok {
		name = current
	}
	if f = c.funcs[name]; f == nil {
		p.addAt(at, "unknown %s %.60q; registered: %s%s", c.what, name, joinNames(known), config.DidYouMean(name, known))
		return "", nil
	}
	t := reflect.TypeOf(f)
	if n := t.NumIn() - 1; n != len(c.args) && !p.hasMistake(c.key+".args") {
		p.addAt(c.key+".args", "%d arguments for the %s %s, which is a %v: give it %d after the %s", len(c.args), c.what, name, t, n, c.first.Elem().Name())
		return "", nil
	}
	for i, a := range c.args {
		pl.checkArg(p, c.callKind, name, a, t.In(i+1))
	}
	return name, f
}
