package kernbench_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// packageDirs has the folders of the packages that docs/write/names.md names.
var packageDirs = map[string]string{
	"tl": "tl", "torch": "torch", "dist": "torch/dist", "tp": "tp", "ccl": "ccl", "task": "task", "scenario": "scenario",
	"comm": "comm", "coll": "comm/coll", "launch": "comm/launch", "kernbench": ".", "bench": "bench",
}

// TestNamesExist checks that each Go name in the last column of a table in names.md is
// declared, and that each command and flag there is in commands.md. A Go name is a package
// and a declaration, or a type and a method or field, joined by a dot. A capitalized name
// without a package or type is an error.
func TestNamesExist(t *testing.T) {
	const page, commands = "docs/write/names.md", "docs/use/commands.md"
	packages := map[string]map[string]bool{}
	for name, dir := range packageDirs {
		packages[name] = exportedNames(t, dir)
	}
	for _, invented := range []string{"tl.Frobnicate", "PE.Frobnicate", "torch.PE", "tensors.Load", "Frobnicator.Load"} {
		if isDeclared(packages, invented) {
			t.Errorf("the test finds %s, which does not exist", invented)
		}
	}
	help, found := read(t, commands), 0
	for _, name := range namesInTables(read(t, page)) {
		switch {
		case goName.MatchString(name):
			found++
			if !isDeclared(packages, name) {
				t.Errorf("%s: no package declares %s", page, name)
			}
		case strings.HasPrefix(name, "-") || strings.HasPrefix(name, "kernbench "):
			if !strings.Contains(help, name) {
				t.Errorf("%s: %s does not have %s", page, commands, name)
			}
		case name[0] >= 'A' && name[0] <= 'Z':
			t.Errorf("%s: %s lacks its package or type", page, name)
		}
	}
	if found < 200 {
		t.Errorf("%s: found %d Go names, want at least 200", page, found)
	}
}

var (
	codeSpan = regexp.MustCompile("`([^`]+)`")
	goName   = regexp.MustCompile(`^\w+\.[A-Z]\w*$`)
)

// namesInTables returns the texts in backquotes in the last column of every table of a
// page.
func namesInTables(page string) (names []string) {
	for line := range strings.Lines(page) {
		if !strings.HasPrefix(line, "|") {
			continue
		}
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		for _, span := range codeSpan.FindAllStringSubmatch(cells[len(cells)-1], -1) {
			names = append(names, span[1])
		}
	}
	return names
}

// isDeclared reports whether the given name is declared. A name such as tl.CDiv must be
// declared by package tl. A name such as PE.Load must be a method or field of a type in any
// package. `packages` has the exported names of each package.
func isDeclared(packages map[string]map[string]bool, name string) bool {
	owner, declared, _ := strings.Cut(name, ".")
	if names, ok := packages[owner]; ok {
		return names[declared]
	}
	for _, names := range packages {
		if names[name] {
			return true
		}
	}
	return false
}

// exportedNames returns the names of the exported declarations of the package in the folder
// `dir`. Exported methods and fields have names of the form Type.Name.
func exportedNames(t *testing.T, dir string) map[string]bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.FileExports(file)
		for _, decl := range file.Decls {
			addNames(names, decl)
		}
	}
	return names
}

// addNames adds the names that decl declares, with methods and fields as Type.Name.
func addNames(names map[string]bool, decl ast.Decl) {
	switch d := decl.(type) {
	case *ast.FuncDecl:
		owner := ""
		if d.Recv != nil {
			owner = receiverType(d.Recv.List[0].Type) + "."
		}
		names[owner+d.Name.Name] = true
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch s := spec.(type) {
			case *ast.ValueSpec:
				for _, name := range s.Names {
					names[name.Name] = true
				}
			case *ast.TypeSpec:
				names[s.Name.Name] = true
				if fields, ok := s.Type.(*ast.StructType); ok {
					addFields(names, s.Name.Name, fields)
				}
			}
		}
	}
}

// addFields adds the fields of the struct type with the name `owner`, as Owner.Name.
func addFields(names map[string]bool, owner string, fields *ast.StructType) {
	for _, field := range fields.Fields.List {
		for _, name := range field.Names {
			names[owner+"."+name.Name] = true
		}
	}
}

// receiverType returns the name of the type of a method's receiver.
func receiverType(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiverType(e.X)
	case *ast.IndexExpr: // a generic type
		return receiverType(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}
