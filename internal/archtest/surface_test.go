package archtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

const (
	// maxExported is the maximum number of functions, methods and types that a public
	// package exports.
	maxExported = 150
	// maxContextMethods is the maximum number of exported methods of torch.Context.
	maxContextMethods = 30
)

// loadPublic returns the public packages of the module at root, from the compiler's export
// data. The go command builds the packages that are not in its cache. It needs no network.
func loadPublic(root string, fset *token.FileSet) ([]*types.Package, error) {
	list := exec.Command("go", "list", "-export", "-deps", "-json=ImportPath,Export", "./...")
	list.Dir = root
	out, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("%v: %w", list, err)
	}
	var public []string
	exports := map[string]string{}
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p struct{ ImportPath, Export string }
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		exports[p.ImportPath] = p.Export
		if isPublic(p.ImportPath) && p.Export != "" { // folders that contain only tests have no export data
			public = append(public, p.ImportPath)
		}
	}
	imports := importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	var pkgs []*types.Package
	for _, path := range public {
		pkg, err := imports.Import(path)
		if err != nil {
			return nil, err
		}
		pkgs = append(pkgs, pkg)
	}
	return pkgs, nil
}

// isPublic reports whether the package at path belongs to the module and may be imported by
// other modules. Commands and examples are not public.
func isPublic(path string) bool {
	dir, ours := inModule(path)
	return ours && !slices.Contains(strings.Split(dir, "/"), "internal") && !matchesAny([]string{"cmd/...", "examples/..."}, dir)
}

// isInternal reports whether pkg is an internal package of the module.
func isInternal(pkg *types.Package) bool {
	if pkg == nil {
		return false // a predeclared type
	}
	dir, ours := inModule(pkg.Path())
	return ours && slices.Contains(strings.Split(dir, "/"), "internal")
}

// checkPublic returns the sorted violations in the exported declarations of public
// packages. Violations are types of internal packages that a user of the package can reach,
// and packages and types that export too much.
func checkPublic(fset *token.FileSet, pkgs []*types.Package) []string {
	var found []string
	for _, pkg := range pkgs {
		dir, _ := inModule(pkg.Path())
		s := surface{fset: fset, pkg: pkg, dir: dir}
		for _, name := range pkg.Scope().Names() {
			if obj := pkg.Scope().Lookup(name); obj.Exported() {
				s.checkDeclaration(obj)
			}
		}
		if s.count > maxExported {
			s.found = append(s.found, fmt.Sprintf("%s exports %d functions, methods and types, at most %d allowed; unexport or move some to a package of their own", dir, s.count, maxExported))
		}
		found = append(found, s.found...)
	}
	slices.Sort(found)
	return found
}

// surface walks over the exported declarations of a public package.
type surface struct {
	fset  *token.FileSet
	pkg   *types.Package
	dir   string
	decl  string         // the current declaration, such as Config.Used
	at    token.Position // of decl
	seen  map[types.Type]bool
	count int      // number of exported functions, methods and types
	found []string // violations
}

// checkDeclaration checks an exported object of the package scope and its exported methods.
func (s *surface) checkDeclaration(obj types.Object) {
	s.seen = map[types.Type]bool{}
	s.enter(obj, func() {
		name, ok := obj.(*types.TypeName)
		if !ok {
			if _, ok := obj.(*types.Func); ok {
				s.count++
			}
			s.walk(obj.Type())
			return
		}
		s.count++
		switch t := name.Type().(type) {
		case *types.Alias:
			s.typeParams(t.TypeParams())
			s.walk(t.Rhs())
		case *types.Named:
			methods := s.checkMembers(t)
			s.count += methods
			if s.dir == "torch" && name.Name() == "Context" && methods > maxContextMethods {
				s.report("has %d exported methods, at most %d allowed; unexport or move some", methods, maxContextMethods)
			}
		}
	})
}

// enter appends the name of obj to the name of the current declaration, calls check, and
// restores the previous name. Reports contain the name of the current declaration.
func (s *surface) enter(obj types.Object, check func()) {
	decl, at := s.decl, s.at
	s.decl = strings.TrimPrefix(decl+"."+obj.Name(), ".")
	if obj.Pkg() == s.pkg {
		s.at = s.fset.Position(obj.Pos())
	}
	check()
	s.decl, s.at = decl, at
}

// report adds a violation at the current declaration.
func (s *surface) report(format string, args ...any) {
	s.found = append(s.found, fmt.Sprintf("%s/%s:%d: %s.%s %s", s.dir, filepath.Base(s.at.Filename), s.at.Line, s.pkg.Name(), s.decl, fmt.Sprintf(format, args...)))
}

// checkMembers checks the type parameters, the underlying type and the exported methods of
// t. It returns the number of exported methods.
func (s *surface) checkMembers(t *types.Named) int {
	s.typeParams(t.TypeParams())
	s.walk(t.Underlying())
	exported := 0
	for m := range t.Methods() {
		if m.Exported() {
			exported++
			s.enter(m, func() { s.walk(m.Type()) })
		}
	}
	return exported
}

// walk checks every type that t mentions. It follows unexported types of the package,
// because users can reach their exported fields and methods. It does not follow exported
// types, which are checked as declarations.
func (s *surface) walk(t types.Type) {
	if t == nil || s.seen[t] {
		return
	}
	switch t := t.(type) {
	case *types.Alias:
		s.typeArgs(t.TypeArgs())
		s.walk(t.Rhs())
	case *types.Named:
		s.typeArgs(t.TypeArgs())
		switch obj := t.Obj(); {
		case isInternal(obj.Pkg()):
			dir, _ := inModule(obj.Pkg().Path())
			s.report("mentions %s.%s, a type of an internal package; unexport the declaration, or give it a public type", dir, obj.Name())
		case obj.Pkg() == s.pkg && !obj.Exported():
			s.seen[t] = true
			s.checkMembers(t)
		}
	case *types.Struct:
		for f := range t.Fields() {
			if f.Exported() || f.Embedded() { // users reach the members of embedded fields
				s.enter(f, func() { s.walk(f.Type()) })
			}
		}
	case *types.Interface:
		for e := range t.EmbeddedTypes() {
			s.walk(e)
		}
		for m := range t.ExplicitMethods() {
			if m.Exported() {
				s.enter(m, func() { s.walk(m.Type()) })
			}
		}
	case *types.Signature:
		s.typeParams(t.TypeParams())
		for v := range t.Params().Variables() {
			s.walk(v.Type())
		}
		for v := range t.Results().Variables() {
			s.walk(v.Type())
		}
	case *types.Union:
		for term := range t.Terms() {
			s.walk(term.Type())
		}
	case *types.Map:
		s.walk(t.Key())
		s.walk(t.Elem())
	case interface{ Elem() types.Type }: // pointer, slice, array, channel
		s.walk(t.Elem())
	}
}

// typeParams checks the constraints of type parameters.
func (s *surface) typeParams(list *types.TypeParamList) {
	for p := range list.TypeParams() {
		s.walk(p.Constraint())
	}
}

// typeArgs checks the types in a list of type arguments.
func (s *surface) typeArgs(list *types.TypeList) {
	for t := range list.Types() {
		s.walk(t)
	}
}
