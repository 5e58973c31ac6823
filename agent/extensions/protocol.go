// Package extensions runs programs that take part in a session for as long as it lasts: they receive its events with the powers of
// hooks, offer tools and slash commands, send messages to the model, and keep state in the session's log.
//
// An extension is a program that speaks JSON-RPC 2.0 on its standard input and output, one message on each line. It is defined in
// extensions/*.yml of the agent directory or .gjc/extensions/*.yml of a workspace; the user must trust the latter. Each session has its
// own process of it, which starts with the first prompt. docs/extensions.md describes the protocol.
package extensions

import (
	"github.com/gajae-code/gjc/internal/jsonx"
)

// protocolVersion is the version of the protocol.
const protocolVersion = 1

// initializeParams are the params of "initialize".
type initializeParams struct {
	ProtocolVersion int      `json:"protocolVersion"`
	GJCVersion      string   `json:"gjcVersion"`
	SessionID       string   `json:"sessionId"`
	Cwd             string   `json:"cwd"`
	Roots           []string `json:"roots"`
	// Capabilities are the methods that gjc serves.
	Capabilities []string `json:"capabilities"`
	// State are the entries of the extension on the current branch, the oldest first.
	State []stateEntry `json:"state"`
}

// stateEntry is data of an extension in the session's log.
type stateEntry struct {
	Type string    `json:"type"`
	Data jsonx.Raw `json:"data"`
}

// registration is the result of "initialize".
type registration struct {
	Name     string              `json:"name"`
	Events   []string            `json:"events"`
	Tools    []toolRegistration  `json:"tools"`
	Commands []commandRegistered `json:"commands"`
}

type toolRegistration struct {
	Name        string    `json:"name"`
	Description string    `json:"description"`
	InputSchema jsonx.Raw `json:"inputSchema"`
	Parallel    bool      `json:"parallel"`
	// Effects are those of a tool's file; without them the tool may do anything.
	Effects jsonx.Raw `json:"effects"`
}

type commandRegistered struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Hint        string `json:"hint"`
}

// toolCallParams are the params of "tool/call".
type toolCallParams struct {
	CallID string    `json:"callId"`
	Name   string    `json:"name"`
	Input  jsonx.Raw `json:"input"`
}

// commandParams are the params of "command/run".
type commandParams struct {
	Name string `json:"name"`
	Args string `json:"args"`
}

// Reply is the result of a command: Text is shown to the user, or Prompt is sent to the model.
type Reply struct {
	Text   string `json:"text"`
	Prompt string `json:"prompt"`
}

// messageParams are the params of "session/message".
type messageParams struct {
	Text      string `json:"text"`
	DeliverAs string `json:"deliverAs"`
}

// notifyParams are the params of "ui/notify".
type notifyParams struct {
	Text  string `json:"text"`
	Level string `json:"level"`
}

// progressParams are the params of "tool/progress".
type progressParams struct {
	CallID string `json:"callId"`
	Text   string `json:"text"`
}

// stateResult is the result of "session/state".
type stateResult struct {
	Entries []stateEntry `json:"entries"`
}

// The methods that gjc serves.
const (
	methodMessage  = "session/message"
	methodAppend   = "session/append"
	methodState    = "session/state"
	methodNotify   = "ui/notify"
	methodProgress = "tool/progress"
	methodLog      = "log"
)

func capabilities() []string {
	return []string{methodMessage, methodAppend, methodState, methodNotify, methodProgress, methodLog}
}
