package lsp

import (
	"go.lsp.dev/protocol"

	"github.com/gajae-code/gjc/internal/jsonx"
)

// The types below are messages of LSP 3.17 and 3.18 that go.lsp.dev/protocol does not have, or has with unsuitable types.

type initializeParams struct {
	ProcessID        *int              `json:"processId"` // nil for a server that does not see this process
	ClientInfo       clientInfo        `json:"clientInfo"`
	RootPath         string            `json:"rootPath"`
	RootURI          string            `json:"rootUri"`
	Capabilities     jsonx.Raw         `json:"capabilities"`
	InitOptions      jsonx.Raw         `json:"initializationOptions,omitzero"`
	WorkspaceFolders []workspaceFolder `json:"workspaceFolders"`
	Trace            string            `json:"trace"`
}

type clientInfo struct {
	Name    string `json:"name"`
	Version string `json:"version,omitzero"`
}

type workspaceFolder struct {
	URI  string `json:"uri"`
	Name string `json:"name"`
}

type folderChange struct {
	Event folderEvent `json:"event"`
}

type folderEvent struct {
	Added   []workspaceFolder `json:"added"`
	Removed []workspaceFolder `json:"removed"`
}

type settingsChange struct {
	Settings jsonx.Raw `json:"settings"`
}

type documentID struct {
	URI string `json:"uri"`
}

type versionedDocument struct {
	URI     string `json:"uri"`
	Version int32  `json:"version"`
}

type documentItem struct {
	URI        string `json:"uri"`
	LanguageID string `json:"languageId"`
	Version    int32  `json:"version"`
	Text       string `json:"text"`
}

type didOpen struct {
	TextDocument documentItem `json:"textDocument"`
}

type didClose struct {
	TextDocument documentID `json:"textDocument"`
}

type didChange struct {
	TextDocument   versionedDocument `json:"textDocument"`
	ContentChanges []contentChange   `json:"contentChanges"`
}

// contentChange replaces the whole text if Range is nil.
type contentChange struct {
	Range *protocol.Range `json:"range,omitzero"`
	Text  string          `json:"text"`
}

type didSave struct {
	TextDocument documentID `json:"textDocument"`
	Text         *string    `json:"text,omitzero"`
}

type watchedFiles struct {
	Changes []watchedFile `json:"changes"`
}

type watchedFile struct {
	URI  string                  `json:"uri"`
	Type protocol.FileChangeType `json:"type"`
}

type executeCommand struct {
	Command   string `json:"command"`
	Arguments []any  `json:"arguments,omitzero"`
}

type applyEditResult struct {
	Applied       bool   `json:"applied"`
	FailureReason string `json:"failureReason,omitzero"`
}

type documentDiagnosticParams struct {
	TextDocument     documentID `json:"textDocument"`
	Identifier       string     `json:"identifier,omitzero"`
	PreviousResultID string     `json:"previousResultId,omitzero"`
}

// diagnosticReport is the answer to textDocument/diagnostic; with a URI it is an item of the answer to workspace/diagnostic.
type diagnosticReport struct {
	Kind     string                      `json:"kind"` // "full" or "unchanged"
	ResultID string                      `json:"resultId"`
	Items    jsonx.Raw                   `json:"items"`
	Related  map[string]diagnosticReport `json:"relatedDocuments"`
	URI      string                      `json:"uri"`
}

type workspaceDiagnosticParams struct {
	Identifier string `json:"identifier,omitzero"`
	// PreviousResultIDs is always empty: servers may delay the response to a request with IDs until something changes.
	PreviousResultIDs []documentID `json:"previousResultIds"`
}

type registrationParams struct {
	Registrations []struct {
		ID      string    `json:"id"`
		Method  string    `json:"method"`
		Options jsonx.Raw `json:"registerOptions"`
	} `json:"registrations"`
}

type unregistrationParams struct {
	// The name is misspelled in the protocol; some servers use the correct spelling.
	Unregisterations []unregistration `json:"unregisterations"`
	Unregistrations  []unregistration `json:"unregistrations"`
}

type unregistration struct {
	ID     string `json:"id"`
	Method string `json:"method"`
}
