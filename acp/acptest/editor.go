// Package acptest implements an editor without a screen: an ACP client with files, terminals and permission answers that records
// everything it receives. The tests and "gjc demo" drive agents with it, in memory or as child processes.
package acptest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/internal/proc"
)

// EditorOptions configures an [Editor]. The zero value is an editor with files, terminals, and a user who allows
// everything once.
type EditorOptions struct {
	// Capabilities are the capabilities that the editor advertises. If nil, [AllCapabilities].
	Capabilities *acp.ClientCapabilities
	// Info is the name and version of the editor. If nil, acptest.
	Info *acp.Implementation
	// Permission answers permission requests. If nil, every request is answered "allow_once".
	Permission func(ctx context.Context, p *acp.RequestPermissionRequest) (*acp.RequestPermissionResponse, error)
	// Elicit answers forms and URLs. If nil, forms are filled with their defaults or the first valid values, and URLs are
	// accepted.
	Elicit func(ctx context.Context, p *acp.CreateElicitationRequest) (*acp.CreateElicitationResponse, error)
	// MCP serves the MCP servers that the editor provides to the agent. If nil, there are none.
	MCP func(ctx context.Context, p *acp.MessageMCPRequest) (*acp.MessageMCPResponse, error)
	// Updated, if set, is called for every update when it arrives, one at a time, in order.
	Updated func(*acp.SessionNotification)
	// Requested, if set, is called for every request of the agent when it arrives. An error is sent as the response.
	Requested func(method string, params any) error
	// Env is the environment of terminals.
	Env []string
	// Root, if set, is the directory with the files of the editor's machine, which is not the agent's.
	Root string
	// Trace receives every line; sent reports whether the editor sent it.
	Trace func(sent bool, line []byte)
	// Liar, if set, falsifies the editor's answers.
	Liar *Liar
}

// AllCapabilities returns everything that an editor can advertise in the stable protocol.
func AllCapabilities() *acp.ClientCapabilities {
	return &acp.ClientCapabilities{
		FS: acp.FileSystemCapabilities{ReadTextFile: true, WriteTextFile: true}, Terminal: true,
		Session: &acp.ClientSessionCapabilities{
			Notices: &acp.NoticeCapabilities{}, Compaction: &acp.CompactionCapabilities{},
			ConfigOptions: &acp.SessionConfigOptionsCapabilities{Boolean: &acp.BooleanConfigOptionCapabilities{}},
		},
		Auth:        acp.AuthCapabilities{Terminal: true},
		Elicitation: &acp.ElicitationCapabilities{Form: &acp.ElicitationFormCapabilities{}, URL: &acp.ElicitationURLCapabilities{}},
	}
}

// UnstableCapabilities returns [AllCapabilities] together with the capabilities of the unstable protocol.
func UnstableCapabilities() *acp.ClientCapabilities {
	c := AllCapabilities()
	c.Plan, c.Subagents = &acp.PlanCapabilities{}, &acp.SubagentCapabilities{}
	return c
}

// Editor is the client. Its exported methods may be called from any goroutine. The caller must close it.
type Editor struct {
	Conn *acp.ClientConn

	opts     EditorOptions
	children *proc.Group

	mu        sync.Mutex // guards the fields below
	buffers   map[string]string
	terminals map[acp.TerminalID]*terminal
	released  map[acp.TerminalID]*terminal
	created   int
	updates   []acp.SessionNotification
	calls     []string
	changed   chan struct{} // closed and replaced when updates or calls grow
}

var _ acp.Client = (*Editor)(nil)

// NewEditor starts an editor for an agent that writes to r and reads from w. closer is closed with the connection.
func NewEditor(ctx context.Context, r io.Reader, w io.Writer, closer io.Closer, opts EditorOptions) *Editor {
	if opts.Capabilities == nil {
		opts.Capabilities = AllCapabilities()
	}
	if opts.Info == nil {
		opts.Info = &acp.Implementation{Name: "acptest", Version: "1"}
	}
	if opts.Liar != nil {
		r, w = opts.Liar.Wrap(r, w)
	}
	e := &Editor{
		opts: opts, children: proc.NewGroup(nil), changed: make(chan struct{}),
		buffers: make(map[string]string), terminals: make(map[acp.TerminalID]*terminal),
		released: make(map[acp.TerminalID]*terminal),
	}
	e.Conn = acp.NewClientConn(ctx, r, w, &acp.ConnOptions{Closer: closer, Trace: opts.Trace}, func(*acp.ClientConn) acp.Client { return e })
	return e
}

// Close ends the connection and every terminal.
func (e *Editor) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	return errors.Join(e.Conn.Close(), e.children.Close(ctx))
}

// Initialize calls initialize.
func (e *Editor) Initialize(ctx context.Context) (*acp.InitializeResponse, error) {
	return acp.MethodInitialize.Call(ctx, e.Conn, &acp.InitializeRequest{
		ProtocolVersion: 1, ClientCapabilities: *e.opts.Capabilities, ClientInfo: e.opts.Info,
	})
}

// NewSession opens a session in cwd.
func (e *Editor) NewSession(ctx context.Context, cwd string) (*acp.NewSessionResponse, error) {
	return acp.MethodSessionNew.Call(ctx, e.Conn, &acp.NewSessionRequest{Cwd: cwd})
}

// Prompt sends text and waits for the end of the turn. When it returns, every update of the turn has been recorded.
func (e *Editor) Prompt(ctx context.Context, id acp.SessionID, text string) (*acp.PromptResponse, error) {
	return acp.MethodSessionPrompt.Call(ctx, e.Conn, &acp.PromptRequest{
		SessionID: id, Prompt: []acp.ContentBlock{&acp.TextContent{Text: text}},
	})
}

