// Package config reads and changes the user's files of settings: config.yml and mcp.json.
package config

import (
	"maps"
	"slices"
	"time"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/agent/commands"
	"github.com/gajae-code/gjc/agent/contextwindow"
	"github.com/gajae-code/gjc/agent/tools"
	"github.com/gajae-code/gjc/agent/tools/files"
	"github.com/gajae-code/gjc/agent/wake"
	"github.com/gajae-code/gjc/internal/boundary"
	"github.com/gajae-code/gjc/internal/configfile"
	"github.com/gajae-code/gjc/internal/webclient"
	"github.com/gajae-code/gjc/lsp"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/registry"
)

// Config holds the settings of config.yml: the file of the agent directory, then the project's, then those of --config.
// Later files override earlier ones. docs/configuration.md describes them. The user's file may contain settings of
// other programs.
type Config struct {
	// DiscoverMCP gives every session the servers of the agent directory's mcp.json and, where they are trusted, of the workspace's
	// files, in addition to the editor's.
	DiscoverMCP bool
	LSP         LSP
	Debug       Debug
	// Context holds the settings of compaction and the like. Its SummaryModels come from roles.
	Context agent.Settings
	Retry   Retry
	// Models holds the settings of models. Its Roles are "provider/id" with an optional ":level", "gjc/role", or part
	// of a name.
	Models registry.Settings
	// GenerateTitles lets a model name the sessions.
	GenerateTitles bool
	Network        Network
	Tools          tools.Settings
	Boundary       boundary.Settings
	// Permissions holds the permission rules of all files.
	Permissions approval.Rules
	// ShareCommand is the program with which /share publishes a page, and its arguments.
	ShareCommand []string
	// Checkpoints holds the section checkpoints.
	Checkpoints Checkpoints
	Worktree    Worktree
	// Secrets hides values of the environment and of secrets.yml from the models.
	Secrets bool
	// Skills selects the skills of sessions.
	Skills commands.SkillOptions
	// Turns bounds the turns that sessions begin by themselves.
	Turns wake.Settings

	reading
}

// Checkpoints holds the section checkpoints.
type Checkpoints struct {
	// Enabled records the state of the files, for /rewind. Secrets includes files that hold secrets.
	Enabled, Secrets bool
	// KeepDays and KeepMB bound what is kept of each directory.
	KeepDays, KeepMB int
}

// Worktree holds the section worktree.
type Worktree struct {
	// Link and Copy are patterns of ignored files and directories that a worktree has as a symbolic link or a copy.
	Link, Copy []string
	// Sessions gives each new session a worktree.
	Sessions bool
}

func (c *Checkpoints) settings() map[string]setting {
	return map[string]setting{
		"enabled":  about("record the state of the files before the agent can change them, for /rewind", boolean(&c.Enabled)),
		"secrets":  about("also record files that hold secrets, such as .env, where only you can read them; false: they are not restored", orStrict(boolean(&c.Secrets), &c.Secrets, false)),
		"keepDays": about("days that a recorded state is kept", number(&c.KeepDays, 1, 3650)),
		"keepMB":   about("megabytes that the states of one directory may take; the oldest are removed first", number(&c.KeepMB, 10, 1_000_000)),
	}
}

// turnSettings returns the settings of the section turns.
func (c *Config) turnSettings() map[string]setting {
	t := &c.Turns
	return map[string]setting{
		"auto":       about("what happens when a background job or a timer ends in an idle session; off: the model learns of it with your next prompt; notify: you learn of it at once; on: a turn begins", orStrict(oneOf(&t.Auto, wake.Autos()), &t.Auto, wake.Notify)),
		"maxPerHour": about("turns that may begin by themselves in an hour", orStrict(number(&t.MaxPerHour, 1, 1000), &t.MaxPerHour, 1)),
		"maxInARow":  about("turns that may begin by themselves without a prompt of yours in between", orStrict(number(&t.MaxInARow, 1, 1000), &t.MaxInARow, 1)),
		"maxCost":    about("US dollars that a session may spend after the answer to your last prompt before no more turns begin", orStrict(number(&t.MaxCost, 0.01, 10_000), &t.MaxCost, 0.01)),
		"clients":    about("names of clients that show turns without a prompt although they do not declare it", words(&t.Clients)),
	}
}

// Debug holds the section debug.
type Debug struct {
	// Enabled offers sessions a debugger.
	Enabled bool
}

