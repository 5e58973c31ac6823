package dap_test

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	godap "github.com/google/go-dap"

	"github.com/gajae-code/gjc/internal/testenv"
)

// TestProtocolDocument holds the table of docs/protocol.md to the protocol: the commands and events that go-dap can decode,
// which are all but the latest.
func TestProtocolDocument(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(testenv.ModuleRoot(t), "docs", "protocol.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, table, ok := strings.Cut(string(text), "## Debug Adapter Protocol\n")
	if !ok {
		t.Fatal("there is no such part")
	}
	table, _, _ = strings.Cut(table, "\n## ")
	names := []string{"locations", "startDebugging"}
	for _, kind := range []string{"request", "event"} {
		for _, name := range known(kind) {
			names = append(names, name)
		}
	}
	if len(names) < 55 {
		t.Fatalf("only %d names: %v", len(names), names)
	}
	for _, name := range names {
		if !strings.Contains(table, "| `"+name+"` |") {
			t.Errorf("docs/protocol.md does not name %s", name)
		}
	}
}

// candidates are words that may be names of the protocol; go-dap says which are.
var candidates = strings.Fields(`attach breakpointLocations cancel completions configurationDone continue dataBreakpointInfo disassemble
disconnect evaluate exceptionInfo goto gotoTargets initialize launch loadedSources modules next pause readMemory restart restartFrame
reverseContinue runInTerminal scopes setBreakpoints setDataBreakpoints setExceptionBreakpoints setExpression setFunctionBreakpoints
setInstructionBreakpoints setVariable source stackTrace startDebugging stepBack stepIn stepInTargets stepOut terminate terminateThreads
threads variables writeMemory breakpoint capabilities continued exited initialized invalidated loadedSource memory module output process
progressEnd progressStart progressUpdate stopped terminated thread`)

// known returns the candidates that go-dap has a type for.
func known(kind string) []string {
	var names []string
	for _, name := range candidates {
		field := "command"
		if kind == "event" {
			field = "event"
		}
		m, err := godap.DecodeProtocolMessage([]byte(`{"seq":1,"type":"` + kind + `","` + field + `":"` + name + `"}`))
		if err == nil && reflect.TypeOf(m).Elem().NumField() > 0 {
			names = append(names, name)
		}
	}
	return names
}
