package jsonrpc_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/gajae-code/gjc/internal/jsonx"
)

func unmarshal(data []byte, v any) error { return jsonx.Unmarshal(data, v) }

func TestConn_CallsAndErrors(t *testing.T) {
	runSteps(
		t,
		call{method: "echo", params: arg{Name: "hi"}, want: "hi"},
		call{method: "nope", fails: "method not found: nope"},
		call{method: "fail", params: arg{N: -32002}, fails: "as you wish"},
		call{method: "echo", params: map[string]any{"name": 7}, fails: "/name"},
		call{method: "get", want: 0.0},
	)
}

func TestConn_OrderOfNotificationsAndCalls(t *testing.T) {
	var steps []step
	steps = append(steps, notify{"set", arg{N: 1}})
	for range 50 {
		steps = append(steps, notify{"add", arg{N: 1}})
	}
	// get sees every notification that was sent before it, and none that was sent after it.
	steps = append(steps, async{"first", "get", nil})
	for range 50 {
		steps = append(steps, notify{"add", arg{N: 1}})
	}
	steps = append(steps, collect{name: "first", want: 51.0}, call{method: "get", want: 101.0})
	runSteps(t, steps...)
}

func TestConn_RequestsRunSideBySide(t *testing.T) {
	runSteps(
		t,
		async{"a", "wait", arg{Name: "a"}},
		async{"b", "wait", arg{Name: "b"}},
		call{method: "echo", params: arg{Name: "through"}, want: "through"},
		notify{"free", arg{Name: "b"}},
		collect{name: "b", want: "free"},
		notify{"free", arg{Name: "a"}},
		collect{name: "a", want: "free"},
	)
}

func TestConn_CancelReachesTheHandlerAndOnlyIt(t *testing.T) {
	runSteps(
		t,
		async{"a", "wait", arg{Name: "a"}},
		async{"b", "wait", arg{Name: "b"}},
		waitIdle{},
		cancel{"a"},
		collect{name: "a", fails: "context canceled"},
		waitIdle{},
		causes{"cancelled by the peer"},
		notify{"free", arg{Name: "b"}},
		collect{name: "b", want: "free"},
	)
}

// causes checks the causes with which the machine's waits were cancelled.
type causes []string

func (s causes) run(t *testing.T, e *env) {
	e.machine.mu.Lock()
	defer e.machine.mu.Unlock()
	if len(e.machine.causes) != len(s) {
		t.Fatalf("causes = %q, want %q", e.machine.causes, s)
	}
	for i, want := range s {
		if e.machine.causes[i] != want {
			t.Errorf("cause %d = %q, want %q", i, e.machine.causes[i], want)
		}
	}
}

func TestConn_CallBackFromAHandler(t *testing.T) {
	runSteps(t, call{method: "back", params: arg{Name: "mirror"}, want: "mirror"})
}

func TestConn_PanicIsAnErrorAndTheConnectionLives(t *testing.T) {
	runSteps(
		t,
		call{method: "panic", fails: "panicked: boom"},
		call{method: "echo", params: arg{Name: "still here"}, want: "still here"},
	)
}

func TestConn_CloseFailsPendingCalls(t *testing.T) {
	runSteps(
		t,
		async{"a", "wait", arg{Name: "a"}},
		waitIdle{},
		closeSide{"client"},
		collect{name: "a", fails: "connection closed"},
		call{method: "get", fails: "connection closed"},
	)
}

func TestConn_PeerCloseCancelsHandlersAndFailsCalls(t *testing.T) {
	runSteps(
		t,
		async{"a", "wait", arg{Name: "a"}},
		waitIdle{},
		closeSide{"cut"},
		collect{name: "a", fails: "peer is gone"},
		pass{time.Second},
		causes{"peer is gone"},
	)
}

func TestConn_ServerCloseAnswersWhatRuns(t *testing.T) {
	runSteps(
		t,
		async{"a", "wait", arg{Name: "a"}},
		waitIdle{},
		closeSide{"server"},
		collect{name: "a", fails: "waiting for a: connection closed"},
	)
}

func TestConn_ShutdownDrains(t *testing.T) {
	runSteps(
		t,
		async{"a", "wait", arg{Name: "a"}},
		async{"b", "back", arg{Name: "echoed"}},
		shutdownServer{},
		async{"refused", "get", nil},
		collect{name: "refused", fails: "the connection is closing"},
		collect{name: "b", want: "echoed"},
		notify{"free", arg{Name: "a"}},
		collect{name: "a", want: "free"},
		waitIdle{},
		serverDone{},
	)
}

// pass advances the fake clock.
type pass struct{ d time.Duration }

func (s pass) run(*testing.T, *env) {
	time.Sleep(s.d)
	synctest.Wait()
}

type shutdownServer struct{}

func (shutdownServer) run(t *testing.T, e *env) {
	synctest.Wait()
	go func() { _ = e.server.Shutdown(t.Context()) }()
	synctest.Wait()
}

type serverDone struct{}

func (serverDone) run(t *testing.T, e *env) {
	select {
	case <-e.server.Done():
	default:
		t.Error("the server did not end after its last answer")
	}
}