// Open sets the text of an unsaved buffer. The agent reads it instead of the disk.
func (e *Editor) Open(path, text string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.buffers[path] = text
}

// Buffer returns the text of a buffer that is open, or was written.
func (e *Editor) Buffer(path string) (string, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	text, ok := e.buffers[path]
	return text, ok
}

// Updates returns the updates received so far for one session, or for all sessions if id is empty.
func (e *Editor) Updates(id acp.SessionID) []acp.SessionUpdate {
	e.mu.Lock()
	defer e.mu.Unlock()
	var updates []acp.SessionUpdate
	for _, n := range e.updates {
		if id == "" || n.SessionID == id {
			updates = append(updates, n.Update)
		}
	}
	return updates
}

// Calls returns the methods that the agent has called so far, without the updates.
func (e *Editor) Calls() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.calls)
}

// OpenTerminals returns how many terminals have not been released.
func (e *Editor) OpenTerminals() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.terminals)
}

// Text returns the agent's messages in a session, without its thoughts.
func (e *Editor) Text(id acp.SessionID) string {
	var s strings.Builder
	for _, u := range e.Updates(id) {
		if c, ok := u.(*acp.AgentMessageChunk); ok {
			if t, ok := c.Content.(*acp.TextContent); ok {
				s.WriteString(t.Text)
			}
		}
	}
	return s.String()
}

// note records a call of the agent.
func (e *Editor) note(method string, params any) error {
	e.mu.Lock()
	e.calls = append(e.calls, method)
	e.wakeLocked()
	e.mu.Unlock()
	if e.opts.Requested != nil {
		return e.opts.Requested(method, params)
	}
	return nil
}

func (e *Editor) wakeLocked() {
	close(e.changed)
	e.changed = make(chan struct{})
}

// SessionUpdate implements [acp.Client].
func (e *Editor) SessionUpdate(_ context.Context, p *acp.SessionNotification) error {
	e.mu.Lock()
	e.updates = append(e.updates, *p)
	e.wakeLocked()
	e.mu.Unlock()
	if e.opts.Updated != nil {
		e.opts.Updated(p)
	}
	return nil
}

// ReadTextFile implements [acp.Client]. It reads an open buffer or the disk.
func (e *Editor) ReadTextFile(_ context.Context, p *acp.ReadTextFileRequest) (*acp.ReadTextFileResponse, error) {
	if err := e.note(acp.MethodFSReadTextFile.Name, p); err != nil {
		return nil, err
	}
	if !filepath.IsAbs(p.Path) {
		return nil, &acp.Error{Code: acp.ErrorCodeInvalidParams, Message: "path must be absolute"}
	}
	e.mu.Lock()
	text, open := e.buffers[p.Path]
	e.mu.Unlock()
	if !open {
		data, err := os.ReadFile(e.disk(p.Path))
		if err != nil {
			return nil, &acp.Error{Code: acp.ErrorCodeResourceNotFound, Message: err.Error()}
		}
		text = string(data)
	}
	return &acp.ReadTextFileResponse{Content: lines(text, p.Line, p.Limit)}, nil
}

// disk returns where a file of the editor's machine is.
func (e *Editor) disk(path string) string {
	if e.opts.Root == "" || path == "" {
		return path
	}
	return filepath.Join(e.opts.Root, path)
}

func lines[N ~int | ~int64](text string, from, limit *N) string {
	if from == nil && limit == nil {
		return text
	}
	all := strings.SplitAfter(text, "\n")
	begin := 0
	if from != nil {
		begin = min(max(int(*from)-1, 0), len(all))
	}
	end := len(all)
	if limit != nil {
		end = min(begin+int(*limit), len(all))
	}
	return strings.Join(all[begin:end], "")
}

// WriteTextFile implements [acp.Client]. It writes to the disk, and to the buffer if one is open.
func (e *Editor) WriteTextFile(_ context.Context, p *acp.WriteTextFileRequest) (*acp.WriteTextFileResponse, error) {
	if err := e.note(acp.MethodFSWriteTextFile.Name, p); err != nil {
		return nil, err
	}
	e.mu.Lock()
	if _, open := e.buffers[p.Path]; open {
		e.buffers[p.Path] = p.Content
	}
	e.mu.Unlock()
	if err := os.WriteFile(e.disk(p.Path), []byte(p.Content), 0o666); err != nil {
		return nil, err
	}
	return nil, nil
}

// RequestPermission implements [acp.Client].
func (e *Editor) RequestPermission(ctx context.Context, p *acp.RequestPermissionRequest) (*acp.RequestPermissionResponse, error) {
	if err := e.note(acp.MethodSessionRequestPermission.Name, p); err != nil {
		return nil, err
	}
	if e.opts.Permission != nil {
		return e.opts.Permission(ctx, p)
	}
	return Choose("allow_once"), nil
}

// Choose returns the answer that selects one option.
func Choose(id acp.PermissionOptionID) *acp.RequestPermissionResponse {
	return &acp.RequestPermissionResponse{Outcome: &acp.SelectedPermissionOutcome{OptionID: id}}
}

func unsupported(method string) error {
	return &acp.Error{Code: acp.ErrorCodeMethodNotFound, Message: fmt.Sprintf("method not found: %s", method)}
}

// AuthStatusUpdate implements [acp.Client].
func (e *Editor) AuthStatusUpdate(_ context.Context, p *acp.AuthStatusUpdateNotification) error {
	return e.note(acp.MethodAuthStatusUpdate.Name, p)
}
