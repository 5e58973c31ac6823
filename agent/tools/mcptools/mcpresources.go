package mcptools

import (
	"context"
	_ "embed"
	"fmt"
	"strings"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/agent/toolkit"
	"github.com/gajae-code/gjc/mcp"
)

//go:embed mcpresources.md
var mcpResourcesText string

//go:embed mcpreadresource.md
var mcpReadResourceText string

type mcpResourcesInput struct {
	Server string `json:"server,omitempty" jsonschema:"only the resources of this server"`
}

// ReadResourceName is the name of the tool of [ReadResource]. Its input has a server and a uri.
const ReadResourceName = "mcp_read_resource"

type mcpReadResourceInput struct {
	Server string `json:"server" jsonschema:"the server that has the resource"`
	URI    string `json:"uri" jsonschema:"the resource's URI, from mcp_resources or a filled-in template"`
}

func mcpResources(set *mcp.Set) agent.Tool {
	return agent.NewTool(agent.ToolFuncs[mcpResourcesInput]{
		Name: "mcp_resources", Description: toolkit.Description(mcpResourcesText), Kind: agent.KindSearch,
		Plan: func(context.Context, *agent.Call, *mcpResourcesInput) (*agent.CallPlan, error) {
			return &agent.CallPlan{Title: "List MCP resources"}, nil
		},
		Run: func(_ context.Context, _ *agent.Call, in *mcpResourcesInput) (*agent.Result, error) {
			return &agent.Result{Text: listMCPResources(set, in.Server)}, nil
		},
	})
}

func listMCPResources(set *mcp.Set, server string) string {
	var b strings.Builder
	line := func(owner, uri, name, title, mime, description string) {
		if server != "" && owner != server {
			return
		}
		if title != "" {
			name = title
		}
		fmt.Fprintf(&b, "%s %s", owner, uri)
		for _, s := range []string{name, mime, strings.Join(strings.Fields(description), " ")} {
			if s != "" {
				b.WriteString(" · " + toolkit.CutLine(s, toolkit.MaxColumns/4))
			}
		}
		b.WriteByte('\n')
	}
	for _, r := range set.Resources() {
		line(r.Server, r.URI, r.Name, r.Title, r.MIMEType, r.Description)
	}
	for _, r := range set.ResourceTemplates() {
		line(r.Server, r.URITemplate+" (template: fill in the parts in braces)", r.Name, r.Title, r.MIMEType, r.Description)
	}
	text := b.String()
	if text == "" {
		return "There are no resources. Servers with resources: " + strings.Join(resourceServers(set), ", ")
	}
	if len(text) > toolkit.MaxText {
		text = toolkit.CutBytes(text, toolkit.MaxText) + "\n… there are more; name a server to see only its resources."
	}
	return text
}

func resourceServers(set *mcp.Set) []string {
	var names []string
	for _, st := range set.Status() {
		if st.Resources+st.Templates > 0 {
			names = append(names, st.Name)
		}
	}
	return names
}

// ReadResource returns the tool that reads a resource, and passes each result to read, unless that is nil.
func ReadResource(set *mcp.Set, read func(*agent.Result)) agent.Tool {
	return agent.NewTool(agent.ToolFuncs[mcpReadResourceInput]{
		Name: ReadResourceName, Description: toolkit.Description(mcpReadResourceText), Kind: agent.KindRead,
		Plan: func(_ context.Context, _ *agent.Call, in *mcpReadResourceInput) (*agent.CallPlan, error) {
			title := in.Server + ": read " + in.URI
			return &agent.CallPlan{Title: title, Effects: []approval.Effect{{Action: approval.ActionRead, Title: title}}}, nil
		},
		Run: func(ctx context.Context, call *agent.Call, in *mcpReadResourceInput) (*agent.Result, error) {
			res, err := set.ReadResource(ctx, in.Server, in.URI)
			if err != nil {
				return nil, err
			}
			out := mcpResult(ctx, call, in.Server, res)
			if read != nil {
				read(out)
			}
			return out, nil
		},
	})
}
