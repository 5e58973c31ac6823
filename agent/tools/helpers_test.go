package tools_test

import (
	"testing"

	"github.com/gajae-code/gjc/agent/tools/toolstest"
)

func fuzzWorld(t testing.TB) *toolstest.World {
	return toolstest.NewWorld(t, map[string]string{"a.txt": "a\n"})
}
