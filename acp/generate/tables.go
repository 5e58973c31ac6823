package main

// skipped lists the definitions without a Go type, with the reason for each.
var skipped = map[string]string{
	"AgentRequest":       "JSON-RPC envelope; internal/jsonrpc has it",
	"AgentResponse":      "JSON-RPC envelope; internal/jsonrpc has it",
	"AgentNotification":  "JSON-RPC envelope; internal/jsonrpc has it",
	"ClientRequest":      "JSON-RPC envelope; internal/jsonrpc has it",
	"ClientResponse":     "JSON-RPC envelope; internal/jsonrpc has it",
	"ClientNotification": "JSON-RPC envelope; internal/jsonrpc has it",
	"ProxyRequest":       "JSON-RPC envelope; internal/jsonrpc has it",
	"ProxyResponse":      "JSON-RPC envelope; internal/jsonrpc has it",
	"ProxyNotification":  "JSON-RPC envelope; internal/jsonrpc has it",
}

// byHand lists the definitions whose Go type is written by hand in package acp.
var byHand = map[string]goType{
	"RequestId":               {name: "RequestID", zero: "", read: "readRequestID", put: "putRequestID", kind: kindOther},
	"ElicitationContentValue": handUnion("ElicitationContentValue"),
	"SessionConfigSelectOptions": handUnion(
		"SessionConfigSelectOptions",
	),
}

// tolerated lists the required members that are always written but may be missing when read, because some clients omit them if they
// are empty.
var tolerated = map[string]bool{"NewSessionRequest.mcpServers": true, "LoadSessionRequest.mcpServers": true}

// patches lists the types whose nullable members distinguish null from omitted.
var patches = map[string]bool{
	"ToolCallUpdate": true, "SessionInfoUpdate": true, "SubagentUpdate": true, "CompactionUpdate": true,
	"SessionMessage": true,
}

// pointers lists the optional strings for which the empty string is a meaningful value.
var pointers = map[string]bool{"Diff.oldText": true, "StringPropertySchema.default": true}

// flattened lists the objects whose union is written as optional members of the object.
var flattened = map[string]bool{"IdleStateUpdate": true, "MessageMcpResponse": true}

// fieldTypes assigns definitions to members for which the schema names none.
var fieldTypes = map[string]string{"IdleStateUpdate.stopReason": "StopReason"}

// writeWhen replaces the condition under which an optional member is written.
var writeWhen = map[string]string{"MessageMcpResponse.result": "v.Error == nil"}

// An inline is a union whose members are written among those of the enclosing object.
type inline struct {
	field string // the object's field that holds the union
	union string // the union's Go name
	// hand marks a union that is written by hand in package acp.
	hand bool
}

var inlines = map[string]inline{
	"SessionConfigOption":           {field: "Kind", union: "SessionConfigOptionKind"},
	"CreateElicitationRequest":      {field: "Mode", union: "ElicitationMode"},
	"CreateElicitationResponse":     {field: "Action", union: "ElicitationAction"},
	"ElicitationFormMode":           {field: "Scope", union: "ElicitationScope"},
	"ElicitationUrlMode":            {field: "Scope", union: "ElicitationScope"},
	"SetSessionConfigOptionRequest": {field: "Value", union: "SessionConfigOptionValue", hand: true},
}

// variantNames names the variants without a separate type, by union and discriminator.
var variantNames = map[string]string{
	"SessionUpdate/user_message_chunk":   "UserMessageChunk",
	"SessionUpdate/agent_message_chunk":  "AgentMessageChunk",
	"SessionUpdate/agent_thought_chunk":  "AgentThoughtChunk",
	"RequestPermissionOutcome/cancelled": "CancelledPermissionOutcome",
	"ElicitationAction/decline":          "ElicitationDeclineAction",
	"ElicitationAction/cancel":           "ElicitationCancelAction",
}

// byKey identifies variants of a union by a member that only they have. It maps the variant's schema name to that member.
var byKey = map[string]string{
	"TextResourceContents": "text", "BlobResourceContents": "blob", "UnstructuredCommandInput": "hint",
	"ElicitationSessionScope": "sessionId", "ElicitationRequestScope": "requestId",
}

// conflicts lists, by union, members that no variant has together. An object with both is an unknown variant.
var conflicts = map[string][2]string{"MCPServer": {"command", "url"}}

// closed lists the unions without a type for unknown variants.
var closed = map[string]bool{"ElicitationScope": true}

// methodNames gives the Go method for params whose name differs from it.
var methodNames = map[string]string{"SessionNotification": "SessionUpdate"}

// unknownNames gives the Go type for unknown variants of a union if a variant already uses the default name.
var unknownNames = map[string]string{"StateUpdate": "OtherStateUpdate"}

func unknownName(union string) string {
	if name := unknownNames[union]; name != "" {
		return name
	}
	return "Unknown" + union
}
