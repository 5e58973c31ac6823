// Package prose extracts the prose of this repository: comments, error texts and paragraphs of documents.
package prose

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Text is a piece of prose with its position.
type Text struct {
	File string // slash-separated, relative to the root
	Line int
	Text string // on one line
}

// Texts holds all prose of a repository. Each kind is in order of files and lines.
type Texts struct {
	Comments   []Text // of Go files that are not generated
	Errors     []Text // arguments of errors.New and fmt.Errorf outside of tests, with formatting verbs
	Paragraphs []Text // of Markdown files: paragraphs, list items and cells of tables
}

// Read returns the prose below the directory root. It skips testdata, node_modules, generated files and the changelog.
func Read(root string) (Texts, error) {
	var all Texts
	dir := os.DirFS(root)
	err := fs.WalkDir(dir, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			skip := d.Name() == "node_modules" || d.Name() == "testdata" || name != "." && strings.HasPrefix(d.Name(), ".") ||
				name == "docs/changelog" || name == "docs/reference"
			if skip {
				return fs.SkipDir
			}
			return nil
		}
		ext := path.Ext(name)
		if ext != ".go" && ext != ".md" || strings.HasSuffix(name, "_gen.go") {
			return nil
		}
		data, err := fs.ReadFile(dir, name)
		if err != nil {
			return err
		}
		if ext == ".md" {
			all.Paragraphs = append(all.Paragraphs, paragraphs(name, string(data))...)
			return nil
		}
		return all.source(name, data)
	})
	return all, err
}

// source adds the comments and error texts of a Go file.
func (t *Texts) source(name string, data []byte) error {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, data, parser.ParseComments)
	if err != nil {
		return err
	}
	add := func(to *[]Text, pos token.Pos, text string) {
		if text = oneLine(text); text != "" {
			*to = append(*to, Text{name, fset.Position(pos).Line, text})
		}
	}
	for _, group := range file.Comments {
		add(&t.Comments, group.Pos(), group.Text())
	}
	if strings.HasSuffix(name, "_test.go") {
		return nil
	}
	ast.Inspect(file, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || len(call.Args) == 0 || !slices.Contains([]string{"errors.New", "fmt.Errorf"}, callee(call)) {
			return true
		}
		var text strings.Builder
		ast.Inspect(call.Args[0], func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				if s, err := strconv.Unquote(lit.Value); err == nil {
					text.WriteString(s)
				}
			}
			return true
		})
		add(&t.Errors, call.Pos(), text.String())
		return true
	})
	return nil
}

func callee(call *ast.CallExpr) string {
	if sel, ok := call.Fun.(*ast.SelectorExpr); ok {
		if pkg, ok := sel.X.(*ast.Ident); ok {
			return pkg.Name + "." + sel.Sel.Name
		}
	}
	return ""
}

// paragraphs returns the paragraphs of a Markdown file, without headings, code blocks and HTML.
func paragraphs(name, text string) []Text {
	var all []Text
	var open *Text
	code := false
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		fence := strings.HasPrefix(line, "```")
		switch {
		case fence:
			code, open = !code, nil
		case code, line == "", strings.HasPrefix(line, "#"), strings.HasPrefix(line, "<"), strings.HasPrefix(line, "|--"), strings.HasPrefix(line, "!["):
			if !code {
				open = nil
			}
		case open == nil, strings.HasPrefix(line, "- "), strings.HasPrefix(line, "|"), line[0] >= '1' && line[0] <= '9' && strings.Contains(line[:min(4, len(line))], ". "):
			all = append(all, Text{name, i + 1, oneLine(line)})
			open = &all[len(all)-1]
		default:
			open.Text += " " + oneLine(line)
		}
	}
	return all
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
