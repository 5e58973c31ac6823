package agent

import (
	"cmp"
	"context"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/internal/text"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/sessions"
)

// unquoted returns the input within a JSON string: some models and programs encode their arguments that way. It returns
// other input unchanged.
func unquoted(input jsonx.Raw) jsonx.Raw {
	var text string
	if input.Kind() != '"' || jsonx.Unmarshal(input, &text) != nil {
		return input
	}
	if within := jsonx.Raw(text); (within.Kind() == '{' || within.Kind() == '[') && jsonx.Valid(within) {
		return within
	}
	return input
}

// describe reconstructs the display of a call from its input alone, as for files of another program.
func (r *replay) describe(started *ToolStarted, c providers.ToolCall) {
	tool := find(r.Tools, c.Name)
	started.Kind = foreignKind(c.Name)
	if tool != nil {
		started.Kind = tool.Spec().Kind
	}
	input, err := validInput(c)
	if err != nil {
		return
	}
	plan := r.planOf(tool, c, input)
	if plan == nil {
		args := readForeignArgs(input)
		if subject := args.subject(); subject != "" {
			started.Title = cutTitle(c.Name + ": " + strings.Join(strings.Fields(subject), " "))
		}
		started.Locations = args.locations(&r.Workspace)
		if started.Kind == KindExecute && args.Command != "" {
			started.Content = []Content{TextContent{text.Middle("$ "+args.Command, maxShown)}}
		}
		return
	}
	started.Kind = cmp.Or(plan.Kind, started.Kind)
	started.Content, started.Locations = boundContent(plan.Content), plan.Locations
	if plan.Title != "" {
		started.Title = cutTitle(plan.Title)
	}
}

// planOf returns a tool's plan for a past call; nil for none.
func (r *replay) planOf(tool Tool, c providers.ToolCall, input jsonx.Raw) (plan *CallPlan) {
	if tool == nil {
		return nil
	}
	// The input comes from another program and may make the tool panic. The result is only for display.
	defer func() {
		if recover() != nil {
			plan = nil
		}
	}()
	plan, err := tool.Plan(r.ctx, &Call{
		ID:          c.ID,
		Name:        c.Name,
		Input:       input,
		Environment: Environment{Workspace: r.Workspace, FS: pastFiles{}},
		Update:      func(Progress) {},
		Planning:    Planning{SetPlan: func([]PlanEntry) {}},
	})
	if err != nil {
		return nil
	}
	return plan
}

// describeEnd reconstructs the display of the call's end. A call without a result was interrupted.
func (r *replay) describeEnd(ended *ToolEnded, started *ToolStarted, result *providers.Message) {
	ended.Content, ended.Locations = slices.Clone(started.Content), started.Locations
	if result == nil {
		ended.Content = append(ended.Content, TextContent{"The call was interrupted."})
		return
	}
	files := readForeignDetails(result.Details)
	if !result.IsError {
		ended.Content = append(ended.Content, files.diffs(&r.Workspace)...)
	}
	if places := files.locations(&r.Workspace); places != nil {
		ended.Locations = places
	}
	if text := result.Text(); text != "" {
		ended.Content = append(ended.Content, TextContent{text})
	}
	for _, p := range result.Parts {
		if img, ok := p.(providers.Image); ok {
			ended.Content = append(ended.Content, ImageContent{img})
		}
	}
	ended.Content = boundContent(ended.Content)
}

// foreignKind returns the kind of a tool that gjc does not have, from the names that other programs use.
func foreignKind(name string) ToolKind {
	switch name {
	case "read":
		return KindRead
	case "write", "edit":
		return KindEdit
	case "delete":
		return KindDelete
	case "move":
		return KindMove
	case "bash", "shell", "exec", "eval", "python":
		return KindExecute
	case "search", "find", "grep", "glob", "ast_grep":
		return KindSearch
	case "web_search", "fetch":
		return KindFetch
	case planTool:
		return KindThink
	default:
		return KindOther
	}
}

