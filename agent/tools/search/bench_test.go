package search_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/agent/tools/toolstest"
	"github.com/gajae-code/gjc/internal/testenv"
)

// benchTree returns a workspace of 2,000 files of about 5 KB, with a typical ignore file.
func benchTree(b *testing.B) *toolstest.World {
	files := map[string]string{
		".git/HEAD":  "ref: refs/heads/main\n",
		".gitignore": "*.log\n*.tmp\n/build/\nnode_modules/\ndist\n.env\n*.o\n*.a\n*.so\n/vendor/**/testdata\n!keep.log\n.DS_Store\n*~\n",
	}
	line := "func something(ctx context.Context, name string) (int, error) { return 0, nil }\n"
	for i := range 2000 {
		text := strings.Repeat(line, 60)
		if i%50 == 0 {
			text += "needle here\n"
		}
		files[fmt.Sprintf("pkg%02d/sub%d/file%04d.go", i%40, i%5, i)] = text
	}
	return toolstest.NewWorld(b, files)
}

func BenchmarkSearch(b *testing.B) {
	w := benchTree(b)
	for name, pattern := range map[string]string{"literal": "needle", "class": `[a-z]+dle\s+h`, "common": `\bctx\b`} {
		b.Run("own/"+name, func(b *testing.B) {
			w.Programs = nil
			toolstest.Bench(b, w, "search", toolstest.Input{"pattern": pattern})
		})
		b.Run("ripgrep/"+name, func(b *testing.B) {
			w.Programs = ripgrepOnly{testenv.NeedsTool(b, "rg")}
			toolstest.Bench(b, w, "search", toolstest.Input{"pattern": pattern})
		})
	}
}

func BenchmarkFind(b *testing.B) {
	toolstest.Bench(b, benchTree(b), "find", toolstest.Input{"paths": []string{"**/file1*.go"}})
}
