package main

import (
	"maps"
	"slices"
	"time"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/agent/contextwindow"
	"github.com/gajae-code/gjc/agent/tools"
	"github.com/gajae-code/gjc/agent/tools/files"
	"github.com/gajae-code/gjc/internal/boundary"
	"github.com/gajae-code/gjc/internal/configfile"
	"github.com/gajae-code/gjc/internal/webclient"
	"github.com/gajae-code/gjc/lsp"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/registry"
)

// config holds the settings of config.yml: the file of the agent directory, then the project's, then those of --config.
// Later files override earlier ones. docs/configuration.md describes them. The user's file may contain settings of
// other programs.
type config struct {
	// discoverMCP gives every session the servers of the agent directory's mcp.json, in addition to the editor's.
	discoverMCP bool
	lsp         lspSettings
	debug       debugSettings
	// context holds the settings of compaction and the like. Its SummaryModels come from roles.
	context agent.Settings
	retry   retrySettings
	// models holds the settings of models. Its Roles are "provider/id" with an optional ":level", "gjc/role", or part
	// of a name.
	models registry.Settings
	// generateTitles lets a model name the sessions.
	generateTitles bool
	network        networkSettings
	tools          tools.Settings
	boundary       boundary.Settings
	// permissions holds the permission rules of all files.
	permissions approval.Rules
	// secrets hides values of the environment and of secrets.yml from the models.
	secrets bool

	configReading
}

// debugSettings holds the section debug.
type debugSettings struct {
	// enabled offers sessions a debugger.
	enabled bool
}

// lspSettings holds the section lsp.
type lspSettings struct {
	// enabled gives sessions language servers.
	enabled bool
	// formatOnWrite lets them format what the write tool writes.
	formatOnWrite bool
	// diagnosticsOnWrite and diagnosticsOnEdit report their diagnostics for a changed file.
	diagnosticsOnWrite, diagnosticsOnEdit bool
	// subagents gives them to helper agents too. Its setting is task.enableLsp.
	subagents bool
}

// onWrite returns what language servers do when a tool changes a file.
func (s *lspSettings) onWrite() lsp.OnWrite {
	return lsp.OnWrite{Format: s.formatOnWrite, DiagnoseWrites: s.diagnosticsOnWrite, DiagnoseEdits: s.diagnosticsOnEdit}
}

// retrySettings holds the section retry.
type retrySettings struct {
	enabled                 bool
	maxRetries, baseDelayMs int
}

// policy returns the section as the policy for failed model calls.
func (s *retrySettings) policy() providers.RetryPolicy {
	if !s.enabled {
		return providers.RetryPolicy{Attempts: 1}
	}
	return providers.RetryPolicy{Attempts: s.maxRetries + 1, Base: time.Duration(s.baseDelayMs) * time.Millisecond}
}

// newConfig returns the defaults.
func newConfig() *config {
	return &config{
		lsp:   lspSettings{enabled: true, diagnosticsOnWrite: true, diagnosticsOnEdit: true},
		debug: debugSettings{enabled: true}, context: agent.DefaultSettings(),
		retry:  retrySettings{enabled: true, maxRetries: 3, baseDelayMs: 2000},
		models: registry.Settings{Roles: make(map[string]string)}, generateTitles: true,
		network: newNetworkSettings(), boundary: boundary.Settings{Use: boundary.Auto},
		tools: tools.Settings{
			Edit: files.EditSettings{Mode: files.EditAuto}, Web: webclient.Options{Timeout: webclient.DefaultTimeout},
			WebSearch: webclient.SearchOptions{Provider: webclient.SearchAuto, Keys: make(map[webclient.SearchProvider]string)},
		},
		configReading: configReading{origins: make(map[string]origin)},
	}
}

// section holds a section's settings by name. If open is set, the user chooses the names.
type section struct {
	settings map[string]setting
	open     bool
	// guards is set if every setting of the section protects something, so that a misspelled one matters.
	guards bool
}