// foreignArgs lists the most descriptive arguments of a call, for any tool.
type foreignArgs struct{ Path, OldPath, NewPath, Command, Pattern, Query string }

func readForeignArgs(input jsonx.Raw) foreignArgs {
	text := func(name string) string {
		var s string
		if raw := jsonx.Lookup(input, name); raw.Kind() != '"' || jsonx.Unmarshal(raw, &s) != nil {
			return ""
		}
		return s
	}
	return foreignArgs{text("path"), text("oldPath"), text("newPath"), text("command"), text("pattern"), text("query")}
}

func (a *foreignArgs) subject() string { return cmp.Or(a.Path, a.Command, a.Pattern, a.Query) }

func (a *foreignArgs) locations(ws *Workspace) []Location {
	return locationsOf(ws, a.Path, a.OldPath, a.NewPath)
}

// maxPlaces is the maximum number of reconstructed locations of a call.
const maxPlaces = 100

func locationsOf(ws *Workspace, paths ...string) []Location {
	var places []Location
	for _, path := range paths {
		if path == "" || len(places) == maxPlaces {
			continue
		}
		l := Location{Path: ws.Resolve(path)}
		if filepath.IsAbs(l.Path) && !slices.Contains(places, l) {
			places = append(places, l)
		}
	}
	return places
}

// foreignDetails is the record that other programs keep of the files changed by a call.
type foreignDetails []foreignFile

type foreignFile struct {
	Path string  `json:"path"`
	Old  *string `json:"oldText"`
	New  *string `json:"newText"`
}

func readForeignDetails(raw jsonx.Raw) foreignDetails {
	var one foreignFile
	if raw.Kind() != '{' || jsonx.Unmarshal(raw, &one) != nil {
		return nil
	}
	var more struct {
		Files []foreignFile `json:"perFileResults"`
	}
	_ = jsonx.Unmarshal(raw, &more) // without more files there is at most one
	return slices.DeleteFunc(append(more.Files, one), func(f foreignFile) bool { return f.Path == "" })
}

func (d foreignDetails) diffs(ws *Workspace) []Content {
	var content []Content
	for _, f := range d {
		if f.Old == nil && f.New == nil {
			continue
		}
		diff := DiffContent{Path: ws.Resolve(f.Path), Old: f.Old}
		if f.New != nil {
			diff.New = *f.New
		}
		content = append(content, diff)
	}
	return content
}

func (d foreignDetails) locations(ws *Workspace) []Location {
	paths := make([]string, 0, len(d))
	for _, f := range d {
		paths = append(paths, f.Path)
	}
	return locationsOf(ws, paths...)
}

// planOfPhases reads a plan whose steps are grouped into phases: that of another program, or of an edit by the user.
func planOfPhases(raw jsonx.Raw) ([]PlanEntry, bool) {
	var in struct {
		Phases []struct {
			Name  string `json:"name"`
			Tasks []struct {
				Content  string `json:"content"`
				Status   string `json:"status"`
				Priority string `json:"priority"`
			} `json:"tasks"`
		} `json:"phases"`
	}
	if raw.Kind() != '{' || jsonx.Unmarshal(raw, &in) != nil || in.Phases == nil {
		return nil, false
	}
	entries := []PlanEntry{}
	for _, phase := range in.Phases {
		for _, t := range phase.Tasks {
			e := PlanEntry{Content: t.Content, Phase: text.OneLine(phase.Name), Status: PlanPending, Priority: PriorityMedium}
			switch t.Status {
			case "completed", "in_progress", "abandoned":
				e.Status = PlanStatus(t.Status)
			}
			switch t.Priority {
			case "high", "low":
				e.Priority = PlanPriority(t.Priority)
			}
			entries = append(entries, e)
		}
	}
	return entries, true
}

// pastFiles is the workspace of a past call. It has no files, because the current files do not show what the call saw, and an
// editor need not answer a request before its session/load is answered.
type pastFiles struct{}

