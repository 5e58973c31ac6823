// Package conformance holds any ACP agent to version 1 of the protocol: it starts the agent's command, talks to it over
// stdin and stdout as clients do, good ones and bad ones, and reports which requirements the agent meets. Nothing about
// the agent is known but what it says on the wire.
//
// Each [Check] is one requirement. [Run] runs them, each with an agent of its own; checks that only look at what an
// agent sends share the transcript of one long conversation.
//
// What a model does can not be forced. The checks about tools, permissions and plans begin with a prompt that makes the
// model do the thing ([Prompts]); where it does something else, the check is skipped and says so.
package conformance

import (
	"fmt"
	"slices"
	"strings"
)

// A Tier says what a failed check means.
type Tier string

const (
	// TierMust is what every agent has to do. One failure makes an agent not conformant.
	TierMust Tier = "must"
	// TierCapability is what an agent has to do if it advertises, or uses, the part of the protocol. A failure makes
	// an agent not conformant; an agent without the part is skipped.
	TierCapability Tier = "capability"
	// TierShould is what the protocol recommends, or clients rely on. A failure is a warning.
	TierShould Tier = "should"
)

// A Check is one requirement.
type Check struct {
	// ID is stable, as "init.version.zero"; its first part is the area.
	ID   string `json:"id"`
	Tier Tier   `json:"tier"`
	// Requirement is one sentence.
	Requirement string `json:"requirement"`
	// Spec is the page that the requirement comes from: a path of the protocol's documentation, or "JSON-RPC 2.0".
	Spec string `json:"spec"`

	run func(*trial)
}

// area returns the first part of the check's id.
func (c *Check) area() string {
	area, _, _ := strings.Cut(c.ID, ".")
	return area
}

// Checks returns all checks, grouped by area. The caller owns the slice.
func Checks() []Check {
	return slices.Concat(
		transportChecks, jsonrpcChecks, initializeChecks, authChecks,
		newChecks, loadChecks, resumeChecks, listChecks, closeChecks, deleteChecks, isolationChecks,
		promptChecks, planChecks, toolChecks, permissionChecks, cancelChecks, cancelRequestChecks,
		modeChecks, configChecks, commandChecks, contentChecks,
		clientChecks, filesChecks, terminalChecks, elicitationChecks,
		extensionChecks, schemaChecks, exitChecks, robustnessChecks,
	)
}

// The pages that requirements come from.
const (
	pageInitialize   = "protocol/v1/initialization"
	pageAuth         = "protocol/v1/authentication"
	pageSession      = "protocol/v1/session-setup"
	pageList         = "protocol/v1/session-list"
	pageResume       = "protocol/v1/session-resume"
	pageClose        = "protocol/v1/session-close"
	pageDelete       = "protocol/v1/session-delete"
	pagePrompt       = "protocol/v1/prompt-turn"
	pageContent      = "protocol/v1/content"
	pageTools        = "protocol/v1/tool-calls"
	pagePlan         = "protocol/v1/agent-plan"
	pageFiles        = "protocol/v1/file-system"
	pageTerminals    = "protocol/v1/terminals"
	pageModes        = "protocol/v1/session-modes"
	pageConfig       = "protocol/v1/session-config-options"
	pageCommands     = "protocol/v1/slash-commands"
	pageElicitation  = "protocol/v1/elicitation"
	pageCancellation = "protocol/v1/cancellation"
	pageExtension    = "protocol/v1/extensibility"
	pageTransports   = "protocol/v1/transports"
	pageSchema       = "protocol/v1/schema"
	pageJSONRPC      = "JSON-RPC 2.0"
)

// The error codes that checks name.
const (
	codeParse          = -32700
	codeInvalidRequest = -32600
	codeMethod         = -32601
	codeParams         = -32602
	codeCancelled      = -32800
	codeAuth           = -32000
	codeNotFound       = -32002
)

// String is for lists.
func (c *Check) String() string {
	return fmt.Sprintf("%-46s %-10s %s (%s)", c.ID, c.Tier, c.Requirement, c.Spec)
}
