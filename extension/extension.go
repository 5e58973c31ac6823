// Package extension helps to write extensions of gjc in Go. An extension is a program that gjc starts for a session; it receives the
// session's events, and may offer tools and slash commands. docs/extensions.md describes the protocol.
//
//	func main() {
//		e := &extension.Extension{Name: "greeter", Commands: []extension.Command{{
//			Name: "hello", Description: "Say hello",
//			Run: func(ctx context.Context, args string) (extension.Reply, error) {
//				return extension.Reply{Text: "Hello " + args}, nil
//			},
//		}}}
//		if err := e.Serve(context.Background(), os.Stdin, os.Stdout); err != nil {
//			log.Fatal(err)
//		}
//	}
package extension

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
)

// Extension is a program that takes part in a session. Its functions may run at the same time.
type Extension struct {
	Name string
	// Start is called with what gjc sends first, before any other function. Optional.
	Start func(ctx context.Context, s *Session, start Start) error
	// Events has a function for each event to which the extension subscribes.
	Events   map[string]func(ctx context.Context, e Event) (Answer, error)
	Tools    []Tool
	Commands []Command
}

// Start holds what gjc sends first.
type Start struct {
	ProtocolVersion int      `json:"protocolVersion"`
	GJCVersion      string   `json:"gjcVersion"`
	SessionID       string   `json:"sessionId"`
	Cwd             string   `json:"cwd"`
	Roots           []string `json:"roots"`
	Capabilities    []string `json:"capabilities"`
	// State are the extension's entries on the current branch of the conversation, the oldest first.
	State []Entry `json:"state"`
}

// Entry is data that an extension keeps in the session's log.
type Entry struct {
	Type string          `json:"type"`
	Data json.RawMessage `json:"data"`
}

// Event is an event. Only the fields of its kind are set.
type Event struct {
	Event     string   `json:"event"`
	SessionID string   `json:"sessionId"`
	Cwd       string   `json:"cwd"`
	Roots     []string `json:"roots"`
	Mode      string   `json:"mode"`
	Prompt    string   `json:"prompt"`
	Reason    string   `json:"reason"`
	// From is the session that this one was copied from, at the start of a fork.
	From string `json:"from"`
	// Target is the entry that the conversation moves to, or the session that was copied from this one.
	Target string  `json:"target"`
	Tool   *Call   `json:"tool"`
	Result *Result `json:"result"`
	// All is the whole event as JSON.
	All json.RawMessage `json:"-"`
}

// Call is a call of a tool by the model.
type Call struct {
	ID    string          `json:"callId"`
	Name  string          `json:"name"`
	Kind  string          `json:"kind"`
	Input json.RawMessage `json:"input"`
	Paths []string        `json:"paths"`
}

// Result is the result of a call, as the model receives it.
type Result struct {
	Text    string `json:"text"`
	IsError bool   `json:"isError"`
}

// Answer is the answer to an event. The zero value is no opinion.
type Answer struct {
	Block    bool            `json:"block,omitempty"`
	Reason   string          `json:"reason,omitempty"`
	Context  string          `json:"context,omitempty"`
	Input    json.RawMessage `json:"input,omitempty"`
	Result   *Result         `json:"result,omitempty"`
	Messages json.RawMessage `json:"messages,omitempty"`
	Summary  string          `json:"summary,omitempty"`
	Notice   string          `json:"notice,omitempty"`
}

// Tool is a tool for the model.
type Tool struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	// InputSchema is a JSON Schema of an object. If empty, the tool has no parameters.
	InputSchema json.RawMessage `json:"inputSchema,omitempty"`
	// Parallel tools may run at the same time as others.
	Parallel bool `json:"parallel,omitempty"`
	// Effects names what calls do beyond running the extension. If nil, they may do anything.
	Effects *Effects                                                  `json:"effects,omitempty"`
	Run     func(ctx context.Context, c ToolCall) (ToolResult, error) `json:"-"`
}