func (pastFiles) ReadFile(context.Context, string) ([]byte, error) { return nil, fs.ErrPermission }

func (pastFiles) WriteFile(context.Context, string, []byte) error { return fs.ErrPermission }

func (pastFiles) Remove(context.Context, string) error { return fs.ErrPermission }

func (pastFiles) Rename(context.Context, string, string) error { return fs.ErrPermission }

func (pastFiles) Stat(context.Context, string) (fs.FileInfo, error) { return nil, fs.ErrPermission }

func (pastFiles) ReadDir(context.Context, string) ([]fs.DirEntry, error) {
	return nil, fs.ErrPermission
}

func (pastFiles) RealPath(path string) string { return path }

// liveCall replays a call that was live when the replay began, up to its current state.
func (r *replay) liveCall(c providers.ToolCall) bool {
	s := r.session
	var now *liveCall
	var result *providers.Message
	release, err := s.hold(func(st *state) {
		if st.turn != nil {
			if live := st.turn.live(c.ID); live != nil {
				now = new(*live)
				return
			}
		}
		branch, err := s.opts.Log.Branch()
		if err != nil {
			return // the call has been replayed as interrupted
		}
		for _, e := range branch {
			if m, ok := e.(sessions.MessageEntry); ok && m.Message.Role == providers.RoleTool && m.Message.ToolCallID == c.ID {
				result = &m.Message
			}
		}
	})
	if err == nil {
		defer release()
	}
	if now == nil {
		return r.call(c, result)
	}
	r.shownCalls[c.ID] = true
	switch {
	case now.started == nil:
		return true // its announcement follows
	case !r.yield(*now.started):
		return false
	default:
		return now.progress == nil || r.yield(*now.progress)
	}
}

// plan emits the plan that a call has set; result is nil for a live call.
func (r *replay) plan(c providers.ToolCall, failed bool, result *providers.Message) bool {
	if c.Name != planTool || failed {
		return true
	}
	entries, ok := planFromInput(c.Input)
	if !ok && result != nil {
		entries, ok = planOfPhases(result.Details)
	}
	return !ok || r.yield(PlanChanged{Entries: entries})
}

// pastCall is a past call as it is shown: its start, its end, and what the agent has said with it.
type pastCall struct {
	started ToolStarted
	ended   ToolEnded
	say     string
}

// past describes a past call. One without a result was interrupted.
func (r *replay) past(c providers.ToolCall, result *providers.Message) pastCall {
	r.shownCalls[c.ID] = true
	c.Input = unquoted(c.Input)
	started := ToolStarted{CallID: c.ID, Name: c.Name, Title: c.Name, Kind: KindOther, Input: shownInput(c.Input)}
	ended := ToolEnded{CallID: c.ID, Failed: true}
	if result != nil {
		ended.Failed = result.IsError
		if d, known := decodeDetails(result.Details, result.Text()); known {
			started.Title, started.Kind, started.Content, started.Locations = d.Title, d.Kind, d.Start, d.StartLocations
			ended.Content, ended.Locations, ended.Raw = append(d.Content, d.nestedContent()...), d.Locations, d.Raw
			return pastCall{started, ended, d.Say}
		}
	}
	r.describe(&started, c)
	r.describeEnd(&ended, &started, result)
	return pastCall{started: started, ended: ended}
}

// call emits a call and its end.
func (r *replay) call(c providers.ToolCall, result *providers.Message) bool {
	shown := r.past(c, result)
	return r.yield(shown.started) && r.ended(c, result, &shown)
}

// ended emits the end of a call.
func (r *replay) ended(c providers.ToolCall, result *providers.Message, shown *pastCall) bool {
	c.Input = unquoted(c.Input)
	if !r.plan(c, shown.ended.Failed, result) || !r.yield(shown.ended) {
		return false
	}
	return shown.say == "" || r.yield(MessageDelta{MessageID: c.ID + saidSuffix, Speaker: SpeakerAgent, Text: shown.say})
}