// LSP holds the section lsp.
type LSP struct {
	// Enabled gives sessions language servers.
	Enabled bool
	// FormatOnWrite lets them format what the write tool writes.
	FormatOnWrite bool
	// DiagnosticsOnWrite and DiagnosticsOnEdit report their diagnostics for a changed file.
	DiagnosticsOnWrite, DiagnosticsOnEdit bool
	// Subagents gives them to helper agents too. Its setting is task.enableLsp.
	Subagents bool
}

// OnWrite returns what language servers do when a tool changes a file.
func (s *LSP) OnWrite() lsp.OnWrite {
	return lsp.OnWrite{Format: s.FormatOnWrite, DiagnoseWrites: s.DiagnosticsOnWrite, DiagnoseEdits: s.DiagnosticsOnEdit}
}

// Retry holds the section retry.
type Retry struct {
	Enabled                 bool
	MaxRetries, BaseDelayMs int
}

// Policy returns the section as the policy for failed model calls.
func (s *Retry) Policy() providers.RetryPolicy {
	if !s.Enabled {
		return providers.RetryPolicy{Attempts: 1}
	}
	return providers.RetryPolicy{Attempts: s.MaxRetries + 1, Base: time.Duration(s.BaseDelayMs) * time.Millisecond}
}

// New returns the defaults.
func New() *Config {
	return &Config{
		LSP:   LSP{Enabled: true, DiagnosticsOnWrite: true, DiagnosticsOnEdit: true},
		Debug: Debug{Enabled: true}, Checkpoints: Checkpoints{Enabled: true, Secrets: true, KeepDays: 30, KeepMB: 4096}, Context: agent.DefaultSettings(),
		Retry:  Retry{Enabled: true, MaxRetries: 3, BaseDelayMs: 2000},
		Models: registry.Settings{Roles: make(map[string]string)}, GenerateTitles: true, DiscoverMCP: true, Turns: wake.DefaultSettings(),
		Network: newNetwork(), Boundary: boundary.Settings{Use: boundary.Auto},
		Tools: tools.Settings{
			Edit: files.EditSettings{Mode: files.EditAuto}, Web: webclient.Options{Timeout: webclient.DefaultTimeout},
			WebSearch: webclient.SearchOptions{Provider: webclient.SearchAuto, Keys: make(map[webclient.SearchProvider]string)},
		},
		reading: reading{Origins: make(map[string]Origin)},
	}
}

// section holds a section's settings by name. If open is set, the user chooses the names.
type section struct {
	settings map[string]setting
	open     bool
	// guards is set if every setting of the section protects something, so that a misspelled one matters.
	guards bool
}

// goalSettings returns the settings of the section goals.
func (c *Config) goalSettings() map[string]setting {
	set := &c.Context.Goals
	return map[string]setting{
		"maxReminders": about("how often, in one turn, a model that ends it before the goal is reached goes on; 0: never", number(&set.MaxReminders, 0, 20)),
		"tokenBudget":  about("tokens for a goal, without those read from a cache; 0: no limit", number(&set.TokenBudget, 0, mostTokens)),
	}
}

