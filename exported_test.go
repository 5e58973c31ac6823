package gjc

import (
	"go/token"
	"go/types"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"
)

// forOthers are the packages whose exported names need not be used in this repository: the API of the protocol, and test kits,
// which offer more than the current tests need.
var forOthers = []string{"acp", "acp/acptest", "dap/daptest", "internal/testenv", "providers/providertest", "agent/tools/toolstest"}

// notYet are folders whose exported names have not been reviewed. The list may only get shorter.
var notYet = []string{"agent/toolkit/hashline", "agent/toolkit/lines", "agent/toolkit"}

// called are methods that the standard library looks for by name.
var called = []string{"Unwrap", "Is", "As", "MarshalJSON", "UnmarshalJSON"}

// TestExportedNames fails for exported names of packages and methods that no other package uses. It excepts constants of an
// exported type, which are listed completely, methods of an interface, and types that the declaration of another exported name
// mentions: a caller holds their values without naming them.
func TestExportedNames(t *testing.T) {
	root, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	fset := token.NewFileSet()
	all, err := packages.Load(&packages.Config{
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedSyntax | packages.NeedTypes | packages.NeedTypesInfo | packages.NeedImports |
			packages.NeedExportFile | packages.NeedForTest,
		Fset: fset, Tests: true, Context: t.Context(),
	}, "./...")
	if err != nil {
		t.Fatal(err)
	}
	names := exportedNames{fset: fset, root: root, used: make(map[string]bool), declared: make(map[string]string), methods: make(map[string]bool)}
	for _, p := range all {
		for _, err := range p.Errors {
			t.Error(err)
		}
		names.uses(p)
	}
	for _, p := range all {
		if p.ForTest == "" && !strings.HasSuffix(p.ID, ".test") {
			names.declarations(p)
		}
	}
	for _, place := range slices.Sorted(maps.Keys(names.declared)) {
		if !names.used[place] {
			t.Errorf("%s: no other package uses %s; unexport or delete it", place, names.declared[place])
		}
	}
}

// exportedNames holds names by the place of their declaration, since a package and its variant for tests have different objects.
type exportedNames struct {
	fset     *token.FileSet
	root     string // the root of the repository
	used     map[string]bool
	declared map[string]string
	methods  map[string]bool // the methods of interfaces, with their types
}

func (e *exportedNames) place(obj types.Object) string {
	pos := e.fset.Position(obj.Pos())
	if file, err := filepath.Rel(e.root, pos.Filename); err == nil {
		pos.Filename = filepath.ToSlash(file)
	}
	return pos.String()
}

// uses records the names of other packages that p mentions, and its interfaces.
func (e *exportedNames) uses(p *packages.Package) {
	own := p.PkgPath // the package path of external tests ends with _test
	for _, obj := range p.TypesInfo.Uses {
		e.use(own, obj)
	}
	for _, selection := range p.TypesInfo.Selections {
		e.use(own, selection.Obj())
	}
	for _, imported := range append(p.Types.Imports(), p.Types) {
		scope := imported.Scope()
		for _, name := range scope.Names() {
			if typ, ok := scope.Lookup(name).(*types.TypeName); ok {
				e.addInterface(typ.Type())
			}
		}
	}
	for _, tv := range p.TypesInfo.Types {
		if tv.IsType() {
			e.addInterface(tv.Type)
		}
	}
}

func (e *exportedNames) addInterface(typ types.Type) {
	if i, ok := typ.Underlying().(*types.Interface); ok {
		for method := range i.Methods() {
			e.methods[methodKey(method)] = true
		}
	}
}

// methodKey returns a method's name with the types of its parameters and results, equal for a package and its variant for tests.
func methodKey(method *types.Func) string {
	path := func(p *types.Package) string { return p.Path() }
	sig := method.Signature()
	var key strings.Builder
	key.WriteString(method.Name())
	for _, tuple := range []*types.Tuple{sig.Params(), sig.Results()} {
		key.WriteString(" (")
		for v := range tuple.Variables() {
			key.WriteString(types.TypeString(v.Type(), path) + ",")
		}
		key.WriteString(")")
	}
	return key.String()
}

func (e *exportedNames) use(own string, obj types.Object) {
	switch o := obj.(type) {
	case *types.Func:
		obj = o.Origin()
	case *types.Var:
		obj = o.Origin()
	}
	if obj.Pkg() != nil && obj.Pkg().Path() != own {
		e.used[e.place(obj)] = true
	}
}

// declarations records the exported names of p that need a user.
func (e *exportedNames) declarations(p *packages.Package) {
	_, dir, _ := strings.Cut(p.PkgPath, "gjc/")
	if slices.Contains(forOthers, dir) || slices.Contains(notYet, dir) {
		return
	}
	scope := p.Types.Scope()
	for _, name := range scope.Names() {
		obj := scope.Lookup(name)
		if obj.Exported() {
			e.mention(obj)
		}
	}
	for _, name := range scope.Names() {
		obj := scope.Lookup(name)
		if obj.Exported() && !isOfEnumeration(obj) {
			e.declare(dir, "", obj)
		}
		typ, ok := obj.(*types.TypeName)
		if !ok || !typ.Exported() || typ.IsAlias() {
			continue
		}
		named, ok := typ.Type().(*types.Named)
		if !ok {
			continue
		}
		for method := range named.Methods() {
			if method.Exported() && !e.methods[methodKey(method)] && !slices.Contains(called, method.Name()) {
				e.declare(dir, name+".", method)
			}
		}
	}
}

// isOfEnumeration reports whether obj is a constant of an exported type of its package.
func isOfEnumeration(obj types.Object) bool {
	named, ok := obj.Type().(*types.Named)
	_, constant := obj.(*types.Const)
	return ok && constant && named.Obj().Exported() && named.Obj().Pkg() == obj.Pkg()
}

func (e *exportedNames) declare(dir, of string, obj types.Object) {
	if !strings.HasSuffix(e.fset.Position(obj.Pos()).Filename, "_gen.go") {
		e.declared[e.place(obj)] = dir + "." + of + obj.Name()
	}
}

// mention records the types that the declaration of obj mentions. They count as used, because a caller holds their values without
// naming them.
func (e *exportedNames) mention(obj types.Object) {
	var visit func(types.Type)
	visit = func(typ types.Type) {
		switch typ := typ.(type) {
		case *types.Named:
			e.used[e.place(typ.Obj())] = true
			for arg := range typ.TypeArgs().Types() {
				visit(arg)
			}
		case *types.Alias:
			e.used[e.place(typ.Obj())] = true
		case interface{ Elem() types.Type }:
			visit(typ.Elem())
			if m, ok := typ.(*types.Map); ok {
				visit(m.Key())
			}
		case *types.Signature:
			for v := range typ.Params().Variables() {
				visit(v.Type())
			}
			for v := range typ.Results().Variables() {
				visit(v.Type())
			}
		case *types.Struct:
			for v := range typ.Fields() {
				if v.Exported() {
					visit(v.Type())
				}
			}
		case *types.Interface:
			for m := range typ.ExplicitMethods() {
				visit(m.Type())
			}
		}
	}
	if _, ok := obj.(*types.TypeName); !ok {
		visit(obj.Type())
		return
	}
	visit(obj.Type().Underlying())
	if named, ok := obj.Type().(*types.Named); ok {
		for method := range named.Methods() {
			if method.Exported() {
				visit(method.Type())
			}
		}
	}
}
