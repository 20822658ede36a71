package scenario

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"slices"
	"strconv"
	"strings"

	"github.com/kernbench/kernbench/internal/config"
)

// expr is a parsed expression.
type expr struct {
	path string // the path of the value in the file
	text string
	root term
	uses []int // the names in the expression, as indices into scope.names
}

// term is a part of an expression: a number, a name, or a function of other terms.
type term struct {
	at   int    // offset in the text
	op   string // "" for a number, "name", + - * / %, or a function
	num  number
	name int // index into scope.names
	args []term
}

// exprError is a mistake in an expression.
type exprError struct {
	at  int // offset in the text
	err error
}

func (e *exprError) Error() string { return e.err.Error() }

// scope holds the names that an expression may use and the parameters among them. In the
// list of names, "" replaces each name that the expression may not use.
type scope struct {
	names  []string
	params map[string]Param
	open   bool // some parameters could not be read: an unknown name may be a parameter
}

// errMaybeParam reports an unknown name that may be a parameter.
var errMaybeParam = errors.New("the parameters could not be read")

const (
	maxText = 1000 // largest length of an expression, in bytes
	howTo   = "use numbers, names, + - * / %, parentheses, min, max, cdiv and floor"
)

// functions maps each function to its number of arguments; -1 means one or more.
var functions = map[string]int{"min": -1, "max": -1, "cdiv": 2, "floor": 1}

// parseExpr parses `text` as an expression that may use the names in s. `path` is the place
// of the expression in the file. The error is an *exprError or errMaybeParam.
func parseExpr(path, text string, s scope) (*expr, error) {
	if len(text) > maxText {
		return nil, &exprError{0, fmt.Errorf("an expression of %d characters: use a registered function, func:NAME", len(text))}
	}
	tree, err := parser.ParseExprFrom(token.NewFileSet(), "", text, parser.SkipObjectResolution)
	if err != nil {
		at := 0
		if list, ok := errors.AsType[scanner.ErrorList](err); ok && len(list) > 0 {
			at = list[0].Pos.Offset
		}
		why := howTo
		if strings.Count(text, "(") > strings.Count(text, ")") {
			why = "close the parenthesis; between { and } an expression with a comma needs quotes"
		}
		return nil, &exprError{min(at, len(text)), errors.New("not an expression: " + why)}
	}
	x := &expr{path: path, text: text}
	x.root, err = x.compile(tree, s)
	if err != nil {
		return nil, err
	}
	return x, nil
}

// compile converts the syntax tree e to a term and adds the names that the term uses to
// x.uses.
func (x *expr) compile(e ast.Expr, s scope) (term, error) {
	t := term{at: int(e.Pos()) - 1}
	var args []ast.Expr
	switch e := e.(type) {
	case *ast.ParenExpr:
		return x.compile(e.X, s)
	case *ast.BasicLit:
		return t, t.parseNumber(e)
	case *ast.Ident:
		return t, x.compileName(&t, e.Name, s)
	case *ast.UnaryExpr:
		if e.Op != token.SUB && e.Op != token.ADD {
			return t, &exprError{t.at, fmt.Errorf("no operation %v: %s", e.Op, howTo)}
		}
		operand, err := x.compile(e.X, s)
		t.op, t.args = e.Op.String(), []term{{at: t.at}, operand} // 0 - x
		return t, err
	case *ast.BinaryExpr:
		if !strings.Contains("+-*/%", e.Op.String()) {
			return t, &exprError{int(e.OpPos) - 1, fmt.Errorf("no operation %v: %s", e.Op, howTo)}
		}
		t.op, t.at, args = e.Op.String(), int(e.OpPos)-1, []ast.Expr{e.X, e.Y}
	case *ast.CallExpr:
		name, ok := e.Fun.(*ast.Ident)
		if !ok {
			return t, &exprError{t.at, errors.New("not a function: use min, max, cdiv or floor")}
		}
		n, known := functions[name.Name]
		switch {
		case !known:
			return t, &exprError{t.at, fmt.Errorf("no function %.60q: use min, max, cdiv or floor", name.Name)}
		case n > 0 && len(e.Args) != n || len(e.Args) == 0 || e.Ellipsis.IsValid():
			return t, &exprError{t.at, fmt.Errorf("%s has %d arguments: give it %s", name.Name, len(e.Args), arity(n))}
		}
		t.op, args = name.Name, e.Args
	default:
		return t, &exprError{t.at, errors.New("not part of an expression: " + howTo)}
	}
	for _, a := range args {
		operand, err := x.compile(a, s)
		if err != nil {
			return t, err
		}
		t.args = append(t.args, operand)
	}
	return t, nil
}

// arity returns a text for a number of arguments; -1 means one or more.
func arity(n int) string {
	if n < 0 {
		return "one or more"
	}
	return strconv.Itoa(n)
}

// parseNumber sets the number of the term from the literal e.
func (t *term) parseNumber(e *ast.BasicLit) (err error) {
	switch e.Kind {
	case token.INT:
		t.num.n, err = strconv.ParseInt(e.Value, 0, 64)
	case token.FLOAT:
		t.num.fraction = true
		t.num.f, err = strconv.ParseFloat(e.Value, 64)
	default:
		return &exprError{t.at, fmt.Errorf("%.60s is no number: %s", e.Value, howTo)}
	}
	if err != nil {
		return &exprError{t.at, fmt.Errorf("overflow: %.60s is more than 64 bits hold", e.Value)}
	}
	return nil
}

// compileName makes t a term that stands for a name. It returns an error if the name is a
// parameter with words, or is not in s. If s.open is set, the error for a name that is not
// in s is errMaybeParam.
func (x *expr) compileName(t *term, name string, s scope) error {
	t.op, t.name = "name", slices.Index(s.names, name)
	switch {
	case s.params[name].Words != nil:
		return &exprError{t.at, fmt.Errorf("%s is a word, not a number: use it as $%s in the name of the kernel", name, name)}
	case t.name < 0 && s.open:
		return errMaybeParam
	case t.name < 0:
		known := slices.DeleteFunc(slices.Clone(s.names), func(n string) bool { return n == "" })
		return &exprError{t.at, fmt.Errorf("unknown name %.60q; known here: %s%s", name, joinNames(known), config.DidYouMean(name, known))}
	}
	x.uses = append(x.uses, t.name)
	return nil
}

// eval computes the value of the term. `values` has the values of the names, by their index
// in the scope. The error is an *exprError.
func (t *term) eval(values []number) (number, error) {
	switch t.op {
	case "":
		return t.num, nil
	case "name":
		return values[t.name], nil
	}
	z, err := t.args[0].eval(values)
	if err != nil {
		return z, err
	}
	if t.op == "floor" {
		z, err = floor(z)
	}
	for i := range t.args[1:] {
		y, wrong := t.args[i+1].eval(values)
		if wrong != nil {
			return y, wrong
		}
		switch t.op {
		case "min":
			if less(y, z) {
				z = y
			}
		case "max":
			if less(z, y) {
				z = y
			}
		case "cdiv":
			z, err = cdiv(z, y)
		default:
			z, err = arithmetic(t.op, z, y)
		}
	}
	if err != nil {
		return z, &exprError{t.at, err}
	}
	return z, nil
}