// Effects names what calls of a [Tool] read, change and connect to, which the user's permissions decide about. In paths, which are relative
// to the session's working directory, {name} stands for a parameter. Network is true for any host, or a list of hosts.
type Effects struct {
	Read    []string `json:"read,omitempty"`
	Write   []string `json:"write,omitempty"`
	Network any      `json:"network,omitempty"`
}

// ToolCall is a call of a [Tool].
type ToolCall struct {
	ID    string          `json:"callId"`
	Name  string          `json:"name"`
	Input json.RawMessage `json:"input"`
	// Progress shows the user a line while the call runs.
	Progress func(text string) `json:"-"`
}

// ToolResult is the result of a call. Details are not for the model.
type ToolResult struct {
	Text    string `json:"text"`
	IsError bool   `json:"isError,omitempty"`
	Details any    `json:"details,omitempty"`
}

// Command is a slash command.
type Command struct {
	Name        string                                                `json:"name"`
	Description string                                                `json:"description"`
	Hint        string                                                `json:"hint,omitempty"`
	Run         func(ctx context.Context, args string) (Reply, error) `json:"-"`
}

// Reply is the result of a command: Text is shown to the user, Prompt is sent to the model.
type Reply struct {
	Text   string `json:"text,omitempty"`
	Prompt string `json:"prompt,omitempty"`
}

// Session is the session that an extension takes part in. It is safe for concurrent use.
type Session struct {
	mu      sync.Mutex // guards the fields below
	out     io.Writer
	next    int
	waiting map[string]chan message
	running map[string]context.CancelFunc
}

// message is a JSON-RPC message.
type message struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *rpcError       `json:"error,omitempty"`
}

type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

// ErrRefused is wrapped by the error for a request that gjc has refused.
var ErrRefused = errors.New("gjc refuses the request")

const (
	codeUnknownMethod = -32601
	codeFailed        = -32603
)

