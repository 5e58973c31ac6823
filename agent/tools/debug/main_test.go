package debug_test

import (
	"os"
	"testing"

	"github.com/gajae-code/gjc/dap/daptest"
	"github.com/gajae-code/gjc/internal/testenv"
)

func TestMain(m *testing.M) {
	daptest.Main()
	os.Exit(testenv.Run(m))
}
