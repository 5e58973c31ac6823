package hooks

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/gajae-code/gjc/internal/configfile"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/internal/text"
)

// claudeFiles are the files of Claude Code with hooks, in a workspace; the first is also in the home directory. Their form is described at
// https://code.claude.com/docs/en/hooks.
var claudeFiles = [...]string{".claude/settings.json", ".claude/settings.local.json"}

// claudeHook holds the part of a hook of Claude Code that others do not have.
type claudeHook struct {
	// event is Claude Code's name of the event, and matcher selects tools, or reasons for events without a tool; nil for all.
	event   string
	matcher *regexp.Regexp
}

// claudeEvent returns the event of gjc for one of Claude Code.
func claudeEvent(name string) (Event, bool) {
	switch name {
	case "PreToolUse":
		return ToolCall, true
	case "PostToolUse", "PostToolUseFailure":
		return ToolResult, true
	case "PermissionRequest":
		return Permission, true
	case "UserPromptSubmit":
		return Prompt, true
	case "Stop":
		return TurnEnd, true
	case "SubagentStart":
		return SubagentStart, true
	case "SubagentStop":
		return SubagentEnd, true
	case "PreCompact":
		return BeforeCompact, true
	case "PostCompact":
		return AfterCompact, true
	case "SessionStart":
		return SessionStart, true
	case "SessionEnd":
		return SessionEnd, true
	}
	return "", false
}

// readClaude parses the hooks of a settings file of Claude Code. It skips what gjc does not have, and reports it.
func (s *Set) readClaude(f *configfile.File, dir, plugin string) (hooks []*Hook) {
	defer func() { s.Problems = append(s.Problems, f.Problems...) }()
	if f.Data == nil {
		return nil
	}
	top := f.Parse("settings")
	if top == nil || top.Kind != configfile.Object {
		return nil
	}
	if top.Member("disableAllHooks").True() {
		return nil
	}
	list := top.Member("hooks")
	if list == nil {
		return nil
	}
	if list.Kind != configfile.Object {
		f.Problem(list.Line, "hooks must be an object with a list for each event; they are not used")
		return nil
	}
	for _, m := range list.Members {
		event, ok := claudeEvent(m.Name)
		if !ok {
			f.Problem(m.Line, "gjc has no event %s; its hooks are not used", configfile.Quote(m.Name))
			continue
		}
		for _, group := range m.Value.List {
			c := &claudeHook{event: m.Name}
			if pattern := group.TextOf("matcher"); pattern != "" && pattern != "*" {
				re, err := regexp.Compile("^(?:" + pattern + ")$")
				if err != nil {
					f.Problem(group.Line, "the matcher is no regular expression; its hooks are not used")
					continue
				}
				c.matcher = re
			}
			hooks = append(hooks, s.claudeGroup(f, c, event, group.Member("hooks"), dir, plugin)...)
		}
	}
	if len(hooks) > maxHooks {
		f.Problem(list.Line, "more than %d hooks; the rest are ignored", maxHooks)
		hooks = hooks[:maxHooks]
	}
	return hooks
}

// claudeGroup reads the hooks of one matcher.
func (s *Set) claudeGroup(f *configfile.File, c *claudeHook, event Event, list *configfile.Node, dir, plugin string) (hooks []*Hook) {
	if list == nil {
		return nil
	}
	for i, item := range list.List {
		if kind := item.TextOf("type"); kind != "command" && kind != "" {
			f.Problem(item.Line, "hooks of the type %s are not supported; the hook is ignored", configfile.Quote(kind))
			continue
		}
		line := item.TextOf("command")
		if strings.TrimSpace(line) == "" || strings.ContainsRune(line, 0) {
			f.Problem(item.Line, "the hook has no command; it is ignored")
			continue
		}
		h := &Hook{
			Name: c.event + "#" + strconv.Itoa(i+1), Events: []Event{event}, Timeout: defaultTimeout, At: f.At(item.Line), Dir: dir, claude: c,
			Command: []string{"sh", "-c", "export CLAUDE_PROJECT_DIR=" + text.ShellQuote(dir) + " CLAUDE_PLUGIN_ROOT=" + text.ShellQuote(plugin) + "\n" + line},
		}
		if n := item.Member("timeout"); n != nil {
			seconds, err := strconv.ParseFloat(n.Text, 64)
			if n.Kind != configfile.Number || err != nil || !(seconds > 0) {
				f.Problem(n.Line, "timeout must be a number of seconds; the hook is ignored")
				continue
			}
			h.Timeout = time.Duration(min(seconds, maxTimeout.Seconds()) * float64(time.Second))
		}
		hooks = append(hooks, h)
	}
	return hooks
}