// Serve serves gjc until the session ends or in does.
func (e *Extension) Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	s := &Session{out: out, waiting: make(map[string]chan message), running: make(map[string]context.CancelFunc)}
	var handlers sync.WaitGroup
	defer handlers.Wait()
	defer cancel()
	r := bufio.NewReader(in)
	for {
		line, err := r.ReadBytes('\n')
		var m message
		if len(line) > 0 && json.Unmarshal(line, &m) == nil {
			switch {
			case m.Method == "":
				s.answered(m)
			case m.Method == "cancel":
				s.cancel(m.Params)
			case m.Method == "shutdown":
				return s.answer(m.ID, struct{}{}, nil)
			case len(m.ID) > 0:
				limited, end := context.WithCancel(ctx)
				s.mu.Lock()
				s.running[string(m.ID)] = end
				s.mu.Unlock()
				handlers.Go(func() {
					result, err := e.handle(limited, s, &m)
					s.mu.Lock()
					delete(s.running, string(m.ID))
					s.mu.Unlock()
					end()
					_ = s.answer(m.ID, result, err) // the end of in says that gjc has gone
				})
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// errUnknownMethod is the error for a method that the protocol does not have.
var errUnknownMethod = errors.New("unknown method")

func (e *Extension) handle(ctx context.Context, s *Session, m *message) (any, error) {
	switch m.Method {
	case "initialize":
		return e.initialize(ctx, s, m.Params)
	case "event":
		ev := Event{All: m.Params}
		if err := json.Unmarshal(m.Params, &ev); err != nil {
			return nil, err
		}
		if handle := e.Events[ev.Event]; handle != nil {
			return handle(ctx, ev)
		}
		return nil, nil
	case "tool/call":
		var call ToolCall
		if err := json.Unmarshal(m.Params, &call); err != nil {
			return nil, err
		}
		call.Progress = func(text string) {
			_ = s.send(message{Method: "tool/progress"}, map[string]string{"callId": call.ID, "text": text}) // only for show
		}
		for _, t := range e.Tools {
			if t.Name == call.Name {
				return t.Run(ctx, call)
			}
		}
		return nil, fmt.Errorf("there is no tool %q", call.Name)
	case "command/run":
		var run struct{ Name, Args string }
		if err := json.Unmarshal(m.Params, &run); err != nil {
			return nil, err
		}
		for _, c := range e.Commands {
			if c.Name == run.Name {
				return c.Run(ctx, run.Args)
			}
		}
		return nil, fmt.Errorf("there is no command %q", run.Name)
	default:
		return nil, fmt.Errorf("%w %q", errUnknownMethod, m.Method)
	}
}

func (e *Extension) initialize(ctx context.Context, s *Session, params json.RawMessage) (any, error) {
	var start Start
	if err := json.Unmarshal(params, &start); err != nil {
		return nil, err
	}
	if e.Start != nil {
		if err := e.Start(ctx, s, start); err != nil {
			return nil, err
		}
	}
	events := []string{}
	for name := range e.Events {
		events = append(events, name)
	}
	return map[string]any{"name": e.Name, "events": events, "tools": e.Tools, "commands": e.Commands}, nil
}

// Message gives the model a message. deliverAs is "steer", "followUp" or "nextTurn".
func (s *Session) Message(ctx context.Context, text, deliverAs string) error {
	return s.request(ctx, "session/message", map[string]string{"text": text, "deliverAs": deliverAs}, nil)
}

// Append adds an entry to the session's log. No model receives it.
func (s *Session) Append(ctx context.Context, kind string, data any) error {
	return s.request(ctx, "session/append", map[string]any{"type": kind, "data": data}, nil)
}

// State returns the extension's entries on the current branch of the conversation, the oldest first.
func (s *Session) State(ctx context.Context) ([]Entry, error) {
	var result struct{ Entries []Entry }
	err := s.request(ctx, "session/state", struct{}{}, &result)
	return result.Entries, err
}

// Notify shows the user a text. level is "info", "warning" or "error".
func (s *Session) Notify(text, level string) error {
	return s.send(message{Method: "ui/notify"}, map[string]string{"text": text, "level": level})
}

// request sends a request and waits for the answer.
func (s *Session) request(ctx context.Context, method string, params, result any) error {
	answer := make(chan message, 1)
	s.mu.Lock()
	s.next++
	id := json.RawMessage(fmt.Sprintf(`"e%d"`, s.next))
	s.waiting[string(id)] = answer
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.waiting, string(id))
	}()
	if err := s.send(message{ID: id, Method: method}, params); err != nil {
		return err
	}
	select {
	case m := <-answer:
		if m.Error != nil {
			return fmt.Errorf("%w: %s", ErrRefused, m.Error.Message)
		}
		if result == nil {
			return nil
		}
		return json.Unmarshal(m.Result, result)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (s *Session) answered(m message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if answer := s.waiting[string(m.ID)]; answer != nil {
		answer <- m
		delete(s.waiting, string(m.ID))
	}
}

func (s *Session) cancel(params json.RawMessage) {
	var p struct{ ID json.RawMessage }
	if json.Unmarshal(params, &p) != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if end := s.running[string(p.ID)]; end != nil {
		end()
	}
}

func (s *Session) answer(id json.RawMessage, result any, err error) error {
	if err != nil {
		code := codeFailed
		if errors.Is(err, errUnknownMethod) {
			code = codeUnknownMethod
		}
		return s.write(message{ID: id, Error: &rpcError{code, err.Error()}})
	}
	m := message{ID: id}
	if m.Result, err = json.Marshal(result); err != nil {
		return s.answer(id, nil, err)
	}
	return s.write(m)
}

func (s *Session) send(m message, params any) (err error) {
	if m.Params, err = json.Marshal(params); err != nil {
		return err
	}
	return s.write(m)
}

func (s *Session) write(m message) error {
	m.JSONRPC = "2.0"
	line, err := json.Marshal(m)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	_, err = s.out.Write(append(line, '\n'))
	return err
}
