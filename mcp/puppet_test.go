package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/mcp"
)

// A puppet is a server that its caller controls: the tool "say" prints the lines of its input before it answers. The puppet prints
// the lines in puppetLists before each list of tools. puppetTools adds tools, as a JSON array. The tool "heard" returns the
// responses that the puppet has received.
const (
	puppetTools = "PUPPET_TOOLS"
	puppetLists = "PUPPET_LISTS"
)

// puppetMessage is a message to a puppet.
type puppetMessage struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Name            string          `json:"name"`
		ProtocolVersion string          `json:"protocolVersion"`
		Arguments       json.RawMessage `json:"arguments"`
		InputResponses  json.RawMessage `json:"inputResponses"`
		Meta            struct {
			Token string `json:"progressToken"`
		} `json:"_meta"`
	} `json:"params"`
	raw json.RawMessage
}

// says is the input of "say".
type says struct {
	Lines []string `json:"lines,omitempty"`
	// Mute suppresses the response; Answer replaces it.
	Mute   bool            `json:"mute,omitempty"`
	Answer json.RawMessage `json:"answer,omitempty"`
}

// puppet answers one message with lines.
type puppet struct {
	tools []any
	lists []string
	mu    sync.Mutex
	log   []string
	// listed is how often the tools were listed.
	listed int
}

func newPuppet(tools string) *puppet {
	p := &puppet{tools: []any{
		map[string]any{"name": "say", "inputSchema": map[string]any{"type": "object"}},
		map[string]any{"name": "heard", "inputSchema": map[string]any{"type": "object"}},
	}}
	var more []any
	_ = json.Unmarshal([]byte(tools), &more)
	p.tools = append(p.tools, more...)
	return p
}

func (p *puppet) answer(m *puppetMessage) []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	encode := func(v any) string { b, _ := json.Marshal(v); return string(b) }
	result := func(v any) string { return encode(map[string]any{"jsonrpc": "2.0", "id": m.ID, "result": v}) }
	switch {
	case m.ID == nil:
		if m.Method == "notifications/cancelled" {
			p.log = append(p.log, string(m.raw))
		}
		return nil
	case m.Method == "":
		p.log = append(p.log, string(m.raw))
		return nil
	}
	switch m.Method {
	case "initialize":
		p.log = append(p.log, string(m.raw))
		return []string{result(map[string]any{
			"protocolVersion": m.Params.ProtocolVersion, "serverInfo": map[string]any{"name": "puppet", "version": "0"},
			"capabilities": map[string]any{"tools": map[string]any{"listChanged": true}},
		})}
	case "tools/list":
		p.listed++
		return append(p.lists[:len(p.lists):len(p.lists)], result(map[string]any{"tools": p.tools}))
	case "tools/call":
		switch m.Params.Name {
		case "say":
			var in says
			_ = json.Unmarshal(m.Params.Arguments, &in)
			lines := in.Lines
			for i, l := range lines {
				lines[i] = strings.NewReplacer("$TOKEN", m.Params.Meta.Token, "$ID", string(m.ID)).Replace(l)
			}
			switch {
			case m.Params.InputResponses != nil:
				return []string{result(textResult(string(m.Params.InputResponses)))}
			case in.Mute:
				return lines
			case in.Answer != nil:
				return append(lines, fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, in.Answer))
			}
			return append(lines, result(textResult("said")))
		case "heard":
			return []string{result(textResult(strings.Join(p.log, "\n")))}
		default:
			return []string{result(map[string]any{
				"content": []any{}, "structuredContent": map[string]any{"x": "y", "n": 1},
			})}
		}
	}
	return []string{encode(map[string]any{"jsonrpc": "2.0", "id": m.ID, "error": map[string]any{"code": -32601, "message": "Method not found"}})}
}

func puppetDecode(raw []byte) *puppetMessage {
	m := &puppetMessage{raw: raw}
	_ = json.Unmarshal(raw, m)
	return m
}

// runPuppet runs the puppet as a process.
func runPuppet() {
	p := newPuppet(os.Getenv(puppetTools))
	if lists := os.Getenv(puppetLists); lists != "" {
		p.lists = strings.Split(lists, "\n")
	}
	for in := json.NewDecoder(os.Stdin); ; {
		var raw json.RawMessage
		if in.Decode(&raw) != nil {
			return
		}
		for _, line := range p.answer(puppetDecode(raw)) {
			fmt.Println(line)
		}
	}
}

