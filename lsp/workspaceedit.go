package lsp

import "github.com/gajae-code/gjc/internal/jsonx"

// WorkspaceEdit is a change of many files, in the order in which it is to be made.
type WorkspaceEdit struct {
}

// DecodeWorkspaceEdit decodes the protocol's WorkspaceEdit, in all its forms.
func DecodeWorkspaceEdit(raw jsonx.Raw) (*WorkspaceEdit, error) { panic("todo") }
