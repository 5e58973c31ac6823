// Package mcptools offers the tools and resources of MCP servers as tools of an agent.
package mcptools

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/agent/discovery"
	"github.com/gajae-code/gjc/agent/toolkit"
	"github.com/gajae-code/gjc/mcp"
	"github.com/gajae-code/gjc/providers"
)

// MCP returns the tools that the servers of set currently offer, and two for their resources if they have any. Each call takes a new snapshot. A tool from an old snapshot still runs while its server has it.
func MCP(set *mcp.Set) []agent.Tool {
	var all []agent.Tool
	for _, t := range set.Tools() {
		all = append(all, newMCPTool(set, t))
	}
	if len(set.Resources()) > 0 || len(set.ResourceTemplates()) > 0 {
		all = append(all, mcpResources(set), ReadResource(set, nil))
	}
	return all
}

// mcpTool is one tool of an MCP server.
type mcpTool struct {
	set  *mcp.Set
	tool *mcp.Tool
	spec agent.ToolSpec
}

func newMCPTool(set *mcp.Set, t *mcp.Tool) *mcpTool {
	description := cmp.Or(t.Description, t.Title)
	return &mcpTool{set: set, tool: t, spec: agent.ToolSpec{
		Name: t.Name, Description: description, Kind: mcpKind(t), Schema: t.Schema,
		Origin: discovery.Origin{Server: t.Server, Remote: t.Remote, Title: t.Title},
		// A tool that may change something must not run concurrently with another such call.
		Exclusive: !t.ReadOnly,
	}}
}

func mcpKind(t *mcp.Tool) agent.ToolKind {
	switch {
	case t.ReadOnly && t.OpenWorld:
		return agent.KindFetch
	case t.ReadOnly:
		return agent.KindRead
	default:
		return agent.KindOther
	}
}

func (t *mcpTool) Spec() *agent.ToolSpec { return &t.spec }

// Plan returns the effects of the call. A server's hint that a tool only reads avoids the question; other hints have no effect.
func (t *mcpTool) Plan(_ context.Context, call *agent.Call) (*agent.CallPlan, error) {
	title := mcpTitle(t.tool)
	plan := &agent.CallPlan{Title: title}
	if err := t.tool.Validate(call.Input); err != nil {
		return plan, fmt.Errorf("%w for %s: %w", agent.ErrBadInput, t.spec.Name, err)
	}
	effect := approval.Effect{Action: approval.ActionMCP, Title: title}
	switch {
	case t.tool.ReadOnly:
		effect.Action = approval.ActionRead
	case t.tool.Destructive:
		effect.Title += " (destructive)"
	}
	effect.Subject = mcpDefinition(t.tool)
	plan.Effects = []approval.Effect{effect}
	return plan, nil
}

// mcpTitle returns a title that begins with the server and the tool: the title from the server may say anything.
func mcpTitle(t *mcp.Tool) string {
	name := strings.Join(strings.Fields(t.Remote), " ")
	title := t.Server + ": " + name
	if t.Title != name {
		title += " (" + t.Title + ")"
	}
	return title
}

// mcpDefinition identifies a tool by its complete definition from the server: "always" permits only the tool with this definition.
func mcpDefinition(t *mcp.Tool) string {
	h := sha256.New()
	for _, s := range []string{t.Remote, t.Title, t.Description, string(t.Schema), strconv.FormatBool(t.Destructive)} {
		_, _ = fmt.Fprintf(h, "%d:%s", len(s), s)
	}
	return hex.EncodeToString(h.Sum(nil))
}

func (t *mcpTool) Run(ctx context.Context, call *agent.Call) (*agent.Result, error) {
	res, err := t.set.Call(ctx, t.tool, call.Input, &mcp.CallOptions{Progress: mcpProgress(call.Update), Meta: mcpTrace(call.Trace)})
	if err != nil {
		return nil, err
	}
	return mcpResult(ctx, call, t.tool.Server, res), nil
}

// mcpProgress shows a server's progress reports at a bounded rate.
func mcpProgress(update func(agent.Progress)) func(mcp.Progress) {
	if update == nil {
		return nil
	}
	var last time.Time
	return func(p mcp.Progress) {
		if time.Since(last) < toolkit.LiveEvery {
			return
		}
		last = time.Now()
		update(agent.Progress{Content: []agent.Content{agent.TextContent{Text: progressLine(p)}}})
	}
}

func progressLine(p mcp.Progress) string {
	number := func(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }
	done := number(p.Done)
	if p.Total > 0 {
		done += "/" + number(p.Total)
	}
	if p.Message == "" {
		return done
	}
	return p.Message + " (" + done + ")"
}

// mcpResult converts a server's result. The model receives its text marked as data, the user unchanged.
func mcpResult(ctx context.Context, call *agent.Call, server string, res *mcp.Result) *agent.Result {
	out := &agent.Result{Text: toolkit.Marked("the MCP server "+server, res.Text), IsError: res.IsError}
	shown := res.Text
	if res.Full != "" && call.Artifacts != nil {
		// The result is useful without the artifact.
		if url, err := call.Artifacts.Put(ctx, call.Name, []byte(res.Full)); err == nil {
			note := "\n\nThe full output is in " + url + "; use read with line ranges of it."
			out.Text, shown = out.Text+note, shown+note
		}
	}
	if res.Structured != nil {
		out.Raw = res.Structured
	}
	onlyText := true
	for _, part := range res.Parts {
		_, isText := part.(mcp.Text)
		onlyText = onlyText && isText
		addMCPPart(out, part)
	}
	if onlyText {
		out.Content = []agent.Content{agent.TextContent{Text: shown}}
	}
	return out
}

// addMCPPart adds one piece of content for the editor, and for the model if it is a picture that models can see.
func addMCPPart(out *agent.Result, part mcp.Part) {
	text := func(s string) { out.Content = append(out.Content, agent.TextContent{Text: s}) }
	picture := func(data []byte) bool {
		mime := toolkit.ImageType(data)
		if mime == "" {
			return false
		}
		img := providers.Image{MIMEType: mime, Data: data}
		out.Images = append(out.Images, img)
		out.Content = append(out.Content, agent.ImageContent{Image: img})
		return true
	}
	switch p := part.(type) {
	case mcp.Text:
		text(p.Text)
	case mcp.Image:
		if !picture(p.Data) {
			text(fmt.Sprintf("[Unsupported image: %s, %s]", p.MIMEType, toolkit.Size(int64(len(p.Data)))))
		}
	case mcp.Audio:
		text(fmt.Sprintf("[Audio: %s, %s]", p.MIMEType, toolkit.Size(int64(len(p.Data)))))
	case mcp.Link:
		name := cmp.Or(p.Title, p.Name)
		name = cmp.Or(name, p.URI)
		out.Content = append(out.Content, agent.LinkContent{URI: p.URI, Name: name})
	case mcp.Embedded:
		out.Content = append(out.Content, agent.LinkContent{URI: p.URI, Name: p.URI})
		switch {
		case p.Data == nil:
			text(p.Text)
		case !picture(p.Data):
			text(fmt.Sprintf("[Binary data: %s, %s]", p.MIMEType, toolkit.Size(int64(len(p.Data)))))
		}
	}
}

// mcpTrace returns the trace context of a prompt for a server.
func mcpTrace(trace agent.Trace) map[string]any {
	if len(trace) == 0 {
		return nil
	}
	meta := make(map[string]any, len(trace))
	for k, v := range trace {
		meta[k] = v
	}
	return meta
}
