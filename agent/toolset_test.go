package agent_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/discovery"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/providertest"
)

// foreignTool is a tool of an MCP server that returns its name.
type foreignTool struct{ spec agent.ToolSpec }

func (t *foreignTool) Spec() *agent.ToolSpec { return &t.spec }

func (t *foreignTool) Plan(context.Context, *agent.Call) (*agent.CallPlan, error) {
	return new(agent.CallPlan), nil
}

func (t *foreignTool) Run(context.Context, *agent.Call) (*agent.Result, error) {
	return &agent.Result{Text: "ran " + t.spec.Name}, nil
}

// foreignTools returns the tools of a server: NAME_0 and so on, about a thing each.
func foreignTools(server string, n int) []agent.Tool {
	var all []agent.Tool
	for i := range n {
		remote := fmt.Sprintf("thing%d", i)
		all = append(all, &foreignTool{agent.ToolSpec{
			Name: "mcp__" + server + "_" + remote, Description: "Works on " + remote + ".", Kind: agent.KindOther,
			Schema: jsonx.Raw(`{"type":"object"}`), Origin: discovery.Origin{Server: server, Remote: remote},
		}})
	}
	return all
}

// finder is a tool that searches as search_tools does.
func finder() agent.Tool {
	return agent.NewTool(agent.ToolFuncs[input]{
		Name: agent.SearchTool, Description: "Sources:",
		Run: func(_ context.Context, call *agent.Call, in *input) (*agent.Result, error) {
			d, err := call.Search(in.Say, 2)
			if err != nil {
				return nil, err
			}
			names := func(tools []agent.DiscoveredTool) string {
				var all []string
				for _, tool := range tools {
					all = append(all, tool.Name)
				}
				return strings.Join(all, " ")
			}
			return &agent.Result{Text: fmt.Sprintf("found %s; known %s; %d of %d", names(d.Found), names(d.Known), d.Matches, d.Total)}, nil
		},
	})
}

// discovering sets the tools of a session: two of gjc's own, and those of servers with n tools each.
func discovering(mode discovery.Mode, n int, servers ...string) func(*agent.Options) {
	return func(o *agent.Options) {
		set := agent.DefaultSettings()
		set.Discovery = mode
		o.Settings = &set
		all := agent.Tools{echoTool(), finder()}
		for _, server := range servers {
			all = append(all, foreignTools(server, n)...)
		}
		o.Tools = all
	}
}

func offeredIn(req *providers.Request) []string {
	var all []string
	for _, tool := range req.Tools {
		all = append(all, tool.Name)
	}
	return all
}

func (w *world) wantOffered(request int, want ...string) {
	w.t.Helper()
	if diff := cmp.Diff(want, offeredIn(w.script.Requests()[request])); diff != "" {
		w.t.Errorf("request %d offers (-want +got):\n%s", request, diff)
	}
}

func say(text string) string { return `{"say":"` + text + `"}` }

func TestDiscovery(t *testing.T) {
	run(
		t, discovering(discovery.Auto, 30, "a", "b"), func(w *world) {
			w.prompt("go")
			w.wantOffered(0, "echo", agent.SearchTool)
			w.wantOffered(1, "echo", agent.SearchTool, "mcp__b_thing7", "mcp__a_thing7")
			w.wantOffered(2, "echo", agent.SearchTool, "mcp__b_thing7", "mcp__a_thing7", "mcp__a_thing3")
			reqs := w.script.Requests()
			if got := reqs[0].Tools[1].Description; !strings.HasPrefix(got, "Sources:\n- a: 30 tools (thing0, thing1") || !strings.Contains(got, "\n- b: 30 tools") {
				t.Errorf("the catalogue is %q", got)
			}
			for _, req := range reqs[1:] {
				if req.System != reqs[0].System || req.Tools[1].Description != reqs[0].Tools[1].Description {
					t.Error("what the model has found changes the beginning of the request")
				}
			}
			want := map[string][]string{"c1": {"mcp__b_thing7", "mcp__a_thing7"}}
			if diff := cmp.Diff(want, reqs[1].Search.Found); diff != "" || reqs[1].Search.Tool != agent.SearchTool {
				t.Errorf("(-want +got):\n%s", diff)
			}
			last := reqs[len(reqs)-1]
			var results []string
			for i := range last.Messages {
				if m := &last.Messages[i]; m.Role == providers.RoleTool {
					results = append(results, m.Text())
				}
			}
			if diff := cmp.Diff([]string{
				"found mcp__b_thing7 mcp__a_thing7; known ; 31 of 60",
				"ran mcp__b_thing7",
				"ran mcp__a_thing3", // without a search
				"found ; known mcp__a_thing7 mcp__b_thing7; 0 of 60",
				`invalid tool input: unknown tool "mcp__c_thing"; the tools are echo, search_tools, mcp__b_thing7, mcp__a_thing7, mcp__a_thing3; search_tools finds 60 tools more`,
				"the query must contain at least one letter or number",
			}, results); diff != "" {
				t.Errorf("results (-want +got):\n%s", diff)
			}
		},
		providertest.Step{providertest.Call("c1", agent.SearchTool, say("thing7 of b"))},
		providertest.Step{providertest.Call("c2", "mcp__b_thing7", `{}`), providertest.Call("c3", "mcp__a_thing3", `{}`)},
		providertest.Step{providertest.Call("c4", agent.SearchTool, say("thing7")), providertest.Call("c5", "mcp__c_thing", `{}`), providertest.Call("c6", agent.SearchTool, say("?"))},
		providertest.Step{providertest.Text("done")},
	)
}

