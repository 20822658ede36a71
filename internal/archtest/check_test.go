package archtest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

// check returns the sorted violations of the rules in the module whose root is fsys.
func check(fsys fs.FS) ([]string, error) {
	pkgs, fset, err := parseModule(fsys)
	if err != nil {
		return nil, err
	}
	var found []string
	for dir, files := range pkgs {
		p := pass{dir: dir, fset: fset, files: files}
		p.checkImports()
		p.checkPrinting()
		p.checkFileAccess()
		p.checkFormulas()
		found = append(found, p.found...)
	}
	slices.Sort(found)
	return found, nil
}

// parseModule parses every Go file of the module in fsys and returns the files by folder.
// It skips the files and folders that the go command skips.
func parseModule(fsys fs.FS) (map[string][]*ast.File, *token.FileSet, error) {
	fset := token.NewFileSet()
	pkgs := map[string][]*ast.File{}
	err := fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		base := path.Base(name)
		if d.IsDir() {
			if name != "." && (base == "testdata" || base == "vendor" || strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_")) {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(base, ".go") || strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_") {
			return nil
		}
		src, err := fs.ReadFile(fsys, name)
		if err != nil {
			return err
		}
		file, err := parser.ParseFile(fset, name, src, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		pkgs[path.Dir(name)] = append(pkgs[path.Dir(name)], file)
		return nil
	})
	return pkgs, fset, err
}

// pass checks the package in one folder, including its external tests.
type pass struct {
	dir   string
	fset  *token.FileSet
	files []*ast.File
	found []string // violations
}

// report adds a violation at a position.
func (p *pass) report(at token.Pos, format string, args ...any) {
	pos := p.fset.Position(at)
	p.found = append(p.found, fmt.Sprintf("%s:%d: %s", pos.Filename, pos.Line, fmt.Sprintf(format, args...)))
}

func (p *pass) fileName(n ast.Node) string { return path.Base(p.fset.Position(n.Pos()).Filename) }
func (p *pass) isTest(n ast.Node) bool     { return strings.HasSuffix(p.fileName(n), "_test.go") }
func (p *pass) isFormula(n ast.Node) bool  { return p.fileName(n) == "formula.go" }

// checkImports checks that the package imports only packages of its own and earlier layers,
// and imports restricted libraries only if it may.
func (p *pass) checkImports() {
	layer := layerOf(p.dir)
	if layer < 0 {
		p.report(p.files[0].Package, "package %s is in no layer; add it to layers in internal/archtest/layers_test.go", p.dir)
	}
	for _, file := range p.files {
		for _, spec := range file.Imports {
			imported := importPath(spec)
			if imported == "C" {
				p.report(spec.Pos(), `%s imports "C"; the build is pure Go`, p.dir)
			}
			if matchesAny(yamlLibraries, imported) && p.dir != "internal/config" && !p.isTest(file) {
				p.report(spec.Pos(), "%s imports %s; read YAML through internal/config", p.dir, imported)
			}
			if strings.HasSuffix(imported, "/template") && !p.isTest(file) {
				p.report(spec.Pos(), "%s imports %s; a template keeps all exported methods in the program, 2 MB: write the text", p.dir, imported)
			}
			dep, ours := inModule(imported)
			// An imported package that is in no layer is reported in its own folder.
			switch depLayer := layerOf(dep); {
			case !ours || layer < 0:
			case depLayer > layer:
				p.report(spec.Pos(), "%s (layer %s) imports %s (layer %s), which lies below it", p.dir, layers[layer].name, dep, layers[depLayer].name)
			case depLayer == layer && layers[layer].independent && dep != p.dir:
				p.report(spec.Pos(), "%s imports %s of its own layer, %s, whose packages are apart", p.dir, dep, layers[layer].name)
			}
		}
	}
}

// checkPrinting checks that library code does not call fmt.Print, fmt.Printf or
// fmt.Println.
func (p *pass) checkPrinting() {
	if matchesAny(printers, p.dir) {
		return
	}
	for _, file := range p.files {
		if p.isTest(file) {
			continue
		}
		for _, sel := range selectionsFrom(file, "fmt") {
			if strings.HasPrefix(sel.Sel.Name, "Print") {
				p.report(sel.Pos(), "fmt.%s in library code; return the text, or write to an io.Writer the caller gives", sel.Sel.Name)
			}
		}
	}
}

