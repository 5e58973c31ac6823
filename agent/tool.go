package agent

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/agent/discovery"
	"github.com/gajae-code/gjc/agent/goal"
	"github.com/gajae-code/gjc/agent/roster"
	"github.com/gajae-code/gjc/internal/boundary"
	"github.com/gajae-code/gjc/internal/bug"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/internal/text"
	"github.com/gajae-code/gjc/providers"
)

// ToolKind classifies a tool for display, in ACP's terms.
type ToolKind string

// The kinds.
const (
	KindRead       ToolKind = "read"
	KindEdit       ToolKind = "edit"
	KindDelete     ToolKind = "delete"
	KindMove       ToolKind = "move"
	KindSearch     ToolKind = "search"
	KindExecute    ToolKind = "execute"
	KindThink      ToolKind = "think"
	KindFetch      ToolKind = "fetch"
	KindSwitchMode ToolKind = "switch_mode"
	KindOther      ToolKind = "other"
)

// A Tool is a function that a model can call. It is safe for concurrent use and belongs to no session: the [Call] holds everything
// that it works on.
type Tool interface {
	// Spec describes the tool. It returns the same value every time.
	Spec() *ToolSpec
	// Plan inspects a call's input before it runs. It returns what to show, and the call's effects for the approval
	// policy. An error is a result for the model (bad input); nothing runs then.
	Plan(ctx context.Context, call *Call) (*CallPlan, error)
	// Run does the work. An error is a failed result that the model sees; its text must help the model.
	Run(ctx context.Context, call *Call) (*Result, error)
}

// ToolSpec describes a tool.
type ToolSpec struct {
	Name string
	// Description is for the model.
	Description string
	Kind        ToolKind
	// Schema is the JSON Schema of the input.
	Schema jsonx.Raw
	// Origin is where a foreign tool comes from; the zero value for gjc's own.
	Origin discovery.Origin
	// Exclusive tools run alone in their session. The other tools of one model answer run concurrently.
	Exclusive bool
	// Available reports whether a session with these values can offer the tool. Nil means always.
	Available func(*Values) bool
	// Program is a program that the tool needs. A session on a machine without it does not offer the tool. Empty for
	// none.
	Program string
	// Uses declares what calls of the tool do in addition to the effects of their plans. What is in neither is refused.
	Uses approval.Uses
	// For reports whether a model is offered the tool, if several tools of one name exist for different models. Nil means all
	// models.
	For func(*providers.ModelInfo) bool
}

// Call is one call of a tool, with everything that the tool may use.
type Call struct {
	ID    string
	Name  string
	Input jsonx.Raw
	// Decoded is Input in the tool's own input type. [NewTool] sets it before Plan and Run.
	Decoded any
	// Prepared is passed from Plan to Run, if a call's effects are known only after some work. Run must check that it is still
	// valid, because the user may have taken a while to answer.
	Prepared any

	Environment
	// Values holds the values that the session's calls share.
	Values *Values
	Offer
	// Trace is the trace of the prompt; nil for none.
	Trace Trace
	// Elicitor asks the user; nil if the user cannot be asked.
	Elicitor Elicitor
	// Consent asks the user's permission for something that becomes known only while the call runs. Other effects belong to the
	// call's plan. It is nil if the user cannot be asked.
	Consent func(context.Context, Consent) (Decision, error)
	// Widen asks the user whether the call's command may do what the boundary has refused, and run again. If it reports true, the
	// call's permit covers that from then on. Nil if the user cannot be asked.
	Widen func(ctx context.Context, refused []boundary.Refusal) (bool, error)
	// Update reports progress while the call runs. It does not wait for the user.
	Update func(Progress)
	Planning
	// Readable reports whether a file may be read without a question, judging by the user's rules and the file's name, not by its
	// directory. It is for files below a directory that no effect names individually. Nil means no limits.
	Readable func(path string) bool
	// Document returns the rule, skill or report at an address; see [IsDocument]. The error lists what exists.
	Document func(ctx context.Context, address string) ([]byte, error)
	// Conversation returns the conversation of the helper with a name. The error lists the session's helpers.
	Conversation func(ctx context.Context, name string) (*roster.Conversation, error)
	// Child reports that the call belongs to a child session. Its user does not see its messages; its parent receives its last
	// answer. If a call of a child ends the turn, its [Result.Say] is a question to the parent.
	Child bool
	Delegation
}