// What the model has found belongs to the branch, and a session that is loaded again has it.
func TestDiscovery_Kept(t *testing.T) {
	log := new(memoryLog)
	keep := func(o *agent.Options) {
		discovering(discovery.MCP, 3, "a")(o)
		o.Log = log
	}
	run(
		t, keep, func(w *world) {
			w.prompt("one")
			w.prompt("two")
			w.wantOffered(2, "echo", agent.SearchTool, "mcp__a_thing1")
		},
		providertest.Step{providertest.Call("c1", agent.SearchTool, say("thing1"))}, providertest.Step{providertest.Text("1")},
		providertest.Step{providertest.Text("2")},
	)
	log.closed = false
	load := func(o *agent.Options) {
		keep(o)
		history, err := log.Messages()
		if err != nil {
			t.Fatal(err)
		}
		o.History = history
	}
	run(t, load, func(w *world) {
		w.prompt("three")
		w.wantOffered(0, "echo", agent.SearchTool, "mcp__a_thing1")
		if got := w.script.Requests()[0].Search.Found["c1"]; !slices.Equal(got, []string{"mcp__a_thing1"}) {
			t.Errorf("after a load the call found %q", got)
		}
	}, providertest.Step{providertest.Text("3")})
}

// The prompt that a model refuses leaves the conversation, and with it what the model found in that turn.
func TestDiscovery_Branch(t *testing.T) {
	run(
		t, discovering(discovery.MCP, 3, "a"), func(w *world) {
			w.prompt("one")
			w.prompt("two")
			w.wantOffered(1, "echo", agent.SearchTool, "mcp__a_thing1")
			w.wantOffered(2, "echo", agent.SearchTool)
		},
		providertest.Step{providertest.Call("c1", agent.SearchTool, say("thing1"))},
		providertest.Step{providertest.Text("no"), providertest.Stop(providers.StopRefusal)},
		providertest.Step{providertest.Text("2")},
	)
}

func TestDiscovery_Modes(t *testing.T) {
	hi := providertest.Step{providertest.Text("hi")}
	first := func(n int) []string {
		all := []string{"echo"}
		for i := range n {
			all = append(all, fmt.Sprintf("mcp__a_thing%d", i))
		}
		return all
	}
	run(t, discovering(discovery.Auto, 38, "a"), func(w *world) {
		w.prompt("few")
		w.wantOffered(0, first(38)...)
		if w.script.Requests()[0].Search != nil {
			t.Error("the request has a search")
		}
	}, hi)
	run(t, discovering(discovery.All, 1, "a"), func(w *world) {
		w.prompt("all")
		w.wantOffered(0, agent.SearchTool)
	}, hi)
	run(t, discovering(discovery.Off, 200, "a"), func(w *world) {
		w.prompt("off")
		w.prompt("again")
		w.wantOffered(0, first(127)...)
		const title = "notice The model cannot take all tools, so some are left out. With tools.discovery: auto in config.yml it can search for them."
		if got := slices.DeleteFunc(w.story(), func(line string) bool { return line != title }); len(got) != 1 {
			t.Errorf("%d notices", len(got))
		}
		detail := ""
		for _, ev := range w.events {
			if n, ok := ev.(agent.Noticed); ok {
				detail = n.Detail
			}
		}
		if detail != "a: 73 tools" {
			t.Errorf("the notice says %q", detail)
		}
	}, hi, hi)
	withoutFinder := func(o *agent.Options) {
		discovering(discovery.Auto, 0)(o)
		o.Tools = append(agent.Tools{echoTool()}, foreignTools("a", 50)...)
	}
	run(t, withoutFinder, func(w *world) {
		w.prompt("without the tool nothing is held back")
		w.wantOffered(0, first(50)...)
	}, hi)
}