// fileCalls lists the functions of package os that open, read, write or rename a file.
var fileCalls = []string{"Create", "CreateTemp", "Open", "OpenFile", "ReadFile", "Rename", "WriteFile"}

// checkFileAccess checks that only the packages in fileAccessors read and write files with
// package os. All other packages must use internal/file.
func (p *pass) checkFileAccess() {
	if matchesAny(fileAccessors, p.dir) {
		return
	}
	for _, file := range p.files {
		if p.isTest(file) {
			continue
		}
		for _, sel := range selectionsFrom(file, "os") {
			if slices.Contains(fileCalls, sel.Sel.Name) {
				p.report(sel.Pos(), "os.%s outside of internal/file; read with its Reader, write with its Writer", sel.Sel.Name)
			}
		}
	}
}

// checkFormulas checks that files named formula.go, which contain closed forms, do not
// simulate, and that other files do not use functions of formula.go.
func (p *pass) checkFormulas() {
	var model, all []*ast.File // without tests; all includes formula.go
	for _, file := range p.files {
		switch {
		case p.isTest(file):
			continue
		case p.isFormula(file):
			for _, spec := range file.Imports {
				if importPath(spec) == module+"/internal/sim" {
					p.report(spec.Pos(), "closed form imports internal/sim: it may use simtime, and no engine")
				}
			}
		default:
			model = append(model, file)
		}
		all = append(all, file)
	}
	if len(model) == len(all) {
		return
	}
	uses := resolve(p.dir, p.fset, all)
	for _, file := range model {
		for n := range ast.Preorder(file) {
			id, ok := n.(*ast.Ident)
			if !ok {
				continue
			}
			if fn, ok := uses[id].(*types.Func); ok && path.Base(p.fset.Position(fn.Pos()).Filename) == "formula.go" {
				p.report(id.Pos(), "model uses %s of formula.go; models never use closed forms, or the tests that compare the two prove nothing", id.Name)
			}
		}
	}
}

// resolve returns the object that each identifier in files refers to, if the object is
// declared in the same package. It treats imported packages as empty and ignores the errors
// that result.
func resolve(dir string, fset *token.FileSet, files []*ast.File) map[*ast.Ident]types.Object {
	info := types.Info{Uses: map[*ast.Ident]types.Object{}}
	conf := types.Config{Importer: emptyPackages{}, Error: func(error) {}}
	conf.Check(dir, fset, files, &info) // continues after errors, because Error is set
	return info.Uses
}

// emptyPackages is an importer that returns an empty package for every path.
type emptyPackages struct{}

func (emptyPackages) Import(importPath string) (*types.Package, error) {
	pkg := types.NewPackage(importPath, path.Base(importPath))
	pkg.MarkComplete()
	return pkg, nil
}

// selectionsFrom returns the expressions x.Name in a file where x is the local name of the
// package importedPath. It also returns such expressions if x is a local variable that
// shadows the package.
func selectionsFrom(file *ast.File, importedPath string) []*ast.SelectorExpr {
	local := ""
	for _, spec := range file.Imports {
		if importPath(spec) != importedPath {
			continue
		}
		local = path.Base(importedPath)
		if spec.Name != nil {
			local = spec.Name.Name
		}
	}
	var found []*ast.SelectorExpr
	for n := range ast.Preorder(file) {
		if sel, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := sel.X.(*ast.Ident); ok && local != "" && x.Name == local {
				found = append(found, sel)
			}
		}
	}
	return found
}

func importPath(spec *ast.ImportSpec) string {
	p, err := strconv.Unquote(spec.Path.Value)
	if err != nil {
		panic(err) // cannot happen: the parser accepts only string literals
	}
	return p
}

// inModule returns the path of a package relative to the module, and reports whether the
// package is in the module.
func inModule(importPath string) (string, bool) {
	if importPath == module {
		return ".", true
	}
	return strings.CutPrefix(importPath, module+"/")
}