// Delegation lets a call start child sessions. Its fields are zero if the session starts none.
type Delegation struct {
	// Task runs a child session to its end.
	Task func(ctx context.Context, task Task) (TaskResult, error)
	// Helpers returns the kinds of child sessions for Task.
	Helpers func(ctx context.Context) []Helper
	// Merge merges the changes that a child has left in its worktree, as a call of [MergeTool] in the same turn. It returns a text for the
	// model, and whether they are merged.
	Merge func(ctx context.Context, name string) (about string, merged bool)
	// Check is the command line with which the user judges attempts; empty for none.
	Check string
}

// Planning lets a call change the session's plan and its goal.
type Planning struct {
	// SetPlan replaces the session's plan.
	SetPlan func([]PlanEntry)
	// PlanMode ends plan mode. It is nil for calls of other tools than [PresentTool], and outside of plan mode.
	PlanMode *PlanMode
	// EndGoal changes the status of the session's goal to complete or blocked. It returns an error if no goal is active.
	EndGoal func(status goal.Status, reason string) error
}

// Offer describes the model that made a call, and what it was offered.
type Offer struct {
	Model providers.ModelInfo
	// Tools are the names of the tools in the request.
	Tools []string
	// Search finds tools that are held back, and adds at most limit of them to the next requests. It fails for a query without a
	// word. Nil if none are held back.
	Search func(query string, limit int) (Discovered, error)
}

// Artifacts stores complete outputs of a session.
type Artifacts interface {
	// Put stores data and returns the URL ("artifact://3") that the read tool resolves.
	Put(ctx context.Context, tool string, data []byte) (url string, err error)
	// Get returns what Put stored.
	Get(ctx context.Context, url string) ([]byte, error)
}

// LocalScheme is the start of the address of a file in a [Local].
const LocalScheme = "local://"

// Local is a directory of a session and its helpers, outside of the workspace: what is in it needs no permission. Addresses are like
// "local://notes/plan.md". It is safe for concurrent use.
type Local interface {
	// Read returns the content of a file. The error for a file that does not exist wraps [fs.ErrNotExist].
	Read(ctx context.Context, address string) ([]byte, error)
	// Write replaces the content of a file, or creates the file.
	Write(ctx context.Context, address string, data []byte) error
	// List returns the sizes of the files, by their names, such as "notes/plan.md".
	List(ctx context.Context) (map[string]int64, error)
}

// Workspace is the set of directories in which a session works.
type Workspace struct {
	// Cwd is absolute and clean. It is the first root and the base of relative paths.
	Cwd string
	// Additional are further roots, absolute and clean.
	Additional []string
	// Real are the roots with all symbolic links resolved as of the start of the session: a root that is a link, and is changed
	// later, does not take the session's permissions along. [New] sets it.
	Real []string

	temp *temporary // nil if commands have no directory for temporary files; [New] sets it
}

// resolve sets Real.
func (w *Workspace) resolve(files FS) {
	if w.Real == nil && files != nil {
		w.Real = []string{files.RealPath(w.Cwd)}
		for _, root := range w.Additional {
			w.Real = append(w.Real, files.RealPath(root))
		}
	}
}

// CallPlan describes the effects of a call before it runs.
type CallPlan struct {
	// Title describes the call in a few words. If empty, the tool's name is used.
	Title string
	// Kind classifies this call if it differs from the tool's usual kind. If empty, the tool's kind is used.
	Kind      ToolKind
	Locations []Location
	// Content is shown with the call before it runs: a command line, a diff preview.
	Content []Content
	// Effects are judged by the approval policy. What a call does and that is neither here nor in [ToolSpec.Uses] is refused.
	Effects []approval.Effect
	// Complete, if set, fills in Effects, Content and Locations if that takes time, for example because it asks a
	// server. The call is already announced, so Complete may ask for consent. An error is a result for the model.
	Complete func(ctx context.Context) error
	// AskLater says that Complete reads the files of Effects only to work out a change. The user is asked about them with the change, or
	// before the model sees an error of Complete; only a file with secrets asks before it is read.
	AskLater bool
}

