package sessions

import (
	"time"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/providers"
)

// Entry is one line of a session file after the header: a [MessageEntry], [ModelChange], [ThinkingChange],
// [ModeChange], [Compaction], [BranchSummary], [Custom], [CustomMessage], [Label], [SessionInit], [ServiceTierChange],
// [RuleInjection], [ToolSelection] or [Unknown]. Entries are immutable values.
type Entry interface {
	// Ref returns the entry's place in the tree, which [Log.Append] sets.
	Ref() Base
	// Kind returns the entry's type in the file.
	Kind() Kind
	withRef(Base) Entry
}

// Base is an entry's place in the tree of a session.
type Base struct {
	// ID is unique within the file.
	ID string
	// ParentID is the entry that this one follows; empty for a root.
	ParentID string
	Time     time.Time
}

// Ref returns b.
func (b Base) Ref() Base { return b }

// Kind is the type of an entry in a file.
type Kind string

// The kinds.
const (
	KindMessage           Kind = "message"
	KindModelChange       Kind = "model_change"
	KindThinkingChange    Kind = "thinking_level_change"
	KindModeChange        Kind = "mode_change"
	KindCompaction        Kind = "compaction"
	KindBranchSummary     Kind = "branch_summary"
	KindCustom            Kind = "custom"
	KindCustomMessage     Kind = "custom_message"
	KindLabel             Kind = "label"
	KindSessionInit       Kind = "session_init"
	KindServiceTierChange Kind = "service_tier_change"
	KindRuleInjection     Kind = "ttsr_injection"
	KindToolSelection     Kind = "mcp_tool_selection"
)

// MessageEntry is a message of the conversation.
type MessageEntry struct {
	Base    `json:"-"`
	Message providers.Message
	// Role is the role in the file. Other programs write roles that [providers.Role] does not have ("bashExecution",
	// "fileMention"); Message is then a user message with their content.
	Role string
	// Hidden messages are shown to the user and never sent to a model.
	Hidden bool
}

// ModelChange selects the model for the rest of the branch.
type ModelChange struct {
	Base `json:"-"`
	// Model is "provider/id".
	Model string `json:"model"`
	// Role is the model's role; empty means "default".
	Role          string `json:"role,omitzero"`
	PreviousModel string `json:"previousModel,omitzero"`
	Reason        string `json:"reason,omitzero"`
	ThinkingLevel string `json:"thinkingLevel,omitzero"`
}

// ThinkingChange selects the reasoning effort for the rest of the branch.
type ThinkingChange struct {
	Base  `json:"-"`
	Level providers.ThinkingLevel `json:"thinkingLevel"`
}

// ModeChange selects the session's mode for the rest of the branch.
type ModeChange struct {
	Base `json:"-"`
	Mode string `json:"mode"`
	// Data is specific to the mode, for example the path of a plan; nil for none.
	Data jsonx.Raw `json:"data,omitzero"`
}

// Compaction is a summary that replaces all entries before FirstKeptEntryID.
type Compaction struct {
	Base             `json:"-"`
	Summary          string `json:"summary"`
	ShortSummary     string `json:"shortSummary,omitzero"`
	FirstKeptEntryID string `json:"firstKeptEntryId"`
	// TokensBefore is the number of tokens in the context before the compaction.
	TokensBefore  int       `json:"tokensBefore"`
	Details       jsonx.Raw `json:"details,omitzero"`
	PreserveData  jsonx.Raw `json:"preserveData,omitzero"`
	FromExtension bool      `json:"fromExtension,omitzero"`
}

// BranchSummary summarizes, in a new branch, the branch that was left.
type BranchSummary struct {
	Base `json:"-"`
	// FromID is the entry at which the branches part, or "root".
	FromID        string    `json:"fromId"`
	Summary       string    `json:"summary"`
	Details       jsonx.Raw `json:"details,omitzero"`
	FromExtension bool      `json:"fromExtension,omitzero"`
}

// Custom is data of a part of the program or of an extension. It is not sent to a model.
type Custom struct {
	Base       `json:"-"`
	CustomType string `json:"customType"`
	// Data is any JSON value; nil for none.
	Data jsonx.Raw `json:"data,omitzero"`
}

// CustomMessage is a message that the program or an extension adds to the conversation. A model receives it as a user
// message.
type CustomMessage struct {
	Base
	CustomType string
	Parts      []providers.Part
	// Display reports whether the message is shown to the user.
	Display bool
	Details jsonx.Raw
	// Attribution is the originator: "user" or "agent".
	Attribution string
}

// Label names an entry. An empty Label deletes the name.
type Label struct {
	Base     `json:"-"`
	TargetID string `json:"targetId"`
	Label    string `json:"label,omitzero"`
}

