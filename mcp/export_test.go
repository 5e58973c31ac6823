package mcp

import (
	"context"
	"errors"
	"io"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/gajae-code/gjc/internal/frame"
	"github.com/gajae-code/gjc/internal/jsonx"
)

// ToolName is toolName.
func ToolName(server, tool string) string { return toolName(server, tool) }

// Names is the name table of a set.
type Names struct{ n *names }

// NewNames returns an empty table.
func NewNames() Names { return Names{newNames()} }

// Name is names.name.
func (n Names) Name(server int, serverName, tool string) (name, clash string) {
	return n.n.name(server, serverName, tool)
}

// Forget is names.forget.
func (n Names) Forget(server, most int, keep map[string]bool) { n.n.prune(server, most, keep) }

// Held returns the number of assigned names.
func (n Names) Held() int { return len(n.n.given) }

// NewResult is newResult.
func NewResult(res *sdk.CallToolResult) *Result { return newResult(res) }

// ModelSchema is modelSchema.
func ModelSchema(schema any) (jsonx.Raw, error) { return modelSchema(schema) }

// CheckSchema checks a value against a schema. unchecked is the reason why the schema cannot be checked.
func CheckSchema(schema, value any, size int) (unchecked, err error) {
	k, err := newChecker(schema)
	if err != nil {
		return err, nil
	}
	return nil, k.validate(value, size)
}

// The reasons why a schema is not checked.
var (
	ErrSchemaLoops = errSchemaLoops
	ErrSchemaHeavy = errSchemaHeavy
	ErrSchemaOdd   = errSchemaOdd
)

// Fairly calls takeTurns.
func Fairly[T any](all [][]T, most int) (taken []T, left []int) {
	return takeTurns(all, most)
}

// NewPrompt calls newPrompt with a prompt encoded as JSON.
func NewPrompt(server, encoded string) (Prompt, bool) {
	var p *sdk.Prompt
	_ = jsonx.Unmarshal([]byte(encoded), &p)
	return newPrompt(server, p)
}

// NoticeRate is noticeRate.
type NoticeRate struct{ r noticeRate }

// Take is noticeRate.take.
func (n *NoticeRate) Take() (ok, first bool) { return n.r.allow() }

// ReadRequests reads all messages of r, answers none of the requests, and returns how many there were.
func ReadRequests(r io.ReadCloser, w io.WriteCloser) (n int) {
	conn := newStdioConn(r, w, DefaultMaxMessage, func(int, string) {})
	defer conn.wg.Wait()
	defer func() { _ = conn.Close() }()
	for {
		if _, err := conn.Read(context.Background()); err != nil {
			return n
		}
		n++
	}
}

// A Line is a line as the line reader returns it.
type Line struct {
	Text string
	// Size is set for a line over the limit; ID is also set if the line is a response with a recognizable ID.
	Size int64
	ID   int64
}

// ReadLines reads all lines of r.
func ReadLines(r io.Reader, max int) (all []Line, err error) {
	lines := frame.Lines.NewReader(r, max)
	for {
		line, err := lines.Read()
		long, isLong := errors.AsType[*frame.TooLongError](err)
		switch {
		case isLong:
			id, _ := answeredBy(long)
			all = append(all, Line{Size: long.Size, ID: id})
		case err != nil:
			return all, err
		default:
			all = append(all, Line{Text: string(line)})
		}
	}
}
