package shell_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/gajae-code/gjc/internal/testenv"
)

func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == fakeSSHName {
		os.Exit(runFakeSSH(os.Args[1:]))
	}
	os.Exit(testenv.Run(m))
}
