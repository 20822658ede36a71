package stack

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Loop returns the line of user code in the stack of a goroutine that does not end. Usually
// this is the line that the function Line returns. But the compiler gives an endless loop
// with an empty body the line of another statement. Therefore Loop reads the source of the
// function, if it can. If the function has exactly one such loop, and no other loop
// contains the line that Line returns, then Loop returns the line of the empty loop.
func Loop(text string) string {
	line, _ := Line(text)
	if line == "" {
		return ""
	}
	at := regexp.MustCompile(`(?m)^(\S+)\(.*\n\t(\S+/` + regexp.QuoteMeta(path.Base(line)) + `)\b`).FindStringSubmatch(text)
	if at == nil {
		return line
	}
	file, number, _ := strings.Cut(at[2], ".go:")
	n, err := strconv.Atoi(number)
	if err != nil {
		return line
	}
	set := token.NewFileSet()
	source, err := parser.ParseFile(set, file+".go", nil, 0)
	if err != nil {
		return line
	}
	if empty := emptyLoop(set, source, path.Base(at[1]), n); empty > 0 {
		return fmt.Sprintf("%s.go:%d", path.Base(file), empty)
	}
	return line
}

// emptyLoop returns the line of the only endless loop without a body in a function of the
// file `source`. `function` is a name as in stacks: "main.kernel", "main.(*tiles).kernel"
// or "main.run.func1". emptyLoop returns 0 if the function has no such loop or several, or
// if line n is in another loop.
func emptyLoop(set *token.FileSet, source *ast.File, function string, n int) (line int) {
	names := strings.Split(function, ".")
	loops, inside := 0, false
	for _, d := range source.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || !slices.Contains(names[1:], f.Name.Name) {
			continue
		}
		ast.Inspect(f, func(node ast.Node) bool {
			switch loop := node.(type) {
			case *ast.RangeStmt:
				inside = inside || containsLine(set, loop, n)
			case *ast.ForStmt:
				if loop.Cond == nil && loop.Post == nil && len(loop.Body.List) == 0 {
					loops, line = loops+1, set.Position(loop.Pos()).Line
				} else {
					inside = inside || containsLine(set, loop, n)
				}
			}
			return true
		})
	}
	if loops != 1 || inside {
		return 0
	}
	return line
}

func containsLine(set *token.FileSet, node ast.Node, n int) bool {
	return set.Position(node.Pos()).Line <= n && n <= set.Position(node.End()).Line
}
