package archtest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestPublic checks the rules for the exported declarations of this module's public
// packages.
func TestPublic(t *testing.T) {
	fset := token.NewFileSet()
	pkgs, err := loadPublic("../..", fset)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range checkPublic(fset, pkgs) {
		t.Error(v)
	}
}

// TestCheckPublic checks the violations that checkPublic finds in small packages.
func TestCheckPublic(t *testing.T) {
	const (
		advice   = ", a type of an internal package; unexport the declaration, or give it a public type"
		internal = `package draw
type Figure struct{}
type Number interface{ ~int }
type List[T any] []T
`
	)
	var many, methods string
	for i := range 51 {
		many += fmt.Sprintf("type T%d struct{}\nfunc (T%[1]d) M() {}\nfunc F%[1]d() {}\nfunc f%[1]d() {}\nconst C%[1]d = 1\n", i)
	}
	for i := range 31 {
		methods += fmt.Sprintf("func (*Context) M%d() {}\nfunc (*Context) m%[1]d() {}\n", i)
	}
	tests := []struct {
		name   string
		source string
		want   []string
	}{
		{"plain types", `type Table struct { Rows [][]any; hidden *draw.Figure }
			func (t *Table) use(f draw.Figure) {}
			type figure = draw.Figure
			var last draw.Figure
			func New() (*Table, error) { last = figure{}; return nil, nil }
			type Chain struct{ Next *Chain; Inner *inner }
			type inner struct{ Up *Chain; Own *inner; hidden draw.Figure }
			type Sealed interface { Name() string; seal(draw.Figure) }`, nil},
		{"functions", `func Draw(x int, list ...[]*draw.Figure) {}
			func Make() (map[string]func(draw.Figure), error) { return nil, nil }`, []string{
			"table/table.go:3: table.Draw mentions internal/draw.Figure" + advice,
			"table/table.go:4: table.Make mentions internal/draw.Figure" + advice,
		}},
		{"variables and aliases", `var Last chan draw.Figure
			type Figure = draw.Figure
			type Figures = draw.List[int]`, []string{
			"table/table.go:3: table.Last mentions internal/draw.Figure" + advice,
			"table/table.go:4: table.Figure mentions internal/draw.Figure" + advice,
			"table/table.go:5: table.Figures mentions internal/draw.List" + advice,
		}},
		{"members", `type Table struct {
				Figure [2]draw.Figure
				*draw.List[int]
			}
			func (t Table) Draw(draw.Figure) {}
			type Drawer interface { Draw() draw.Figure; interface{ Also(draw.Figure) } }`, []string{
			"table/table.go:4: table.Table.Figure mentions internal/draw.Figure" + advice,
			"table/table.go:5: table.Table.List mentions internal/draw.List" + advice,
			"table/table.go:7: table.Table.Draw mentions internal/draw.Figure" + advice,
			"table/table.go:8: table.Drawer.Also mentions internal/draw.Figure" + advice,
			"table/table.go:8: table.Drawer.Draw mentions internal/draw.Figure" + advice,
		}},
		{"type parameters", `type Pair[T draw.Number] struct{ A, B T }
			func Sum[T int | draw.Figure](list ...T) {}
			func Of(p Box[draw.Figure]) {}
			type Box[T any] struct{ V T }`, []string{
			"table/table.go:3: table.Pair mentions internal/draw.Number" + advice,
			"table/table.go:4: table.Sum mentions internal/draw.Figure" + advice,
			"table/table.go:5: table.Of mentions internal/draw.Figure" + advice,
		}},
		{"unexported types that users reach", `type Table struct { cells; Head head }
			type cells struct { Figure draw.Figure }
			type head struct { lines []draw.Figure }
			func (h *head) Line() draw.Figure { return h.lines[0] }
			type alias = draw.List[int]
			var Value alias`, []string{
			"table/table.go:4: table.Table.cells.Figure mentions internal/draw.Figure" + advice,
			"table/table.go:6: table.Table.Head.Line mentions internal/draw.Figure" + advice,
			"table/table.go:8: table.Value mentions internal/draw.List" + advice,
		}},
		{"too much", many, []string{
			"table exports 153 functions, methods and types, at most 150 allowed; unexport or move some to a package of their own",
		}},
		{"methods of torch.Context", "type Context struct{}\n" + methods, []string{
			"torch/torch.go:3: torch.Context has 31 exported methods, at most 30 allowed; unexport or move some",
		}},
		{"methods of another type", "type Table struct{}\n" + strings.ReplaceAll(methods, "Context", "Table"), nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := "table"
			if strings.Contains(tt.source, "Context") {
				dir = "torch"
			}
			m := sourceImporter{token.NewFileSet(), map[string]string{
				module + "/internal/draw": internal,
				module + "/" + dir:        "package " + dir + "\nimport `" + module + "/internal/draw`\n" + tt.source,
			}}
			pkg, err := m.Import(module + "/" + dir)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, checkPublic(m.fset, []*types.Package{pkg})); diff != "" {
				t.Errorf("violations (-want +got):\n%s", diff)
			}
		})
	}
}

// sourceImporter imports packages from source texts.
type sourceImporter struct {
	fset    *token.FileSet
	sources map[string]string // by import path
}

func (m sourceImporter) Import(importPath string) (*types.Package, error) {
	file, err := parser.ParseFile(m.fset, path.Base(importPath)+".go", m.sources[importPath], 0)
	if err != nil {
		return nil, err
	}
	conf := types.Config{Importer: m, DisableUnusedImportCheck: true}
	return conf.Check(importPath, m.fset, []*ast.File{file}, nil)
}