// shown returns the command line for people.
func (h *Hook) shown() string {
	if h.claude == nil {
		return shownCommand(h.Command)
	}
	_, line, _ := strings.Cut(h.Command[2], "\n")
	return line
}

// matches reports whether the hook runs for a tool of gjc.
func (c *claudeHook) matches(ev Event, tool string) bool {
	if c.matcher == nil || tool == "" {
		return true
	}
	switch ev {
	case ToolCall, ToolResult, Permission:
		return c.matcher.MatchString(claudeTool(tool)) || c.matcher.MatchString(tool)
	default:
		return true
	}
}

// claudeTool returns Claude Code's name of a tool.
func claudeTool(name string) string {
	switch name {
	case "bash":
		return "Bash"
	case "read":
		return "Read"
	case "write":
		return "Write"
	case "edit":
		return "Edit"
	case "search":
		return "Grep"
	case "find":
		return "Glob"
	case "web_fetch":
		return "WebFetch"
	case "web_search":
		return "WebSearch"
	case "task":
		return "Task"
	case "todo_write":
		return "TodoWrite"
	case "notebook":
		return "NotebookEdit"
	}
	return name
}

// claudeInput holds the data that the programs of Claude Code's hooks read.
type claudeInput struct {
	SessionID      string    `json:"session_id"`
	TranscriptPath string    `json:"transcript_path"`
	Cwd            string    `json:"cwd"`
	PermissionMode string    `json:"permission_mode,omitzero"`
	Event          string    `json:"hook_event_name"`
	ToolName       string    `json:"tool_name,omitzero"`
	ToolUseID      string    `json:"tool_use_id,omitzero"`
	ToolInput      jsonx.Raw `json:"tool_input,omitzero"`
	ToolResponse   jsonx.Raw `json:"tool_response,omitzero"`
	Error          string    `json:"error,omitzero"`
	Prompt         string    `json:"prompt,omitzero"`
	Source         string    `json:"source,omitzero"`
	Reason         string    `json:"reason,omitzero"`
	Trigger        string    `json:"trigger,omitzero"`
	StopHookActive bool      `json:"stop_hook_active"`
	AgentType      string    `json:"agent_type,omitzero"`
	Message        string    `json:"message,omitzero"`
}

// input returns what the program reads, in Claude Code's form.
func (c *claudeHook) input(in *Input) ([]byte, error) {
	out := claudeInput{SessionID: in.SessionID, Cwd: in.Cwd, Event: c.event, Prompt: in.Prompt, Message: in.Question}
	switch in.Mode {
	case "plan":
		out.PermissionMode = "plan"
	case "auto", "accept-edits", "edits":
		out.PermissionMode = "acceptEdits"
	default:
		out.PermissionMode = "default"
	}
	if t := in.Tool; t != nil {
		out.ToolName, out.ToolUseID, out.ToolInput = claudeTool(t.Name), t.CallID, renamed(t.Input, "path", "file_path")
	}
	if r := in.Result; r != nil {
		if out.Error = r.Text; !r.IsError {
			out.Error = ""
		}
		raw, err := jsonx.Marshal(map[string]any{"stdout": r.Text, "content": r.Text, "is_error": r.IsError})
		if err != nil {
			return nil, err
		}
		out.ToolResponse = raw
	}
	switch in.Event {
	case SessionStart:
		switch in.Reason {
		case "open", "fork":
			out.Source = "resume"
		case "clear":
			out.Source = "clear"
		default:
			out.Source = "startup"
		}
	case SessionEnd:
		out.Reason = "other"
	case BeforeCompact, AfterCompact:
		if out.Trigger = "auto"; in.Reason == "manual" || in.Reason == "command" || in.Reason == "user" {
			out.Trigger = "manual"
		}
	case TurnEnd:
		out.StopHookActive = in.Attempt > 0
	case SubagentStart, SubagentEnd:
		if in.Subagent != nil {
			out.AgentType = in.Subagent.Name
		}
	default:
	}
	return jsonx.Marshal(out)
}

