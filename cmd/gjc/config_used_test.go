package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/budget"
	"github.com/gajae-code/gjc/agent/contextwindow"
	"github.com/gajae-code/gjc/agent/hooks"
	"github.com/gajae-code/gjc/agent/tools"
	"github.com/gajae-code/gjc/agent/tools/files"
	"github.com/gajae-code/gjc/agent/tools/shell"
	"github.com/gajae-code/gjc/cmd/gjc/internal/config"
	"github.com/gajae-code/gjc/internal/testenv"
	"github.com/gajae-code/gjc/internal/webclient"
	"github.com/gajae-code/gjc/mcp"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/registry"
)

// Every setting of a configuration file is read somewhere: a field that is only written has no effect, and must not be
// accepted.
func TestConfig_FieldsAreUsed(t *testing.T) {
	t.Parallel()
	read := fieldsRead(t, testenv.ModuleRoot(t))
	for _, of := range []any{
		config.Config{},
		config.LSP{},
		config.Debug{},
		config.Retry{},
		config.Network{},
		agent.Settings{},
		contextwindow.CompactionSettings{},
		contextwindow.BranchSummarySettings{},
		agent.RuleSettings{},
		agent.TaskSettings{},
		budget.Limits{},
		agent.Helper{},
		tools.Settings{},
		files.EditSettings{},
		shell.BashSettings{},
		webclient.Options{},
		webclient.SearchOptions{},
		registry.Settings{},
		providers.HTTPOptions{},
		mcp.Server{},
		mcp.Stdio{},
		mcp.HTTP{},
		hooks.Hook{},
	} {
		typ := reflect.TypeOf(of)
		for f := range typ.Fields() {
			if !f.Anonymous && !read[f.Name] {
				t.Errorf("nothing reads %s.%s", typ, f.Name)
			}
		}
	}
}

// fieldsRead returns the names that selectors of the program read. Assigning to a field, or taking its address for a
// setting, does not count.
func fieldsRead(t *testing.T, root string) map[string]bool {
	t.Helper()
	read := make(map[string]bool)
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (strings.HasPrefix(d.Name(), ".") && path != root || d.Name() == "node_modules" || d.Name() == "testdata"):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.HasSuffix(path, "_gen.go"):
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		written := make(map[ast.Node]bool)
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.AssignStmt:
				for _, left := range n.Lhs {
					written[left] = true
				}
			case *ast.UnaryExpr:
				if n.Op == token.AND {
					written[n.X] = true
				}
			case *ast.SelectorExpr:
				if !written[n] {
					read[n.Sel.Name] = true
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return read
}
