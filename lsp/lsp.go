// Package lsp is the client side of the Language Server Protocol: positions, documents and edits as servers speak of
// them, and which server is for which file. It knows nothing of agents and editors.
package lsp
