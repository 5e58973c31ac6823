package gjc

import (
	"bufio"
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/internal/testenv"
)

// limits bound the size of each part of the hand-written non-test code.
var limits = map[string]int{
	"files":      30, // of a package
	"share":      8,  // of a package, in percent of all lines
	"fields":     20, // of a struct
	"methods":    40, // of a type
	"lines":      80, // of a function
	"complexity": 25, // of a function: its branches and 1
}

// exceptionsFile lists each part that exceeds a limit: the kind of limit, the name, the size and the reason. Entries may only
// shrink or disappear: -update lowers sizes and removes entries, but adds none.
const exceptionsFile = "testdata/limits.txt"

// TestLimits checks the code against [limits].
func TestLimits(t *testing.T) {
	sizes := measure(t)
	exceptions := readExceptions(t)
	for _, key := range slices.Sorted(maps.Keys(sizes)) {
		kind, name, _ := strings.Cut(key, " ")
		size, exception := sizes[key], exceptions[key]
		switch {
		case size <= limits[kind] && exception == nil:
		case size <= limits[kind]:
			if !testenv.Update() {
				t.Errorf("%s of %s: %d is within the limit; delete the line in %s or run go test . -update", kind, name, size, exceptionsFile)
			}
			delete(exceptions, key)
		case exception == nil:
			t.Errorf("%s of %s: %d, at most %d", kind, name, size, limits[kind])
		case size > exception.size:
			t.Errorf("%s of %s: %d; %s permits %d", kind, name, size, exceptionsFile, exception.size)
		case size < exception.size:
			if !testenv.Update() {
				t.Errorf("%s of %s: %d, less than %s permits (%d); run go test . -update", kind, name, size, exceptionsFile, exception.size)
			}
			exception.size = size
		}
	}
	for key := range exceptions {
		if _, ok := sizes[key]; !ok {
			if !testenv.Update() {
				t.Errorf("%s names %s, which does not exist; run go test . -update", exceptionsFile, key)
			}
			delete(exceptions, key)
		}
	}
	if testenv.Update() {
		writeExceptions(t, exceptions)
	}
}

// measure returns the sizes of packages, types and functions by kind of limit and name.
func measure(t *testing.T) map[string]int {
	sizes := make(map[string]int)
	lines, total := make(map[string]int), 0
	fset := token.NewFileSet()
	sources(t, func(path string, text []byte) {
		dir := filepath.ToSlash(filepath.Dir(path))
		sizes["files "+dir]++
		n := strings.Count(string(text), "\n")
		lines[dir] += n
		total += n
		file, err := parser.ParseFile(fset, path, text, 0)
		if err != nil {
			t.Error(err)
			return
		}
		for _, decl := range file.Decls {
			switch decl := decl.(type) {
			case *ast.FuncDecl:
				name := decl.Name.Name
				if typ := receiver(decl); typ != "" {
					sizes["methods "+dir+"."+typ]++
					name = typ + "." + name
				}
				key := dir + "." + name
				// Files for different systems may define the same function; the largest counts.
				length := fset.Position(decl.End()).Line - fset.Position(decl.Pos()).Line + 1
				sizes["lines "+key] = max(sizes["lines "+key], length)
				sizes["complexity "+key] = max(sizes["complexity "+key], complexity(decl))
			case *ast.GenDecl:
				for _, spec := range decl.Specs {
					if spec, ok := spec.(*ast.TypeSpec); ok {
						if s, ok := spec.Type.(*ast.StructType); ok {
							sizes["fields "+dir+"."+spec.Name.Name] = s.Fields.NumFields()
						}
					}
				}
			}
		}
	})
	for dir, n := range lines {
		sizes["share "+dir] = (100*n + total - 1) / total
	}
	return sizes
}

// receiver returns the name of a method's type, or "".
func receiver(decl *ast.FuncDecl) string {
	if decl.Recv == nil {
		return ""
	}
	typ := decl.Recv.List[0].Type
	for {
		switch t := typ.(type) {
		case *ast.StarExpr:
			typ = t.X
		case *ast.IndexExpr:
			typ = t.X
		case *ast.IndexListExpr:
			typ = t.X
		case *ast.Ident:
			return t.Name
		default:
			return ""
		}
	}
}

// complexity returns the cyclomatic complexity of a function, including function literals in it.
func complexity(decl *ast.FuncDecl) int {
	n := 1
	ast.Inspect(decl, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.IfStmt, *ast.ForStmt, *ast.RangeStmt:
			n++
		case *ast.CaseClause:
			if node.List != nil {
				n++
			}
		case *ast.CommClause:
			if node.Comm != nil {
				n++
			}
		case *ast.BinaryExpr:
			if node.Op == token.LAND || node.Op == token.LOR {
				n++
			}
		}
		return true
	})
	return n
}

// exception is a line of [exceptionsFile].
type exception struct {
	size   int
	reason string
}

func readExceptions(t *testing.T) map[string]*exception {
	f, err := os.Open(exceptionsFile)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }() // read only
	all := make(map[string]*exception)
	for s := bufio.NewScanner(f); s.Scan(); {
		line := s.Text()
		if line == "" || line[0] == '#' {
			continue
		}
		fields := strings.SplitN(line, " ", 4)
		if len(fields) != 4 || limits[fields[0]] == 0 {
			t.Fatalf("%s: %q is not \"kind name size reason\"", exceptionsFile, line)
		}
		size, err := strconv.Atoi(fields[2])
		if err != nil {
			t.Fatalf("%s: %q: %v", exceptionsFile, line, err)
		}
		all[fields[0]+" "+fields[1]] = &exception{size, fields[3]}
	}
	return all
}

func writeExceptions(t *testing.T, all map[string]*exception) {
	var b strings.Builder
	b.WriteString("# What exceeds a limit of limits_test.go: kind, name, size, reason. Lines may be deleted and sizes lowered, and nothing added.\n")
	for _, key := range slices.Sorted(maps.Keys(all)) {
		fmt.Fprintf(&b, "%s %d %s\n", key, all[key].size, all[key].reason)
	}
	if err := os.WriteFile(exceptionsFile, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestApprovalIsSmall bounds what a reader has to trust: the decisions and the reading of command lines.
func TestApprovalIsSmall(t *testing.T) {
	const most = 2500
	lines := 0
	sources(t, func(path string, text []byte) {
		if strings.HasPrefix(path, "agent/approval/") {
			lines += bytes.Count(text, []byte("\n"))
		}
	})
	if lines > most || lines == 0 {
		t.Errorf("agent/approval and agent/approval/shell have %d lines, at most %d", lines, most)
	}
}