// sections returns the settings by section and name.
func (c *Config) sections() map[string]section {
	compaction, branch := &c.Context.Compaction, &c.Context.BranchSummary
	all := map[string]map[string]setting{
		"mcp": {"discover": about("also give every session the servers of mcp.json and of the workspace's trusted files", orStrict(boolean(&c.DiscoverMCP), &c.DiscoverMCP, false))},
		"lsp": {
			"enabled":            about("use language servers", boolean(&c.LSP.Enabled)),
			"formatOnWrite":      about("format the text that the write tool writes", boolean(&c.LSP.FormatOnWrite)),
			"diagnosticsOnWrite": about("report problems after each write", boolean(&c.LSP.DiagnosticsOnWrite)),
			"diagnosticsOnEdit":  about("report problems after each edit", boolean(&c.LSP.DiagnosticsOnEdit)),
		},
		"debug":       {"enabled": about("offer the debugger", boolean(&c.Debug.Enabled))},
		"checkpoints": c.Checkpoints.settings(),
		"task":        c.taskSettings(),
		"todo": {
			"reminders":    about("let a model that ends its turn with open steps in its plan go on", boolean(&c.Context.Todo.Reminders)),
			"maxReminders": about("how often, in one turn", number(&c.Context.Todo.MaxReminders, 1, 10)),
		},
		"turns": c.turnSettings(),
		"goals": c.goalSettings(),
		"compaction": {
			"enabled":             about("shorten conversations; false: only /compact and /handoff do", boolean(&compaction.Enabled)),
			"strategy":            about("context-full: a summary replaces the older part; handoff: a document does; off: nothing", oneOf(&compaction.Strategy, contextwindow.Strategies())),
			"reserveTokens":       about("tokens of the window to keep free, at most half of it", number(&compaction.ReserveTokens, 0, mostTokens)),
			"keepRecentTokens":    about("tokens of the newest conversation that stay as they are", number(&compaction.KeepRecentTokens, 0, mostTokens)),
			"autoContinue":        about("let the model continue if its plan was not finished", boolean(&compaction.AutoContinue)),
			"remoteEnabled":       about("let remoteEndpoint write the summaries", orStrict(boolean(&compaction.RemoteEnabled), &compaction.RemoteEnabled, false)),
			"remoteEndpoint":      about(`gets POST {"systemPrompt", "prompt"} and answers {"summary"}`, orStrict(httpURL(&compaction.RemoteEndpoint), &compaction.RemoteEndpoint, "")),
			"thresholdPercent":    about("compact above this percentage of the window; -1: above 85 %", number(&compaction.ThresholdPercent, -1, 100)),
			"thresholdTokens":     about("compact above this number of tokens; -1: no limit", number(&compaction.ThresholdTokens, -1, mostTokens)),
			"idleEnabled":         about("compact while a session is idle; this costs money", boolean(&compaction.IdleEnabled)),
			"idleThresholdTokens": about("tokens from which an idle session is compacted", number(&compaction.IdleThresholdTokens, 1, mostTokens)),
			"idleTimeoutSeconds":  about("seconds until a session counts as idle", number(&compaction.IdleTimeoutSeconds, 1, 7*24*3600)),
			"handoffSaveToDisk":   about("keep the documents of strategy handoff as artifacts", boolean(&compaction.HandoffSaveToDisk)),
		},
		"branchSummary": {
			"enabled":       about("summarize the branch that the user leaves", boolean(&branch.Enabled)),
			"reserveTokens": about("tokens of the window to keep free for that", number(&branch.ReserveTokens, 0, mostTokens)),
		},
		"ttsr": {
			"enabled":     about("interrupt answers that match a rule's condition", boolean(&c.Context.Rules.Stream)),
			"contextMode": about("discard: drop the interrupted answer from the conversation", discarding(&c.Context.Rules.Discard)),
			"repeatMode":  about("after-gap: a rule can match again after repeatGap turns", oneOf(&c.Context.Rules.Repeat, agent.RepeatModes())),
			"repeatGap":   about("turns until a rule can match again", number(&c.Context.Rules.RepeatGap, 1, 10_000)),
		},
		"instructionFiles": {
			"maxBytes":     about("bytes of AGENTS.md and the like in a prompt, together; the files nearest to the working directory are kept", number(&c.Context.InstructionLimits.Total, 1<<10, 1<<20)),
			"maxFileBytes": about("bytes of one such file", number(&c.Context.InstructionLimits.File, 1<<10, 1<<20)),
		},
		"skills": {
			"customDirectories": about("additional directories with skills, at any depth", directories(&c.Skills.Dirs)),
			"ignoredSkills":     about("names of skills not to load; * is a wildcard", words(&c.Skills.Ignored)),
			"includeSkills":     about("if not empty, the only skills to load; * is a wildcard", words(&c.Skills.Included)),
		},
		"secrets": {"enabled": about("show models placeholders for keys of the environment and of secrets.yml", orStrict(boolean(&c.Secrets), &c.Secrets, true))},
		"share":   {"command": about("the program of /share and its arguments, as a list or one line; {file} stands for the page, which it also reads, and its last line is the link", argv(&c.ShareCommand))},
		"worktree": {
			"link":     about("ignored files and directories, such as node_modules, that a worktree has as links to those of the repository; a name matches at any depth, a path from its top, * any part of a name", words(&c.Worktree.Link)),
			"copy":     about("the same, as copies", words(&c.Worktree.Copy)),
			"sessions": about("let each new session of an editor work in a worktree", boolean(&c.Worktree.Sessions)),
		},
		"contextPromotion": {"enabled": about("switch to a larger model before compacting", boolean(&c.Context.ContextPromotion))},
		"retry": {
			"enabled":     about("repeat failed model calls that may succeed later", boolean(&c.Retry.Enabled)),
			"maxRetries":  about("how often to repeat", number(&c.Retry.MaxRetries, 0, 100)),
			"baseDelayMs": about("milliseconds before the first retry; each retry doubles them", number(&c.Retry.BaseDelayMs, 1, 600_000)),
		},
		"title":        {"generate": about("let a model name sessions; false: the first line of the first prompt does", boolean(&c.GenerateTitles))},
		"modelRoles":   c.roleSettings(),
		"modelProfile": {"default": about("the profile to use by default", name(&c.Models.Profile))},
		"network":      c.Network.settings(&c.Boundary),
		"permissions":  c.permissionSettings(),
	}
	maps.Copy(all, toolSettings(&c.Tools, &c.Context.Discovery, &c.Boundary))
	sections := make(map[string]section, len(all))
	for name, settings := range all {
		sections[name] = section{settings: settings, open: name == "modelRoles", guards: name == "network" || name == "permissions" || name == "secrets"}
	}
	return sections
}

