package agent_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/providertest"
	"github.com/gajae-code/gjc/sessions"
)

// chain is a chain of models, each followed by the next one. A model without a script cannot be opened.
type chain struct {
	infos   []providers.ModelInfo
	scripts map[string]*providertest.Script
	round   bool // the first one follows the last
	level   providers.ThinkingLevel
}

func newChain(round bool, ids ...string) *chain {
	c := &chain{scripts: make(map[string]*providertest.Script), round: round}
	for _, id := range ids {
		c.infos = append(c.infos, providers.ModelInfo{Provider: "test", ID: id, ContextWindow: 1000})
	}
	return c
}

// speak sets the steps of a model in the chain. It must be called inside the bubble.
func (c *chain) speak(id string, steps ...providertest.Step) {
	c.scripts[id] = providertest.NewScript(c.infos[c.at("test/"+id)], steps...)
}

func (c *chain) at(ref string) int {
	return slices.IndexFunc(c.infos, func(i providers.ModelInfo) bool { return i.Ref() == ref })
}

func (c *chain) Find(ref string) (providers.ModelInfo, providers.ThinkingLevel, error) {
	if i := c.at(ref); i >= 0 {
		return c.infos[i], "", nil
	}
	return providers.ModelInfo{}, "", errors.New("no such model")
}

func (c *chain) Lookup(ref string) (providers.ModelInfo, bool) {
	info, _, err := c.Find(ref)
	return info, err == nil
}

func (c *chain) Open(ctx context.Context, info providers.ModelInfo) (providers.Model, error) {
	if s := c.scripts[info.ID]; s != nil {
		return s, nil
	}
	return nil, &providers.Error{Kind: providers.KindAuth, Provider: "test", Message: "no key for " + info.ID}
}

func (c *chain) Fallback(
	info providers.ModelInfo, err error, tried map[string]bool,
) (providers.ModelInfo, providers.ThinkingLevel, bool) {
	rest := c.infos[c.at(info.Ref())+1:]
	if c.round {
		rest = slices.Concat(rest, c.infos)
	}
	i := slices.IndexFunc(rest, func(m providers.ModelInfo) bool { return !tried[m.Ref()] })
	if e, ok := errors.AsType[*providers.Error](err); !ok || !e.Unavailable() || i < 0 {
		return providers.ModelInfo{}, "", false
	}
	return rest[i], c.level, true
}

func failing(kind providers.ErrorKind) providertest.Step {
	return providertest.Step{providertest.Fail(&providers.Error{Kind: kind, Provider: "test", Message: "no: " + string(kind)})}
}

// An unavailable model is replaced for good by the next available one of its chain, and the user is notified.
func TestFallback(t *testing.T) {
	c := newChain(false, "a", "locked", "b")
	run(t, func(o *agent.Options) { noJitter(o); o.Model, o.Models = c.infos[0], c }, func(w *world) {
		c.speak("a", failing(providers.KindQuota))
		c.speak("b", providertest.Step{providertest.Text("one")}, providertest.Step{providertest.Text("two")})
		for range 2 {
			if r := w.prompt("go"); r.Err != nil || r.Stop != agent.StopEndTurn {
				t.Errorf("%+v", r)
			}
		}
		if got := notices(w); !slices.Equal(got, []string{"test/a is not available; continuing with test/b."}) {
			t.Errorf("noticed %q", got)
		}
		configs := 0
		for _, ev := range w.events {
			if now, ok := ev.(agent.ConfigChanged); ok {
				configs++
				if now.Now.Model.ID != "b" {
					t.Errorf("the option is %s", now.Now.Model.Ref())
				}
			}
		}
		var changes []sessions.ModelChange
		for _, e := range branchOf(t, w.log) {
			if m, ok := e.(sessions.ModelChange); ok {
				m.Base = sessions.Base{}
				changes = append(changes, m)
			}
		}
		want := []sessions.ModelChange{{Model: "test/b", PreviousModel: "test/a", Reason: "fallback"}}
		if d := cmp.Diff(want, changes); d != "" || configs != 1 {
			t.Errorf("%d updates of the option, log (-want +got):\n%s", configs, d)
		}
	})
}

// The session keeps the level that the chain specifies for a model, as far as the model supports it.
func TestFallback_Level(t *testing.T) {
	c := newChain(false, "a", "b")
	c.level = providers.ThinkingMax
	for i := range c.infos {
		c.infos[i].Thinking = []providers.ThinkingLevel{providers.ThinkingLow, providers.ThinkingHigh}
	}
	run(t, func(o *agent.Options) {
		noJitter(o)
		o.Model, o.Models, o.Thinking = c.infos[0], c, providers.ThinkingLow
	}, func(w *world) {
		c.speak("a", failing(providers.KindQuota))
		c.speak("b", providertest.Step{providertest.Text("one")})
		w.prompt("go")
		snap, _ := w.session.Snapshot()
		asked := c.scripts["b"].Requests()
		if snap.Model.ID != "b" || snap.Thinking != providers.ThinkingHigh || len(asked) != 1 || asked[0].Thinking != providers.ThinkingHigh {
			t.Errorf("%s at %s, asked %+v", snap.Model.ID, snap.Thinking, asked)
		}
	})
}

// A turn goes through the chain once, and the error of the last model is the turn's error. An error that another model would return
// too, or a short wait, does not change the model.
func TestFallback_Ends(t *testing.T) {
	for _, tt := range []struct {
		name     string
		a, b     []providertest.Step
		model    string // at the end
		requests int
		fails    string
	}{
		{"all are down", slices.Repeat([]providertest.Step{failing(providers.KindServer)}, 4), slices.Repeat([]providertest.Step{failing(providers.KindOverloaded)}, 4), "b", 8, "test: no: overloaded (tried 4 times)"},
		{"a retry helps", []providertest.Step{failing(providers.KindTimeout), {providertest.Text("ok")}}, nil, "a", 2, ""},
		{"refused", []providertest.Step{failing(providers.KindInvalid)}, nil, "a", 1, "test: no: invalid_request"},
		{"a wrong key", []providertest.Step{failing(providers.KindAuth)}, []providertest.Step{{providertest.Text("ok")}}, "a", 1, "test: no: auth"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := newChain(true, "a", "b")
			run(t, func(o *agent.Options) { noJitter(o); o.Model, o.Models = c.infos[0], c }, func(w *world) {
				c.speak("a", tt.a...)
				c.speak("b", tt.b...)
				r := w.prompt("go")
				if tt.fails == "" && r.Err != nil || tt.fails != "" && fmt.Sprint(r.Err) != tt.fails {
					t.Errorf("err %v", r.Err)
				}
				snap, _ := w.session.Snapshot()
				if n := len(c.scripts["a"].Requests()) + len(c.scripts["b"].Requests()); snap.Model.ID != tt.model || n != tt.requests {
					t.Errorf("%s after %d requests", snap.Model.ID, n)
				}
			})
		})
	}
}

// Without a key there is nothing to wait for: the user is notified, and no other account pays.
func TestFallback_WithoutAKey(t *testing.T) {
	c := newChain(false, "locked", "b")
	run(t, func(o *agent.Options) { o.Model, o.Models = c.infos[0], c }, func(w *world) {
		c.speak("b", providertest.Step{providertest.Text("ok")})
		if r := w.prompt("go"); kindOf(r.Err) != providers.KindAuth || len(c.scripts["b"].Requests()) != 0 {
			t.Errorf("%+v", r)
		}
	})
}
