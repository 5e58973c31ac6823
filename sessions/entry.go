package sessions

import (
	"time"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/providers"
)

// Entry is one line of a session file behind the header: a [MessageEntry], [ModelChange], [ThinkingChange],
// [ModeChange], [Compaction], [BranchSummary], [Custom], [CustomMessage], [Label], [SessionInit],
// [ServiceTierChange], [RuleInjection], [ToolSelection] or [Unknown]. Entries are values and are not changed.
type Entry interface {
	// Ref returns the entry's place in the tree. [Log.Append] fills it in.
	Ref() Base
	// Kind returns the entry's type in the file.
	Kind() Kind
	withRef(Base) Entry
}

// Base is an entry's place in the tree of a session.
type Base struct {
	// ID names the entry within its file.
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
	// Role is the role in the file. Other programs write more roles than there are in [providers.Role]
	// ("bashExecution", "fileMention"); Message is a user message then, made of their content.
	Role string
	// Hidden messages are shown and never sent to a model.
	Hidden bool
}

// ModelChange says that another model answers from here on.
type ModelChange struct {
	Base `json:"-"`
	// Model is "provider/id".
	Model string `json:"model"`
	// Role is what the model is for; empty means "default".
	Role          string `json:"role,omitzero"`
	PreviousModel string `json:"previousModel,omitzero"`
	Reason        string `json:"reason,omitzero"`
	ThinkingLevel string `json:"thinkingLevel,omitzero"`
}

// ThinkingChange says that the reasoning effort is another from here on.
type ThinkingChange struct {
	Base  `json:"-"`
	Level providers.ThinkingLevel `json:"thinkingLevel"`
}

// ModeChange says that the session is in another mode from here on.
type ModeChange struct {
	Base `json:"-"`
	Mode string `json:"mode"`
	// Data belongs to the mode (the plan file's path); nil for none.
	Data jsonx.Raw `json:"data,omitzero"`
}

// Compaction puts a summary in the place of all that came before FirstKeptEntryID.
type Compaction struct {
	Base             `json:"-"`
	Summary          string `json:"summary"`
	ShortSummary     string `json:"shortSummary,omitzero"`
	FirstKeptEntryID string `json:"firstKeptEntryId"`
	// TokensBefore is how full the model's window was.
	TokensBefore  int       `json:"tokensBefore"`
	Details       jsonx.Raw `json:"details,omitzero"`
	PreserveData  jsonx.Raw `json:"preserveData,omitzero"`
	FromExtension bool      `json:"fromExtension,omitzero"`
}

// BranchSummary tells in a new branch what happened in the one that was left.
type BranchSummary struct {
	Base `json:"-"`
	// FromID is where the branches part; "root" before the first entry.
	FromID        string    `json:"fromId"`
	Summary       string    `json:"summary"`
	Details       jsonx.Raw `json:"details,omitzero"`
	FromExtension bool      `json:"fromExtension,omitzero"`
}

// Custom is state of some part of the program, or of an extension. No model sees it.
type Custom struct {
	Base       `json:"-"`
	CustomType string `json:"customType"`
	// Data is any JSON value; nil for none.
	Data jsonx.Raw `json:"data,omitzero"`
}

// CustomMessage is a message that the program or an extension puts into the conversation; a model sees it as the
// user's.
type CustomMessage struct {
	Base
	CustomType string
	Parts      []providers.Part
	// Display says whether the user is shown it.
	Display bool
	Details jsonx.Raw
	// Attribution is who began it: "user" or "agent".
	Attribution string
}

// Label names an entry, or takes the name away when Label is empty.
type Label struct {
	Base     `json:"-"`
	TargetID string `json:"targetId"`
	Label    string `json:"label,omitzero"`
}

// SessionInit is how a sub-agent's session began.
type SessionInit struct {
	Base         `json:"-"`
	SystemPrompt string    `json:"systemPrompt"`
	Task         string    `json:"task"`
	Tools        []string  `json:"tools"`
	OutputSchema jsonx.Raw `json:"outputSchema,omitzero"`
	ForkContext  jsonx.Raw `json:"forkContext,omitzero"`
}

// ServiceTierChange says that requests go out with another service tier from here on.
type ServiceTierChange struct {
	Base `json:"-"`
	// ServiceTier is a string, or null for the default.
	ServiceTier jsonx.Raw `json:"serviceTier"`
}

// RuleInjection lists rules that were put into the conversation while a model spoke.
type RuleInjection struct {
	Base          `json:"-"`
	InjectedRules []string `json:"injectedRules"`
}

// ToolSelection is the set of MCP tools that is offered from here on.
type ToolSelection struct {
	Base              `json:"-"`
	SelectedToolNames []string `json:"selectedToolNames"`
}

// Unknown is an entry of a kind, or of a shape, that this program does not know. It keeps its place in the tree.
type Unknown struct {
	Base
	Type Kind
	// Raw is the whole line.
	Raw jsonx.Raw
}

// Kind returns the kind in the file.
func (MessageEntry) Kind() Kind      { return KindMessage }
func (ModelChange) Kind() Kind       { return KindModelChange }
func (ThinkingChange) Kind() Kind    { return KindThinkingChange }
func (ModeChange) Kind() Kind        { return KindModeChange }
func (Compaction) Kind() Kind        { return KindCompaction }
func (BranchSummary) Kind() Kind     { return KindBranchSummary }
func (Custom) Kind() Kind            { return KindCustom }
func (CustomMessage) Kind() Kind     { return KindCustomMessage }
func (Label) Kind() Kind             { return KindLabel }
func (SessionInit) Kind() Kind       { return KindSessionInit }
func (ServiceTierChange) Kind() Kind { return KindServiceTierChange }
func (RuleInjection) Kind() Kind     { return KindRuleInjection }
func (ToolSelection) Kind() Kind     { return KindToolSelection }

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

// Version is the version of the files that this package writes. Older ones are migrated, newer ones refused.
const Version = 3

// Header is the first line of a session file.
type Header struct {
	// Version is the version that the file had when it was opened; [Store.Create] ignores it.
	Version int
	// ID names the session. [Store.Create] makes one if it is empty.
	ID string
	// Time is when the session began. If zero, [Store.Create] takes the clock's.
	Time time.Time
	// Cwd is the absolute working directory. Required.
	Cwd string
	// AdditionalDirectories are further roots, absolute. Other programs do not know them.
	AdditionalDirectories []string
	// Title is the name that the session began with. [State] has the present one.
	Title string
	// TitleSource is "auto" or "user".
	TitleSource string
	// ParentSession is the id or the path of the session that this one was forked from; only a remark.
	ParentSession string
}

const kindSession = "session"
