package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/gajae-code/gjc/internal/lazyregexp"
)

// cdFirst matches "cd X && rest" with a plain word for X: no quotes, variables, "~" or "-".
var cdFirst = lazyregexp.New(`^cd[ \t]+([A-Za-z0-9_./@%+,:=][-A-Za-z0-9_./@%+,:=]*)[ \t]*&&[ \t]*([^\n]+)$`)

// leadingCd splits "cd X && rest" if running rest in X is equivalent to the whole line. With a background job it is not: "cd X && a
// & b" runs b outside X.
func leadingCd(line string) (dir, rest string, ok bool) {
	m := cdFirst().FindStringSubmatch(line)
	if m == nil {
		return "", "", false
	}
	file, err := parse(m[2])
	if err != nil || len(file.Stmts) == 0 {
		return "", "", false
	}
	for _, stmt := range file.Stmts {
		if stmt.Background || stmt.Coprocess || stmt.Disown {
			return "", "", false
		}
	}
	return m[1], m[2], true
}

func parse(line string) (*syntax.File, error) {
	return syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(line), "")
}

// endedNote is for a line that leaves programs in the background.
const endedNote = "Programs that a command leaves in the background may end with it. Run servers and watchers with async."

// leavesPrograms reports whether a line starts programs in the background and does not wait for them.
func leavesPrograms(line string) bool {
	if !strings.Contains(line, "&") {
		return false
	}
	file, err := parse(line)
	if err != nil {
		return false
	}
	leaves := false
	syntax.Walk(file, func(node syntax.Node) bool {
		switch node := node.(type) {
		case *syntax.Stmt:
			if node.Background || node.Disown {
				leaves = true
				return false
			}
		case *syntax.CallExpr:
			if len(node.Args) > 0 && node.Args[0].Lit() == "wait" {
				leaves = false
			}
		}
		return true
	})
	return leaves
}
