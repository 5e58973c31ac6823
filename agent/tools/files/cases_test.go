package files_test

import (
	"testing"

	"github.com/gajae-code/gjc/agent/tools/toolstest"
)

func TestCases(t *testing.T) { toolstest.RunCases(t) }