// Progress is a report from a running call. Zero fields leave the state unchanged.
type Progress struct {
	// Content replaces what is shown.
	Content []Content
	// Text is output to append to what was shown before. Raw is the same output for a terminal, with escape sequences; if empty,
	// Text is used.
	Text, Raw string
	// TerminalID embeds an editor's terminal.
	TerminalID string
	// Locations replace those of the call, so that the editor can follow.
	Locations []Location
}

// Result is the result of a call.
type Result struct {
	// Text is for the model, already within its size limits.
	Text string
	// Images go to the model with the text.
	Images []providers.Image
	// Content is for the editor. If nil, Text is shown.
	Content   []Content
	Locations []Location
	// Raw is structured output for the editor (rawOutput); any JSON value, small.
	Raw any
	// IsError marks a failure that still carries Content.
	IsError bool
	// Say is shown to the user after the call, because editors may fold tool calls.
	Say string
	// EndTurn ends the turn after the calls of this answer, and waits for the user.
	EndTurn bool
}

// Content is one block that an editor shows: [TextContent], [ImageContent], [DiffContent], [TerminalContent]
// or [LinkContent].
type Content interface{ isContent() }

// TextContent is text, as Markdown.
type TextContent struct{ Text string }

// ImageContent is a picture.
type ImageContent struct{ Image providers.Image }

// DiffContent is a change to one file.
type DiffContent struct {
	// Path is absolute.
	Path string
	// Old is the text before; nil for a new file only. Tools set whole texts. For a large file, events contain the changed part
	// with some lines around it.
	Old *string
	New string
	// Skipped is the number of lines of the file before Old and New. Tools leave it zero.
	Skipped int
}

// TerminalContent shows an editor's terminal.
type TerminalContent struct{ TerminalID string }

// LinkContent is a link to a resource.
type LinkContent struct{ URI, Name string }

func (TextContent) isContent()     {}
func (ImageContent) isContent()    {}
func (DiffContent) isContent()     {}
func (TerminalContent) isContent() {}
func (LinkContent) isContent()     {}

// Location is a position in a file that a call works on.
type Location struct {
	// Path is absolute.
	Path string
	// Line is 1-based; zero for the whole file.
	Line int
}

// PlanEntry is one step of the model's plan. Phase names the part of the work that it belongs to; empty for none.
type PlanEntry struct {
	Content  string
	Phase    string
	Priority PlanPriority
	Status   PlanStatus
}

// Text returns the step for a list without headings: the phase, if there is one, precedes the content.
func (e *PlanEntry) Text() string {
	if e.Phase == "" {
		return e.Content
	}
	return e.Phase + ": " + e.Content
}

// open reports whether the step is still to be done.
func (e *PlanEntry) open() bool { return e.Status != PlanCompleted && e.Status != PlanAbandoned }

// PlanPriority is the importance of a step.
type PlanPriority string

// The priorities.
const (
	PriorityHigh   PlanPriority = "high"
	PriorityMedium PlanPriority = "medium"
	PriorityLow    PlanPriority = "low"
)

// PlanStatus is the progress of a step.
type PlanStatus string

// The statuses.
const (
	PlanPending    PlanStatus = "pending"
	PlanInProgress PlanStatus = "in_progress"
	PlanCompleted  PlanStatus = "completed"
	PlanAbandoned  PlanStatus = "abandoned"
)

// Toolbox holds the tools of a session. They may change between two model requests, for example when MCP servers come
// and go. It is safe for concurrent use.
type Toolbox interface {
	// AwaitLoading waits until the tools that are loading are available or have failed, or until ctx ends.
	AwaitLoading(ctx context.Context)
	// Tools returns the current tools. As long as they are the same, so is their order: providers cache the beginning of a request.
	Tools() []Tool
}

// Tools is a [Toolbox] that never changes.
type Tools []Tool

// AwaitLoading implements [Toolbox].
func (t Tools) AwaitLoading(ctx context.Context) {}

