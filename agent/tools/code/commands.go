package code

import (
	"slices"
	"strings"

	"go.lsp.dev/protocol"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/lsp"
)

// runsCommand reports whether a server runs a command itself. The editor must run those that the server does not list. A server
// that listed none at first may have registered some since.
func runsCommand(s *lsp.Server, command string) bool {
	provider := jsonx.Lookup(s.Capabilities(), "executeCommandProvider")
	if isNull(provider) {
		return s.Supports("workspace/executeCommand", "")
	}
	var options struct {
		Commands []string `json:"commands"`
	}
	if jsonx.Unmarshal(provider, &options) != nil || len(options.Commands) == 0 {
		return true // the server does not list its commands
	}
	return slices.Contains(options.Commands, command)
}

// editOfCommand returns the edit that an editor makes for a command with the arguments of VS Code's own extensions: a URI, the document's
// version, and the edits of its text. It returns nil for other commands.
func editOfCommand(command *protocol.Command) (*lsp.WorkspaceEdit, error) {
	if len(command.Arguments) != 3 {
		return nil, nil
	}
	var args [3]jsonx.Raw
	for i, arg := range command.Arguments {
		raw, err := jsonx.Marshal(arg)
		if err != nil {
			return nil, answerError(err)
		}
		args[i] = raw
	}
	var uri string
	if args[0].Kind() != '"' || args[2].Kind() != '[' || !isNull(args[1]) && args[1].Kind() != '0' {
		return nil, nil
	}
	if err := jsonx.Unmarshal(args[0], &uri); err != nil || !strings.Contains(uri, ":") {
		return nil, nil
	}
	edits, err := lsp.DecodeTextEdits(args[2])
	if err != nil || len(edits) == 0 {
		return nil, nil // a list of something else
	}
	change := &lsp.TextDocumentEdit{URI: uri, Edits: edits}
	if !isNull(args[1]) {
		var version float64
		if err := jsonx.Unmarshal(args[1], &version); err != nil {
			return nil, answerError(err)
		}
		change.Version = new(int32(version))
	}
	return &lsp.WorkspaceEdit{Changes: []lsp.DocumentChange{change}}, nil
}
