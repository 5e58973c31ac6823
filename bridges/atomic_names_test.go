package bridges

import (
	"strings"
	"testing"
)

func TestIsTemporaryName(t *testing.T) {
	for _, name := range []string{"a", "main.go", strings.Repeat("ä", 60), "", "a\nb"} {
		if temp := temporaryName(name); !isTemporaryName(temp) {
			t.Errorf("the temporary name %q is not recognized", temp)
		}
	}
	for _, name := range []string{
		"", ".gjc-ABCDEFGH", "x.gjc-ABCDEFGH", ".x.gjc-ABCDEFG", ".x.gjc-ABCDEFG1", ".x.gjc-ABCDEFG8", ".x.gjc-abcdefgh", ".x.gjb-ABCDEFGH",
		".x.gjc-ABCDEFGHI", "." + strings.Repeat("x", 41) + ".gjc-ABCDEFGH",
	} {
		if isTemporaryName(name) {
			t.Errorf("%q is taken for a temporary name", name)
		}
	}
}