// renamed returns an object with a member of another name.
func renamed(raw jsonx.Raw, from, to string) jsonx.Raw {
	var members map[string]jsonx.Raw
	if jsonx.Unmarshal(raw, &members) != nil {
		return raw
	}
	value, ok := members[from]
	if _, taken := members[to]; !ok || taken {
		return raw
	}
	delete(members, from)
	members[to] = value
	out, err := jsonx.Marshal(members)
	if err != nil {
		return raw
	}
	return out
}

// claudeAnswer holds the output of these programs.
type claudeAnswer struct {
	Continue      *bool  `json:"continue"`
	StopReason    string `json:"stopReason"`
	SystemMessage string `json:"systemMessage"`
	Decision      string `json:"decision"`
	Reason        string `json:"reason"`
	Specific      struct {
		PermissionDecision       string    `json:"permissionDecision"`
		PermissionDecisionReason string    `json:"permissionDecisionReason"`
		UpdatedInput             jsonx.Raw `json:"updatedInput"`
		AdditionalContext        string    `json:"additionalContext"`
		Decision                 struct {
			Behavior string `json:"behavior"`
			Message  string `json:"message"`
		} `json:"decision"`
	} `json:"hookSpecificOutput"`
}

// answer parses the output and the exit code: 0 for success, 2 for a rejection with stderr as the reason, anything else for an error that
// stops nothing. A hook can only reject: "allow" and "approve" have no effect, and "ask" neither, since gjc asks by its own rules.
func (c *claudeHook) answer(ev Event, stdout []byte, code int, stderr string) (Answer, error) {
	if limit := limitOf(ev); len(stdout) > limit {
		return Answer{}, fmt.Errorf("its output exceeds %d KiB", limit>>10)
	}
	switch code {
	case 0:
	case blockCode:
		if ev == ToolResult { // the call has run; the model receives the reason
			return Answer{Context: words(stderr)}, nil
		}
		a := Answer{Block: true, Reason: words(stderr)}
		return a, nil
	default:
		return Answer{}, fmt.Errorf("it ended with exit code %d%s", code, detail(stderr))
	}
	said := strings.TrimSpace(strings.TrimPrefix(strings.ToValidUTF8(string(stdout), "\ufffd"), "\ufeff"))
	if !strings.HasPrefix(said, "{") {
		if ev == Prompt || ev == SessionStart {
			return Answer{Context: words(said)}, nil
		}
		return Answer{}, nil // for a transcript, which gjc does not have
	}
	var out claudeAnswer
	if err := jsonx.Unmarshal([]byte(said), &out); err != nil {
		return Answer{}, errors.New("its output is not a valid answer: " + text.OneLine(err.Error()))
	}
	a := Answer{Context: out.Specific.AdditionalContext, Notice: out.SystemMessage, Input: renamed(out.Specific.UpdatedInput, "file_path", "path")}
	switch {
	case out.Continue != nil && !*out.Continue:
		a.Block, a.Reason = ev != TurnEnd, out.StopReason
	case out.Specific.PermissionDecision == "deny":
		a.Block, a.Reason = true, out.Specific.PermissionDecisionReason
	case out.Specific.Decision.Behavior == "deny":
		a.Block, a.Reason = true, out.Specific.Decision.Message
	case out.Decision == "block" && ev == ToolResult:
		a.Context = strings.TrimSpace(a.Context + "\n" + out.Reason)
	case out.Decision == "block":
		a.Block, a.Reason = true, out.Reason
	}
	a.tidy()
	return a, nil
}

// claudePlaces reads the settings files of Claude Code below a directory.
func claudePlaces(dir string, names []string, seen map[string]bool) []*configfile.File {
	var all []*configfile.File
	for _, name := range names {
		place := configfile.Place{Dir: dir, Project: true}
		all = append(all, configfile.ReadPlace(place, []string{filepath.FromSlash(name)}, seen)...)
	}
	return all
}
