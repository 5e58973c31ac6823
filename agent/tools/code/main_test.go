package code_test

import (
	"os"
	"testing"

	"github.com/gajae-code/gjc/internal/testenv"
)

func TestMain(m *testing.M) {
	serveIfAsked()
	os.Exit(testenv.Run(m))
}
