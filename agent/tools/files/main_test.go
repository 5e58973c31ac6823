package files_test

import (
	"os"
	"testing"

	"github.com/gajae-code/gjc/internal/testenv"
)

func TestMain(m *testing.M) {
	os.Exit(testenv.Run(m))
}