// mostTokens exceeds the context window of any model.
const mostTokens = 100_000_000

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// projectSettings lists the settings that a project's config.yml may have. None lets the project's author do more than
// the user allows. The empty name stands for all settings of a section.
var projectSettings = map[string][]string{
	"modelRoles":   {""},
	"title":        {"generate"},
	"instructions": {""},
	"permissions":  {"ask", "deny"},
}

// allowed reports whether the file may have a section's setting. An empty name stands for the section itself, or for a
// setting outside of sections.
func (r *reader) allowed(section, name string) bool {
	if r.source.Kind != FromProject {
		return true
	}
	names, ok := projectSettings[section]
	return ok && (name == "" || slices.Contains(names, name) || slices.Contains(names, ""))
}

// refused records a setting that only the user may set.
func (r *reader) refused(line int, field string) {
	r.mistake(line, field, "can be set only in the user's config.yml; a project may set modelRoles, title.generate, instructions, permissions.ask and permissions.deny", nil)
}

// takeProject sets a setting of a project's file. The project can turn off what costs the user money, and cannot turn
// it on.
func (r *reader) takeProject(m *configfile.Member, field string, s setting) {
	if field == "title.generate" && m.Value.True() && !r.GenerateTitles {
		r.mistake(m.Line, field, "a project cannot turn on what the user has turned off", nil)
		return
	}
	r.take(m, field, s)
}

// taskSettings returns the section task.
func (c *Config) taskSettings() map[string]setting {
	tasks := &c.Context.Tasks
	each, total := &tasks.Each, &tasks.Total
	return map[string]setting{
		"enableLsp":         about("also give helper agents language servers", boolean(&c.LSP.Subagents)),
		"check":             about("the command line that judges attempts at a task; by default one is found by the files of the project", name(&tasks.Check)),
		"maxConcurrency":    about("number of helpers that work at the same time in a session", number(&tasks.MaxConcurrency, 1, 32)),
		"maxRecursionDepth": about("depth of helpers that start helpers; 1: helpers start none", number(&tasks.MaxDepth, 1, 5)),
		"maxRequests":       about("requests to models that one helper may make; 0: unlimited", number(&each.Requests, 0, 10_000)),
		"maxTokens":         about("tokens that one helper may use, without cached ones; 0: unlimited", number(&each.Tokens, 0, mostTokens)),
		"maxCost":           about("US dollars that one helper may cost; 0: unlimited", number(&each.Cost, 0, 10_000.0)),
		"maxSeconds":        about("time that one helper may work, in seconds; 0: unlimited", duration(&each.Time, 0, 7*24*3600)),
		"totalRequests":     about("requests to models that all helpers of a session may make; 0: unlimited", number(&total.Requests, 0, 100_000)),
		"totalTokens":       about("tokens that all helpers of a session may use, without cached ones; 0: unlimited", number(&total.Tokens, 0, mostTokens)),
		"totalCost":         about("US dollars that all helpers of a session may cost; 0: unlimited", number(&total.Cost, 0, 10_000.0)),
		"totalSeconds":      about("time during which helpers of a session may work, in seconds; 0: unlimited", duration(&total.Time, 0, 7*24*3600)),
		"disabledAgents":    about("names of helpers that must not be started", words(&tasks.Disabled)),
	}
}
