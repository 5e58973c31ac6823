package lsp

import (
	"context"
	"strings"

	"go.lsp.dev/protocol"

	"github.com/gajae-code/gjc/internal/jsonx"
)

// tsserverRequest is a command of typescript-language-server that asks the compiler behind it.
const tsserverRequest = "typescript.tsserverRequest"

// tsserverPosition counts from 1; the offset is in UTF-16 units.
type tsserverPosition struct {
	Line   float64 `json:"line"`
	Offset float64 `json:"offset"`
}

func (p tsserverPosition) position() position {
	return position{max(uint32(p.Line), 1) - 1, max(uint32(p.Offset), 1) - 1}
}

type position struct {
	Line      uint32 `json:"line"`
	Character uint32 `json:"character"`
}

type tsserverAnswer struct {
	Success bool `json:"success"`
	Body    []struct {
		Start    tsserverPosition `json:"start"`
		End      tsserverPosition `json:"end"`
		Text     string           `json:"text"`
		Code     float64          `json:"code"`
		Category string           `json:"category"`
		Source   string           `json:"source"`
	} `json:"body"`
}

// diagnosticItem is a Diagnostic of the protocol.
type diagnosticItem struct {
	Range struct {
		Start position `json:"start"`
		End   position `json:"end"`
	} `json:"range"`
	Severity int     `json:"severity"`
	Code     float64 `json:"code"`
	Source   string  `json:"source"`
	Message  string  `json:"message"`
}

// hasTSServer reports whether the server passes questions on to tsserver.
func (l *life) hasTSServer() bool {
	return strings.Contains(string(l.caps.at("executeCommandProvider.commands")), `"`+tsserverRequest+`"`)
}

// askTSServer asks typescript-language-server for the problems of the text. What it publishes has no versions, and
// nothing comes where nothing was wrong before a change and nothing is behind it.
func (d *Document) askTSServer(ctx context.Context, l *life) ([]protocol.Diagnostic, bool) {
	items := []diagnosticItem{}
	for _, request := range []string{"syntacticDiagnosticsSync", "semanticDiagnosticsSync"} {
		var answer tsserverAnswer
		params := map[string]any{"command": tsserverRequest, "arguments": []any{request, map[string]string{"file": string(d.URI)}}}
		if err := d.Server.call(ctx, l, "workspace/executeCommand", params, &answer); err != nil || !answer.Success {
			return nil, false
		}
		for _, b := range answer.Body {
			item := diagnosticItem{Severity: 1, Code: b.Code, Source: "typescript", Message: b.Text}
			item.Range.Start, item.Range.End = b.Start.position(), b.End.position()
			switch b.Category {
			case "warning":
				item.Severity = 2
			case "suggestion":
				item.Severity = 4
			}
			if b.Source != "" {
				item.Source = b.Source
			}
			items = append(items, item)
		}
	}
	raw, err := jsonx.Marshal(items)
	if err != nil {
		return nil, false
	}
	return d.Server.docs.pulled(l, d.Path, tsserverRequest, &diagnosticReport{Kind: "full", Items: raw})
}