// Tools implements [Toolbox].
func (t Tools) Tools() []Tool { return t }

// maxToolsWait bounds how long the first model request of a turn waits for tools that are still loading.
const maxToolsWait = 2 * time.Second

// offered returns the tools that the session can offer: those whose requirements it meets and that suit the model and,
// in a child, the mode.
func (s *Session) offered(model *providers.ModelInfo, mode approval.Mode) []Tool {
	return slices.DeleteFunc(slices.Clone(s.opts.Tools.Tools()), func(t Tool) bool {
		spec := t.Spec()
		return withheld(s, spec, mode) || spec.Available != nil && !spec.Available(s.opts.Values) || spec.For != nil && !spec.For(model) ||
			spec.Program != "" && !s.programs.there(spec.Program, s.opts.Programs)
	})
}

// seenPrograms caches which programs exist. A session checks each one once, so that its tools stay the same: providers cache the
// beginning of a request.
type seenPrograms struct {
	mu   sync.Mutex // guards the fields below
	seen map[string]bool
}

func (p *seenPrograms) there(name string, programs Programs) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	is, known := p.seen[name]
	if !known {
		if programs != nil {
			_, err := programs.LookPath(name)
			is = err == nil
		}
		if p.seen == nil {
			p.seen = make(map[string]bool)
		}
		p.seen[name] = is
	}
	return is
}

// find returns the tool of that name, or nil.
func find(tools []Tool, name string) Tool {
	for _, tool := range tools {
		if tool.Spec().Name == name {
			return tool
		}
	}
	return nil
}

func names(tools []Tool) []string {
	all := make([]string, 0, len(tools))
	for _, tool := range tools {
		all = append(all, tool.Spec().Name)
	}
	return all
}

// ToolFuncs is a tool whose input decodes into In, a struct with json and jsonschema tags. Members without
// omitempty or omitzero are required.
type ToolFuncs[In any] struct {
	Name        string
	Description string
	Kind        ToolKind
	Exclusive   bool
	Available   func(*Values) bool
	Program     string
	Uses        approval.Uses
	For         func(*providers.ModelInfo) bool
	// Schemas contains the schema of In as [Derive] would return it, in the file schemas/NAME.json with the name of the Go type:
	// deriving it delays the first answer of a session. If there is no such file, the schema is derived. "go test ./agent/tools
	// -run TestSchemas -update" writes the files.
	Schemas embed.FS
	// Plan is as in [Tool]; nil for a call without effects and a plain title.
	Plan func(ctx context.Context, call *Call, in *In) (*CallPlan, error)
	// Run is as in [Tool]. Required.
	Run func(ctx context.Context, call *Call, in *In) (*Result, error)
}

// NewTool returns a tool made of typed functions. Its schema is read or derived on first use.
func NewTool[In any](f ToolFuncs[In]) Tool {
	required := sync.OnceValue(func() []string { return requiredMembers(reflect.TypeFor[In]()) })
	return &typedTool[In]{funcs: f, required: required, spec: sync.OnceValue(func() *ToolSpec {
		raw, err := f.Schemas.ReadFile("schemas/" + reflect.TypeFor[In]().Name() + ".json")
		if err != nil {
			if raw, err = derive[In](); err != nil {
				bug.Reportf("the schema of tool %s: %v", f.Name, err)
			}
		}
		return &ToolSpec{
			Name: f.Name, Description: f.Description, Kind: f.Kind, Schema: raw,
			Exclusive: f.Exclusive, Available: f.Available, Program: f.Program, Uses: f.Uses, For: f.For,
		}
	})}
}

// Derive derives the schema of a tool's input from its Go type. It reports false for a tool that [NewTool] did not create.
func Derive(t Tool) (input reflect.Type, schema jsonx.Raw, ok bool, err error) {
	d, ok := t.(interface {
		derive() (reflect.Type, jsonx.Raw, error)
	})
	if !ok {
		return nil, nil, false, nil
	}
	input, schema, err = d.derive()
	return input, schema, true, err
}

func (t *typedTool[In]) derive() (reflect.Type, jsonx.Raw, error) {
	raw, err := derive[In]()
	return reflect.TypeFor[In](), raw, err
}

