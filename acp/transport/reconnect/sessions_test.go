package reconnect_test

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/gajae-code/gjc/acp/transport"
)

const (
	resumable = `{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1,"agentCapabilities":{"sessionCapabilities":{"resume":{}}}}}`
	aware     = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1,"clientCapabilities":{"_meta":{"gjc/attach":true}}}}`
)

// passes sends a request of the editor's, and the answer.
func (w *world) passes(c *conn, request, answer string) {
	w.Helper()
	w.editor.send(request)
	c.agent.want(request)
	c.agent.send(answer)
	w.editor.want(answer)
}

// initializeWith initializes a connection.
func (w *world) initializeWith(c *conn, hello string) {
	w.Helper()
	w.passes(c, hello, resumable)
}

// renewed hands out a connection, and answers the hello with which it begins.
func (w *world) renewed(hello string) *conn {
	w.Helper()
	c := newConn(w.T)
	w.conns <- c
	c.agent.want(hello)
	c.agent.send(resumable)
	return c
}

// ends ends the editor, and with it the run.
func (w *world) ends() {
	w.Helper()
	w.leave()
	if err := <-w.done; err != nil {
		w.Error(err)
	}
}

// An editor goes on in its sessions over the next connection, which opens them before the editor's next message.
func TestRun_Reopens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, first := start(t)
		w.initializeWith(first, hello)
		w.passes(first, `{"id":1,"method":"session/new","params":{"cwd":"/a","mcpServers":[{"name":"m"}],"systemPrompt":"p","_meta":{"x":{"y":[1]},"gjc/attach":false}}}`, `{"id":1,"result":{"sessionId":"a"}}`)
		w.passes(first, `{"id":2,"method":"session/load","params":{"sessionId":"b\u00e9","cwd":"/b","mcpServers":[]}}`, `{"id":2,"result":{}}`)
		w.passes(first, `{"id":3,"method":"session/load","params":{"sessionId":"closed","cwd":"/c","mcpServers":[]}}`, `{"id":3,"result":{}}`)
		w.passes(first, `{"id":4,"method":"session/close","params":{"sessionId":"closed"}}`, `{"id":4,"result":{}}`)
		w.passes(first, `{"id":5,"method":"session/load","params":{"sessionId":"refused","cwd":"/d","mcpServers":[]}}`, `{"id":5,"error":{"code":-32002,"message":"no"}}`)
		w.passes(first, `{"id":6,"method":"session/resume","params":{"sessionId":"gone","cwd":"/e"}}`, `{"id":6,"result":{}}`)
		detached := `{"method":"session/update","params":{"sessionId":"gone","update":{"sessionUpdate":"session_info_update","_meta":{"gjc/attach":{"state":"detached","reason":"taken over"}}}}}`
		first.agent.send(detached)
		w.editor.want(detached)
		// The answer to this is lost, and with it the session.
		w.editor.send(`{"id":7,"method":"session/new","params":{"cwd":"/f"}}`, `{"id":8,"method":"session/prompt","params":{"sessionId":"a"}}`)
		first.agent.next()
		first.agent.next()
		first.lose(errCut)
		again := func(id string) string {
			return `{"jsonrpc":"2.0","id":` + id + `,"error":{"code":-32603,"message":"the connection to there is lost; the agent's answer will not come. Send the next prompt to go on, or load the session to see what was done."}}`
		}
		w.editor.want(again("7"), again("8"))
		w.editor.send(`{"id":9,"method":"session/prompt","params":{"sessionId":"a"}}`)
		second := w.renewed(hello)
		second.agent.want(
			`{"jsonrpc":"2.0","id":"gjc-connect-1-resume-0","method":"session/resume","params":{"sessionId":"a","cwd":"/a","mcpServers":[{"name":"m"}],"_meta":{"gjc/attach":{"role":"controller"},"x":{"y":[1]}}}}`,
			`{"jsonrpc":"2.0","id":"gjc-connect-1-resume-1","method":"session/resume","params":{"sessionId":"bé","cwd":"/b","mcpServers":[],"_meta":{"gjc/attach":{"role":"controller"}}}}`,
			`{"id":9,"method":"session/prompt","params":{"sessionId":"a"}}`,
		)
		// The agent asks for files before it has opened a session.
		second.agent.send(`{"id":1,"method":"fs/read_text_file","params":{"sessionId":"a"}}`)
		w.editor.want(`{"id":"gjc-connect-1-1","method":"fs/read_text_file","params":{"sessionId":"a"}}`)
		w.editor.send(`{"id":"gjc-connect-1-1","result":{}}`)
		second.agent.want(`{"id":1,"result":{}}`)
		second.agent.send(
			`{"id":"gjc-connect-1-resume-0","result":{}}`, `{"id":"gjc-connect-1-resume-1","error":{"code":-32002,"message":"it was deleted"}}`,
			`{"id":9,"result":{"stopReason":"end_turn"}}`,
		)
		w.editor.want(`{"id":9,"result":{"stopReason":"end_turn"}}`)
		// A session that could not be opened again is not tried another time.
		second.lose(errCut)
		third := w.renewed(hello)
		third.agent.want(`{"jsonrpc":"2.0","id":"gjc-connect-2-resume-0","method":"session/resume","params":{"sessionId":"a","cwd":"/a","mcpServers":[{"name":"m"}],"_meta":{"gjc/attach":{"role":"controller"},"x":{"y":[1]}}}}`)
		w.editor.send(`{"method":"note"}`)
		third.agent.want(`{"method":"note"}`)
		w.ends()
		var log []string
		for len(w.lines) > 0 {
			log = append(log, <-w.lines)
		}
		if got := strings.Join(log, "\n"); !strings.Contains(got, "session bé could not be opened again: it was deleted") {
			t.Error(got)
		}
	})
}

// An editor that knows the extension learns that it has its sessions no more, and opens them itself, since it can ask for what it misses.
func TestRun_Detaches(t *testing.T) {
	for name, test := range map[string]struct{ hello, params, reason string }{
		"declared for all": {aware, `{"cwd":"/a"}`, "the connection to there was lost; load the session again"},
		"declared for one": {hello, `{"cwd":"/a","_meta":{"gjc/attach":{"role":"observer"}}}`, "the connection to there was lost; load the session again"},
		"in order":         {aware, `{"cwd":"/a"}`, "there shuts down; load the session again"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, first := start(t)
				w.initializeWith(first, test.hello)
				w.passes(first, `{"id":1,"method":"session/new","params":`+test.params+`}`, `{"id":1,"result":{"sessionId":"a"}}`)
				if name == "in order" {
					first.lose(transport.ErrRestart)
				} else {
					first.lose(errCut)
				}
				w.editor.want(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"a","update":{"sessionUpdate":"session_info_update","_meta":{"gjc/attach":{"state":"detached","reason":"` + test.reason + `"}}}}}`)
				second := w.renewed(test.hello)
				w.editor.send(`{"method":"note"}`)
				second.agent.want(`{"method":"note"}`)
				w.ends()
			})
		})
	}
}

// A server that shuts down gives its sessions up before it ends the connection. They are opened at the next one.
func TestRun_ReopensAfterRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, first := start(t)
		w.initializeWith(first, hello)
		w.passes(first, `{"id":1,"method":"session/new","params":{"cwd":"/a"}}`, `{"id":1,"result":{"sessionId":"a"}}`)
		detached := `{"method":"session/update","params":{"sessionId":"a","update":{"sessionUpdate":"session_info_update","_meta":{"gjc/attach":{"state":"detached","kind":"shutdown","reason":"later"}}}}}`
		first.agent.send(detached)
		w.editor.want(detached)
		w.editor.send(`{"id":2,"method":"session/prompt","params":{"sessionId":"a"}}`)
		first.agent.next()
		first.lose(transport.ErrRestart)
		w.editor.want(`{"jsonrpc":"2.0","id":2,"error":{"code":-32603,"message":"there shuts down and has not begun this request. Send it again."}}`)
		second := w.renewed(hello)
		second.agent.want(`{"jsonrpc":"2.0","id":"gjc-connect-1-resume-0","method":"session/resume","params":{"sessionId":"a","cwd":"/a","_meta":{"gjc/attach":{"role":"controller"}}}}`)
		w.ends()
	})
}
