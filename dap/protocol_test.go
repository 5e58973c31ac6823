package dap_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	godap "github.com/google/go-dap"

	"github.com/gajae-code/gjc/internal/testenv"
)

// TestProtocolDocument checks that the table in docs/protocol.md has all commands and events of go-dap.
func TestProtocolDocument(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(testenv.ModuleRoot(t), "docs", "protocol.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, table, ok := strings.Cut(string(text), "## Debug Adapter Protocol\n")
	if !ok {
		t.Fatal("docs/protocol.md has no part on the Debug Adapter Protocol")
	}
	table, _, _ = strings.Cut(table, "\n## ")
	for _, name := range names {
		if !strings.Contains(table, "| `"+name+"` |") {
			t.Errorf("docs/protocol.md does not name %s", name)
		}
		_, request := godap.DecodeProtocolMessage([]byte(`{"seq":1,"type":"request","command":"` + name + `"}`))
		_, event := godap.DecodeProtocolMessage([]byte(`{"seq":1,"type":"event","event":"` + name + `"}`))
		if request != nil && event != nil {
			t.Errorf("the protocol has no %s", name)
		}
	}
	if n := strings.Count(table, "\n| `"); n != len(names)+1 { // locations is newer than go-dap
		t.Errorf("docs/protocol.md has %d rows, want %d", n, len(names)+1)
	}
}

// names are the requests, reverse requests and events of the protocol.
var names = strings.Fields(`attach breakpointLocations cancel completions configurationDone continue dataBreakpointInfo disassemble
disconnect evaluate exceptionInfo goto gotoTargets initialize launch loadedSources modules next pause readMemory restart restartFrame
reverseContinue runInTerminal scopes setBreakpoints setDataBreakpoints setExceptionBreakpoints setExpression setFunctionBreakpoints
setInstructionBreakpoints setVariable source stackTrace startDebugging stepBack stepIn stepInTargets stepOut terminate terminateThreads
threads variables writeMemory breakpoint capabilities continued exited initialized invalidated loadedSource memory module output process
progressEnd progressStart progressUpdate stopped terminated thread`)