func derive[In any]() (jsonx.Raw, error) {
	schema, err := jsonschema.For[In](nil)
	if err != nil {
		return nil, err
	}
	dropNull(schema)
	return jsonx.Marshal(schema)
}

// dropNull removes "null" from a schema's types. It represents Go's nil, which is irrelevant to models, and some providers accept
// only one type.
func dropNull(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	if len(s.Types) == 2 && s.Types[0] == "null" {
		s.Type, s.Types = s.Types[1], nil
	}
	for _, p := range s.Properties {
		dropNull(p)
	}
	dropNull(s.Items)
	dropNull(s.AdditionalProperties)
}

type typedTool[In any] struct {
	funcs    ToolFuncs[In]
	spec     func() *ToolSpec
	required func() []string // the names of the members that every input must have
}

func (t *typedTool[In]) Spec() *ToolSpec { return t.spec() }

func (t *typedTool[In]) Plan(ctx context.Context, call *Call) (*CallPlan, error) {
	in, err := t.decode(call)
	if err != nil {
		return nil, bounded(err)
	}
	if t.funcs.Plan == nil {
		return new(CallPlan), nil
	}
	plan, err := t.funcs.Plan(ctx, call, in)
	return plan, bounded(err)
}

func (t *typedTool[In]) Run(ctx context.Context, call *Call) (*Result, error) {
	in, err := t.decode(call)
	if err != nil {
		return nil, bounded(err)
	}
	res, err := t.funcs.Run(ctx, call, in)
	return res, bounded(err)
}

// maxErrorText is the maximum length of a tool's error, in bytes: it may quote an input of megabytes.
const maxErrorText = 32 << 10

// boundedError is an error with a truncated text.
type boundedError struct {
	error
	text string
}

func (e *boundedError) Error() string { return e.text }
func (e *boundedError) Unwrap() error { return e.error }

func bounded(err error) error {
	if err == nil {
		return nil
	}
	message := err.Error()
	if len(message) <= maxErrorText {
		return err
	}
	return &boundedError{err, text.Middle(message, maxErrorText)}
}

// ErrBadInput is wrapped by every error about a tool call's input.
var ErrBadInput = errors.New("invalid tool input")

func (t *typedTool[In]) decode(call *Call) (*In, error) {
	if in, ok := call.Decoded.(*In); ok {
		return in, nil
	}
	in := new(In)
	raw := call.Input
	if len(raw) == 0 {
		raw = jsonx.Raw("{}")
	}
	if err := jsonx.Unmarshal(raw, in, jsonx.Strict()); err != nil {
		return nil, fmt.Errorf("%w for %s: %w (it takes %s)", ErrBadInput, t.funcs.Name, err, memberNames(reflect.TypeFor[In]()))
	}
	var absent []string
	for _, name := range t.required() {
		if !hasMember(raw, name) {
			absent = append(absent, name)
		}
	}
	if len(absent) > 0 {
		return nil, fmt.Errorf("%w for %s: %s missing (it takes %s)", ErrBadInput, t.funcs.Name,
			strings.Join(absent, ", "), memberNames(reflect.TypeFor[In]()))
	}
	call.Decoded = in
	return in, nil
}

func hasMember(raw jsonx.Raw, name string) bool {
	found := false
	err := jsonx.ReadObject(raw, func(n []byte, v jsonx.Raw) error {
		found = found || string(n) == name && !jsonx.IsNull(v)
		return nil
	})
	return err == nil && found
}

// memberNames returns the names of the JSON members of t, including those of embedded structs.
func memberNames(t reflect.Type) string {
	var names []string
	for _, f := range reflect.VisibleFields(t) {
		if !f.Anonymous {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}

// requiredMembers returns the names of the JSON members of t that cannot be omitted.
func requiredMembers(t reflect.Type) []string {
	var names []string
	for _, f := range reflect.VisibleFields(t) {
		if name, options, _ := strings.Cut(f.Tag.Get("json"), ","); !f.Anonymous && !strings.Contains(options, "omit") {
			names = append(names, name)
		}
	}
	return names
}
