package config_test

import (
	"net"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/dap"
	"github.com/gajae-code/gjc/dap/config"
)

// TestPrepareAttach_PortTaken checks that a port in use is reported before the adapter is started: debugpy would never answer.
func TestPrepareAttach_PortTaken(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	a := config.Attach{Port: taken.Addr().(*net.TCPAddr).Port, Listen: true, Dir: filepath.Clean(t.TempDir())}
	spec := &dap.Spec{Name: "x", Forms: dap.Forms{Listen: map[string]any{"port": "${port}"}}}
	if _, err := config.PrepareAttach(spec, a); err == nil || !strings.Contains(err.Error(), "bind") {
		t.Errorf("err = %v", err)
	}
	if err := taken.Close(); err != nil {
		t.Fatal(err)
	}
	if p, err := config.PrepareAttach(spec, a); err != nil || p.Arguments["port"] != a.Port {
		t.Errorf("after its release: %v, %v", p, err)
	}
}