// sections returns the settings by section and name.
func (c *config) sections() map[string]section {
	compaction, branch := &c.context.Compaction, &c.context.BranchSummary
	all := map[string]map[string]setting{
		"mcp": {"discover": orStrict(boolean(&c.discoverMCP), &c.discoverMCP, false)}, // also give every session the servers of mcp.json
		"lsp": {
			"enabled":            boolean(&c.lsp.enabled),            // use language servers
			"formatOnWrite":      boolean(&c.lsp.formatOnWrite),      // format the text that the write tool writes
			"diagnosticsOnWrite": boolean(&c.lsp.diagnosticsOnWrite), // report problems after each write
			"diagnosticsOnEdit":  boolean(&c.lsp.diagnosticsOnEdit),  // report problems after each edit
		},
		"debug": {"enabled": boolean(&c.debug.enabled)}, // offer the debugger
		"task":  c.taskSettings(),
		"compaction": {
			"enabled":             boolean(&compaction.Enabled),                                                   // shorten conversations; false: only /compact and /handoff do
			"strategy":            oneOf(&compaction.Strategy, contextwindow.Strategies()),                        // context-full: a summary replaces the older part; handoff: a document does; off: nothing
			"reserveTokens":       number(&compaction.ReserveTokens, 0, mostTokens),                               // tokens of the window to keep free, at most half of it
			"keepRecentTokens":    number(&compaction.KeepRecentTokens, 0, mostTokens),                            // tokens of the newest conversation that stay as they are
			"autoContinue":        boolean(&compaction.AutoContinue),                                              // let the model continue if its plan was not finished
			"remoteEnabled":       orStrict(boolean(&compaction.RemoteEnabled), &compaction.RemoteEnabled, false), // let remoteEndpoint write the summaries
			"remoteEndpoint":      orStrict(httpURL(&compaction.RemoteEndpoint), &compaction.RemoteEndpoint, ""),  // gets POST {"systemPrompt", "prompt"} and answers {"summary"}
			"thresholdPercent":    number(&compaction.ThresholdPercent, -1, 100),                                  // compact above this percentage of the window; -1: above 85 %
			"thresholdTokens":     number(&compaction.ThresholdTokens, -1, mostTokens),                            // compact above this number of tokens; -1: no limit
			"idleEnabled":         boolean(&compaction.IdleEnabled),                                               // compact while a session is idle; this costs money
			"idleThresholdTokens": number(&compaction.IdleThresholdTokens, 1, mostTokens),                         // tokens from which an idle session is compacted
			"idleTimeoutSeconds":  number(&compaction.IdleTimeoutSeconds, 1, 7*24*3600),                           // seconds until a session counts as idle
			"handoffSaveToDisk":   boolean(&compaction.HandoffSaveToDisk),                                         // keep the documents of strategy handoff as artifacts
		},
		"branchSummary": {
			"enabled":       boolean(&branch.Enabled),                     // summarize the branch that the user leaves
			"reserveTokens": number(&branch.ReserveTokens, 0, mostTokens), // tokens of the window to keep free for that
		},
		"ttsr": {
			"enabled":     boolean(&c.context.Rules.Stream),                    // interrupt answers that match a rule's condition
			"contextMode": discarding(&c.context.Rules.Discard),                // discard: drop the interrupted answer from the conversation
			"repeatMode":  oneOf(&c.context.Rules.Repeat, agent.RepeatModes()), // after-gap: a rule can match again after repeatGap turns
			"repeatGap":   number(&c.context.Rules.RepeatGap, 1, 10_000),       // turns until a rule can match again
		},
		"secrets":          {"enabled": orStrict(boolean(&c.secrets), &c.secrets, true)}, // show models placeholders for keys of the environment and of secrets.yml
		"contextPromotion": {"enabled": boolean(&c.context.ContextPromotion)},            // switch to a larger model before compacting
		"retry": {
			"enabled":     boolean(&c.retry.enabled),                // repeat failed model calls that may succeed later
			"maxRetries":  number(&c.retry.maxRetries, 0, 100),      // how often to repeat
			"baseDelayMs": number(&c.retry.baseDelayMs, 1, 600_000), // milliseconds before the first retry; each retry doubles them
		},
		"title":        {"generate": boolean(&c.generateTitles)}, // let a model name sessions; false: the first line of the first prompt does
		"modelRoles":   c.roleSettings(),                         // the model of a role, as provider/id or provider/id:level
		"modelProfile": {"default": name(&c.models.Profile)},     // the profile to use by default
		"network":      c.network.settings(&c.boundary),
		"permissions":  c.permissionSettings(),
	}
	maps.Copy(all, toolSettings(&c.tools, &c.boundary))
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
func (r *configReader) allowed(section, name string) bool {
	if r.source.kind != fromProject {
		return true
	}
	names, ok := projectSettings[section]
	return ok && (name == "" || slices.Contains(names, name) || slices.Contains(names, ""))
}

// refused records a setting that only the user may set.
func (r *configReader) refused(line int, field string) {
	r.mistake(line, field, "can be set only in the user's config.yml; a project may set modelRoles, title.generate, instructions, permissions.ask and permissions.deny", nil)
}

// takeProject sets a setting of a project's file. The project can turn off what costs the user money, and cannot turn
// it on.
func (r *configReader) takeProject(m *configfile.Member, field string, s setting) {
	if field == "title.generate" && m.Value.True() && !r.generateTitles {
		r.mistake(m.Line, field, "a project cannot turn on what the user has turned off", nil)
		return
	}
	r.take(m, field, s)
}

// taskSettings returns the section task.
func (c *config) taskSettings() map[string]setting {
	tasks := &c.context.Tasks
	return map[string]setting{
		"enableLsp":         boolean(&c.lsp.subagents),               // also give helper agents language servers
		"maxConcurrency":    number(&tasks.MaxConcurrency, 1, 32),    // number of helpers that work at the same time in a session
		"maxRecursionDepth": number(&tasks.MaxDepth, 1, 5),           // depth of helpers that start helpers; 1: helpers start none
		"maxTokens":         number(&tasks.MaxTokens, 0, mostTokens), // tokens that one helper may use, without cached ones; 0: unlimited
		"disabledAgents":    words(&tasks.Disabled),                  // names of helpers that must not be started
	}
}