// webPuppet serves the puppet over HTTP, responding with streams.
func webPuppet(t testing.TB, tools string) mcp.Server {
	p := newPuppet(tools)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			http.Error(w, "no", http.StatusMethodNotAllowed)
			return
		}
		raw, _ := io.ReadAll(r.Body)
		m := puppetDecode(raw)
		lines := p.answer(m)
		if m.ID == nil || m.Method == "" {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		for _, line := range lines {
			fmt.Fprintf(w, "event: message\ndata: %s\n\n", strings.ReplaceAll(line, "\n", "\ndata: "))
		}
		w.(http.Flusher).Flush()
		if strings.Contains(string(m.Params.Arguments), `"mute":true`) && !strings.Contains(string(raw), "$ID") {
			<-r.Context().Done() // ending the stream would count as a response
		}
	}))
	t.Cleanup(srv.Close)
	return mcp.Server{Name: "puppet", HTTP: &mcp.HTTP{URL: srv.URL}}
}

// channelPuppet is the puppet on the editor's channel. It sends its lines as notifications about the call.
type channelPuppet struct {
	p   *puppet
	set func() *mcp.Set
}

func (c *channelPuppet) Request(_ context.Context, server, request, method string, params jsonx.Raw) (jsonx.Raw, *mcp.ChannelError, error) {
	raw := fmt.Sprintf(`{"id":1,"method":%q,"params":%s}`, method, params)
	lines := c.p.answer(puppetDecode([]byte(raw)))
	var answer struct {
		Result jsonx.Raw         `json:"result"`
		Error  *mcp.ChannelError `json:"error"`
	}
	for i, line := range lines {
		if i < len(lines)-1 {
			var note struct {
				Method string    `json:"method"`
				Params jsonx.Raw `json:"params"`
			}
			_ = json.Unmarshal([]byte(line), &note)
			c.set().ChannelNotification(server, request, note.Method, note.Params)
			continue
		}
		_ = json.Unmarshal([]byte(line), &answer)
	}
	return answer.Result, answer.Error, nil
}

// eachPuppet runs a test with the puppet over each transport.
func eachPuppet(t *testing.T, tools string, run func(t *testing.T, open func(testing.TB, mcp.Options) *watched)) {
	t.Run("stdio", func(t *testing.T) {
		run(t, func(t testing.TB, o mcp.Options) *watched {
			return start(t, o, fake(t, "puppet", puppetTools+"="+tools)).connected()
		})
	})
	t.Run("http", func(t *testing.T) {
		server := webPuppet(t, tools)
		run(t, func(t testing.TB, o mcp.Options) *watched { return start(t, o, server).connected() })
	})
	t.Run("acp", func(t *testing.T) {
		run(t, func(t testing.TB, o mcp.Options) *watched { return startChannelPuppet(t, o, tools).connected() })
	})
}

// startChannelPuppet starts the puppet on the editor's channel, and more servers.
func startChannelPuppet(t testing.TB, o mcp.Options, tools string, more ...mcp.Server) *watched {
	ready := make(chan *mcp.Set, 1)
	set := sync.OnceValue(func() *mcp.Set { return <-ready })
	o.Channel = &channelPuppet{newPuppet(tools), set}
	w := start(t, o, append(more, mcp.Server{Name: "puppet", Channel: &mcp.ChannelServer{ID: "p"}})...)
	ready <- w.Set
	return w
}

// say makes the puppet print lines.
func (w *watched) say(s says) (*mcp.Result, error) { return w.sayTo("puppet", s) }

// sayTo makes the puppet called server print lines. Fuzz targets can use it too, because it does not use w.t.
func (w *watched) sayTo(server string, s says) (*mcp.Result, error) {
	raw, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(context.Background(), patience, errors.New("the call took too long"))
	defer cancel()
	for _, tool := range w.Tools() {
		if tool.Server == server && tool.Remote == "say" {
			return w.Call(ctx, tool, raw, nil)
		}
	}
	return nil, errors.New("there is no puppet")
}
