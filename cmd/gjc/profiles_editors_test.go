package main

import (
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/acp/acptest"
)

// editorProfile describes an editor: what it advertises to an agent, and which messages it does not tolerate. The facts are from the
// editors' documentation, sources and issue trackers; the editors themselves are not run. docs/editors.md lists the assumptions.
type editorProfile struct {
	Name string
	Info *acp.Implementation
	// Capabilities are those that the editor advertises. Nothing else may be used.
	Capabilities *acp.ClientCapabilities
	// Timeout bounds how long the editor waits for the response to anything except a prompt. Zero is no bound.
	Timeout time.Duration
	// Resumes reports whether the editor reopens a session with session/resume if the agent supports it.
	Resumes bool
	// Sandbox reports whether the editor refuses files and terminals outside the directory of their session.
	Sandbox bool

	// What it does not tolerate: a message that its decoder does not know, an update of a turn outside of turns, and a question
	// while another one is open.
	closedDecoder, needsTurns, oneQuestion bool
}

// editorProfiles returns the known editors. Each call creates new profiles.
func editorProfiles() []editorProfile {
	files := acp.FileSystemCapabilities{ReadTextFile: true, WriteTextFile: true}
	zed := func() *acp.ClientCapabilities {
		return &acp.ClientCapabilities{
			FS: files, Terminal: true,
			Auth:        acp.AuthCapabilities{Terminal: true},
			Session:     &acp.ClientSessionCapabilities{ConfigOptions: &acp.SessionConfigOptionsCapabilities{Boolean: &acp.BooleanConfigOptionCapabilities{}}},
			Elicitation: &acp.ElicitationCapabilities{Form: &acp.ElicitationFormCapabilities{}, URL: &acp.ElicitationURLCapabilities{}},
			Meta:        acp.Meta{"terminal_output": []byte("true"), "terminal-auth": []byte("true")},
		}
	}
	beta := zed()
	beta.Session.Compaction, beta.Session.Notices = &acp.CompactionCapabilities{}, &acp.NoticeCapabilities{}
	return []editorProfile{
		{Name: "zed", Info: &acp.Implementation{Name: "zed", Version: "1.18.0"}, Capabilities: zed()},
		{Name: "zed-beta", Info: &acp.Implementation{Name: "zed", Version: "1.18.0"}, Capabilities: beta},
		{
			Name: "jetbrains", Info: &acp.Implementation{Name: "JetBrains", Version: "2026.1"},
			Capabilities: &acp.ClientCapabilities{FS: files}, closedDecoder: true,
		},
		{
			Name: "codecompanion", Info: &acp.Implementation{Name: "CodeCompanion.nvim", Version: "1.0.0"},
			Capabilities: &acp.ClientCapabilities{FS: files}, Timeout: 20 * time.Second, oneQuestion: true,
		},
		{
			Name: "agent-shell", Info: &acp.Implementation{Name: "agent-shell", Version: "0.1.0"},
			Capabilities: &acp.ClientCapabilities{FS: files}, needsTurns: true,
		},
		{
			Name: "acpx", Info: &acp.Implementation{Name: "acpx", Version: "0.19.1"},
			Capabilities: &acp.ClientCapabilities{FS: files, Terminal: true}, Resumes: true, Sandbox: true,
		},
		{Name: "minimal", Capabilities: &acp.ClientCapabilities{}},
	}
}

// Editor returns opts with the name, the capabilities and the restrictions of this editor. fault is called for each line that the
// editor does not tolerate, possibly from two goroutines.
func (p *editorProfile) Editor(opts acptest.EditorOptions, fault func(err error, line []byte)) acptest.EditorOptions {
	w := p.watch()
	opts.Capabilities = p.Capabilities
	opts.Info = p.Info
	if opts.Info == nil {
		opts.Info = &acp.Implementation{Name: p.Name, Version: "1"}
	}
	trace := opts.Trace
	opts.Trace = func(sent bool, line []byte) {
		if trace != nil {
			trace(sent, line)
		}
		if err := w.Line(sent, line); err != nil {
			fault(err, line)
		}
	}
	if requested := opts.Requested; p.Sandbox {
		opts.Requested = func(method string, params any) error {
			if err := w.sandboxed(params); err != nil {
				return err
			}
			if requested != nil {
				return requested(method, params)
			}
			return nil
		}
	}
	return opts
}

// editorWatch checks every line between an editor and an agent, and reports the agent's lines that the editor does not tolerate.
// [editorProfile.watch] makes one for each connection.
type editorWatch struct {
	profile *editorProfile

	mu sync.Mutex // guards the fields below
	// asked has the editor's open requests by the text of their IDs.
	asked map[string]openRequest
	// questions has the IDs of the agent's open questions.
	questions map[string]bool
	sessions  map[acp.SessionID]*watchedSession
}

// openRequest is a request of the editor.
type openRequest struct {
	method  string
	session acp.SessionID
	cwd     string
}

// watchedSession is a session that the editor knows.
type watchedSession struct {
	cwd string
	// turns counts the prompts and loads without a response.
	turns int
}

// watch returns a new watch for a connection of this editor.
func (p *editorProfile) watch() *editorWatch {
	return &editorWatch{profile: p, asked: make(map[string]openRequest), questions: make(map[string]bool), sessions: make(map[acp.SessionID]*watchedSession)}
}

// sandboxed refuses paths outside the session's directory.
func (w *editorWatch) sandboxed(params any) error {
	var id acp.SessionID
	var path string
	switch p := params.(type) {
	case *acp.ReadTextFileRequest:
		id, path = p.SessionID, p.Path
	case *acp.WriteTextFileRequest:
		id, path = p.SessionID, p.Path
	case *acp.CreateTerminalRequest:
		if p.Cwd == "" {
			return nil
		}
		id, path = p.SessionID, p.Cwd
	default:
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.sessions[id]
	if s == nil {
		return &acp.Error{Code: acp.ErrorCodeInvalidParams, Message: "there is no session " + string(id)}
	}
	if rel, err := filepath.Rel(s.cwd, path); err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return &acp.Error{Code: acp.ErrorCodeInternalError, Message: "the path is outside of the session's directory: " + path}
	}
	return nil
}
