package scenario

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/kernbench/kernbench/internal/config"
	"github.com/kernbench/kernbench/task"
	"github.com/kernbench/kernbench/tl"
)

// callKind is a kind of function that files name and give arguments: kernels, which run
// on every rank, and orchestrations, which make the program of tasks of a rank.
type callKind struct {
	key    string       // in files
	what   string       // in messages
	first  reflect.Type // the parameter before those that the file gives
	buffer reflect.Type // the parameter that is a buffer
	funcs  map[string]any
}

var (
	kernels        = callKind{"kernel", "kernel", reflect.TypeFor[*tl.PE](), reflect.TypeFor[tl.Ptr](), map[string]any{}}
	orchestrations = callKind{"tasks", "orchestration", reflect.TypeFor[*task.Builder](), reflect.TypeFor[*task.Tensor](), map[string]any{}}
)

func (k *callKind) register(name string, f any) {
	t := reflect.TypeOf(f)
	if t == nil || t.Kind() != reflect.Func || t.NumIn() == 0 || t.In(0) != k.first || t.NumOut() > 0 || t.IsVariadic() {
		panic(fmt.Sprintf("scenario: %s is a %T: %s is a func(%v, ...) without results", name, f, article(k.what), k.first))
	}
	add(k.what, k.funcs, name, f)
}

// call is such a function with its arguments, as the file says it.
type call struct {
	*callKind
	text *callText // nil if the file has none
	args []argument
}

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

// paramInName is a parameter in the name of a function.
var paramInName = regexp.MustCompile(`\$\w*`)

// settle finds the function of a call, and checks that it takes the arguments. There is
// none if the file has none, or if it has mistakes.
func (pl *Plan) settle(p *problems, c *call) (name string, f any) {
	s, at := pl.scenario, c.key+".name"
	if c.text == nil || p.known(at) || p.known(c.key) {
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
		if !p.unread {
			p.put(p.doc.ErrorIn(at, c.text.Name, strings.Index(c.text.Name, missing), "no parameter %s: params has %s%s", missing[1:], list(s.paramNames()), config.DidYouMean(missing[1:], s.paramNames())))
		}
		return "", nil
	}
	f = c.funcs[name]
	if f == nil {
		known := slices.Sorted(maps.Keys(c.funcs))
		p.at(at, "unknown %s %.60q; registered: %s%s", c.what, name, list(known), config.DidYouMean(name, known))
		return "", nil
	}
	t := reflect.TypeOf(f)
	if n := t.NumIn() - 1; n != len(c.args) && !p.known(c.key+".args") {
		p.at(c.key+".args", "%d arguments for the %s %s, which is a %v: give it %d after the %s", len(c.args), c.what, name, t, n, c.first.Elem().Name())
		return "", nil
	}
	for i, a := range c.args {
		pl.checkArg(p, c.callKind, name, a, t.In(i+1))
	}
	return name, f
}
