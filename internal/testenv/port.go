package testenv

import (
	"fmt"
	"math/rand/v2"
	"net"
	"testing"
)

// FreePort returns an unused port of the loopback interface, for a program that cannot choose one itself. It is below the
// ephemeral ports, so that no connection or listener of another test takes it before the program does.
func FreePort(t testing.TB) int {
	t.Helper()
	var err error
	for range 100 {
		port := 20_000 + rand.IntN(12_000)
		var l net.Listener
		if l, err = (&net.ListenConfig{}).Listen(t.Context(), "tcp", fmt.Sprintf("127.0.0.1:%d", port)); err == nil {
			_ = l.Close()
			return port
		}
	}
	t.Fatalf("no port is free: %v", err)
	return 0
}
