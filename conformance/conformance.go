// Package conformance tests any ACP agent for conformance to version 1 of the protocol. It starts the agent's command,
// talks to it over stdin and stdout like well-behaved and misbehaving clients, and reports which requirements the agent
// meets. It knows about the agent only what is on the wire.
//
// Each [Check] is one requirement. [Run] runs them, each with its own agent; checks that only inspect what an agent
// sends share the transcript of one long conversation.
//
// A model's behavior cannot be forced. The checks of tools, permissions and plans start with a prompt that makes the
// model do something ([Prompts]); if it does something else, the check is skipped with that reason.
package conformance

import (
	"fmt"
	"slices"
	"strings"
)

// A Tier is the severity of a failed check.
type Tier string

const (
	// TierMust requirements apply to every agent. A failure makes an agent nonconformant.
	TierMust Tier = "must"
	// TierCapability requirements apply to an agent that advertises or uses a part of the protocol. A failure makes an
	// agent nonconformant; an agent without the part is skipped.
	TierCapability Tier = "capability"
	// TierShould requirements are recommended by the protocol, or clients rely on them. A failure is a warning.
	TierShould Tier = "should"
)

// A Check is one requirement.
type Check struct {
	// ID is stable, such as "init.version.zero"; its first part is the area.
	ID   string `json:"id"`
	Tier Tier   `json:"tier"`
	// Requirement is one sentence.
	Requirement string `json:"requirement"`
	// Spec is the source of the requirement: a path of the protocol's documentation, or "JSON-RPC 2.0".
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

// Pages that requirements come from.
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

// Error codes that checks use.
const (
	codeParse          = -32700
	codeInvalidRequest = -32600
	codeMethod         = -32601
	codeParams         = -32602
	codeCancelled      = -32800
	codeAuth           = -32000
	codeNotFound       = -32002
)

// String formats the check as a line of a list.
func (c *Check) String() string {
	return fmt.Sprintf("%-46s %-10s %s (%s)", c.ID, c.Tier, c.Requirement, c.Spec)
}
