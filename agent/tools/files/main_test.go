package files_test

import (
	"os"
	"testing"

	"github.com/gajae-code/gjc/agent/tools/toolstest"
	"github.com/gajae-code/gjc/internal/testenv"
)

func TestMain(m *testing.M) {
	toolstest.ServeIfAsked()
	os.Exit(testenv.Run(m))
}