// SessionInit describes the start of a sub-agent's session.
type SessionInit struct {
	Base         `json:"-"`
	SystemPrompt string    `json:"systemPrompt"`
	Task         string    `json:"task"`
	Tools        []string  `json:"tools"`
	OutputSchema jsonx.Raw `json:"outputSchema,omitzero"`
	ForkContext  jsonx.Raw `json:"forkContext,omitzero"`
}

// ServiceTierChange selects the service tier for the rest of the branch.
type ServiceTierChange struct {
	Base `json:"-"`
	// ServiceTier is a string, or null for the default.
	ServiceTier jsonx.Raw `json:"serviceTier"`
}

// RuleInjection lists the rules that were added to the conversation during a model's answer.
type RuleInjection struct {
	Base          `json:"-"`
	InjectedRules []string `json:"injectedRules"`
}

// ToolSelection selects the MCP tools for the rest of the branch.
type ToolSelection struct {
	Base              `json:"-"`
	SelectedToolNames []string `json:"selectedToolNames"`
}

// Unknown is an entry whose kind or form this program does not support. It keeps its place in the tree.
type Unknown struct {
	Base
	Type Kind
	// Raw is the whole line.
	Raw jsonx.Raw
}

// Kind returns the kind in the file.
func (MessageEntry) Kind() Kind { return KindMessage }

// Kind returns the kind in the file.
func (ModelChange) Kind() Kind { return KindModelChange }

// Kind returns the kind in the file.
func (ThinkingChange) Kind() Kind { return KindThinkingChange }

// Kind returns the kind in the file.
func (ModeChange) Kind() Kind { return KindModeChange }

// Kind returns the kind in the file.
func (Compaction) Kind() Kind { return KindCompaction }

// Kind returns the kind in the file.
func (BranchSummary) Kind() Kind { return KindBranchSummary }

// Kind returns the kind in the file.
func (Custom) Kind() Kind { return KindCustom }

// Kind returns the kind in the file.
func (CustomMessage) Kind() Kind { return KindCustomMessage }

// Kind returns the kind in the file.
func (Label) Kind() Kind { return KindLabel }

// Kind returns the kind in the file.
func (SessionInit) Kind() Kind { return KindSessionInit }

// Kind returns the kind in the file.
func (ServiceTierChange) Kind() Kind { return KindServiceTierChange }

// Kind returns the kind in the file.
func (RuleInjection) Kind() Kind { return KindRuleInjection }

// Kind returns the kind in the file.
func (ToolSelection) Kind() Kind { return KindToolSelection }

// Kind returns the kind in the file.
func (u Unknown) Kind() Kind { return u.Type }

func (e MessageEntry) withRef(b Base) Entry      { e.Base = b; return e }
func (e ModelChange) withRef(b Base) Entry       { e.Base = b; return e }
func (e ThinkingChange) withRef(b Base) Entry    { e.Base = b; return e }
func (e ModeChange) withRef(b Base) Entry        { e.Base = b; return e }
func (e Compaction) withRef(b Base) Entry        { e.Base = b; return e }
func (e BranchSummary) withRef(b Base) Entry     { e.Base = b; return e }
func (e Custom) withRef(b Base) Entry            { e.Base = b; return e }
func (e CustomMessage) withRef(b Base) Entry     { e.Base = b; return e }
func (e Label) withRef(b Base) Entry             { e.Base = b; return e }
func (e SessionInit) withRef(b Base) Entry       { e.Base = b; return e }
func (e ServiceTierChange) withRef(b Base) Entry { e.Base = b; return e }
func (e RuleInjection) withRef(b Base) Entry     { e.Base = b; return e }
func (e ToolSelection) withRef(b Base) Entry     { e.Base = b; return e }
func (u Unknown) withRef(b Base) Entry           { u.Base = b; return u }

// Version is the version of the format that this package writes. Older files are migrated, newer ones refused.
const Version = 3

// Header is the first line of a session file.
type Header struct {
	// Version is the file's version when it was opened; [Store.Create] ignores it.
	Version int
	// ID identifies the session. If empty, [Store.Create] generates one.
	ID string
	// Time is the start of the session. If zero, [Store.Create] uses the current time.
	Time time.Time
	// Cwd is the absolute working directory. Required.
	Cwd string
	// AdditionalDirectories are additional roots, absolute. Other programs ignore them.
	AdditionalDirectories []string
	// Title is the initial title. [State] has the current one.
	Title string
	// TitleSource is "auto" or "user".
	TitleSource string
	// ParentSession is the ID or the path of the session that this one was forked from, or the ID of the session that started this
	// helper. It is informational.
	ParentSession string
}

const kindSession = "session"
