package agent_test

import (
	"encoding/base64"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/providertest"
)

func kindOf(err error) providers.ErrorKind {
	if e, ok := errors.AsType[*providers.Error](err); ok {
		return e.Kind
	}
	return ""
}

// After an empty answer the model is asked again, the second time with an explanation. After that, an empty answer is an error.
func TestEmptyResponse(t *testing.T) {
	nothing := providertest.Step{providertest.Text(" \n"), providertest.Use(providers.Usage{Input: 1})}
	thought := providertest.Step{providertest.Think("hm"), providertest.Use(providers.Usage{Input: 1})}
	run(t, func(o *agent.Options) { o.Model.Cost = dear }, func(w *world) {
		if r := w.prompt("go"); r.Err != nil || r.Usage.Input != 1+1+10 {
			t.Errorf("%+v", r)
		}
		reqs := w.script.Requests()
		if len(reqs) != 3 || len(reqs[1].Messages) != 1 || len(reqs[2].Messages) != 2 || !strings.Contains(reqs[2].Messages[1].Text(), "was empty") {
			t.Errorf("%d requests", len(reqs))
		}
		if snap, _ := w.session.Snapshot(); snap.CostUSD != 12+50 {
			t.Errorf("cost %v", snap.CostUSD)
		}
	}, nothing, thought, providertest.Step{providertest.Text("ok")})
	run(t, nil, func(w *world) {
		if r := w.prompt("go"); kindOf(r.Err) != agent.ErrorEmptyResponse || len(w.script.Requests()) != 3 {
			t.Errorf("%+v after %d requests", r, len(w.script.Requests()))
		}
		if r := w.prompt("again"); r.Err != nil { // the limit applies to one turn
			t.Errorf("%+v", r)
		}
	}, nothing, thought, nothing, nothing, providertest.Step{providertest.Text("ok")})
}

// loop is a model that emits text in small pieces and never ends by itself.
func loop(begin, block string) providertest.Step {
	step := providertest.Step{providertest.Text(begin)}
	return append(step, providertest.Repeat(100_000/len(block)+1, func(int) providertest.Action { return providertest.Text(block) })...)
}

// A model that repeats itself endlessly is interrupted. It gets one more attempt.
func TestRepetition(t *testing.T) {
	run(t, nil, func(w *world) {
		if r := w.prompt("go"); r.Err != nil {
			t.Errorf("%+v", r)
		}
		reqs := w.script.Requests()
		if len(reqs) != 2 || len(reqs[1].Messages) != 3 {
			t.Fatalf("%d requests", len(reqs))
		}
		if got := reqs[1].Messages[1].Text(); got != "Let me see. I will do it.\n…" {
			t.Errorf("kept %q", got)
		}
		if got := reqs[1].Messages[2].Text(); !strings.Contains(got, "over and over") {
			t.Errorf("the model got %q", got)
		}
		if got := notices(w); len(got) != 1 || !strings.Contains(got[0], "repeated itself") {
			t.Errorf("noticed %q", got)
		}
	}, loop("Let me see. ", "I will do it.\n"), providertest.Step{providertest.Text("ok")})
	run(t, nil, func(w *world) {
		r := w.prompt("go")
		if kindOf(r.Err) != agent.ErrorRepetition || len(w.script.Requests()) != 2 {
			t.Errorf("%+v after %d requests", r, len(w.script.Requests()))
		}
	}, loop("", "ha"), providertest.Step{providertest.Think("x"), providertest.Call("c", "echo", slices.Repeat([]string{"\n\n  "}, 100_000)...)})
}

// Long regular text is not cut.
func TestRepetition_NearMisses(t *testing.T) {
	var table, list, code, noise strings.Builder
	for i := range 4000 {
		fmt.Fprintf(&table, "| row %4d | ✓ | ✓ | ✓ | none |\n", i)
		fmt.Fprintf(&list, "- [ ] check file%d.go\n", i)
		fmt.Fprintf(&code, "\tcase %d:\n\t\treturn nil\n", i)
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range 60_000 {
		noise.WriteByte(byte(random.IntN(256)))
	}
	for name, text := range map[string]string{
		"a table": table.String(), "a list": list.String(), "code": code.String(),
		"base64":         base64.StdEncoding.EncodeToString([]byte(noise.String())),
		"zeros":          "x := [...]int{" + strings.Repeat("0, ", 5000) + "}",
		"a line":         strings.Repeat("=", 10_000),
		"long blocks":    strings.Repeat(noise.String()[:2500], 12),
		"ASCII art":      strings.Repeat(strings.Repeat(" ", 70)+"*\n", 200),
		"a broken cycle": strings.Repeat(strings.Repeat("all work and no play\n", 700)+"but\n", 4),
	} {
		text = strings.ToValidUTF8(text, "?")
		run(t, nil, func(w *world) {
			if r := w.prompt("go"); r.Err != nil || len(w.script.Requests()) != 1 {
				t.Errorf("%s: %+v after %d requests", name, r, len(w.script.Requests()))
			}
		}, providertest.Step{providertest.Text(text)})
	}
}

// leak is the example of the corpus.
const leak = "~ add_function(iso, ctx, ns, \"installSystemChangeObserver\",\n os_install_system_change_observer);】【\"】【analysis to=functions.echo\n code above เงินไทยฟรีuser to=functions.echo code …"

// A call that contains a leak does not run, and the model receives the reason. When the model no longer sees the leak, it sends the
// call again. A conversation about the protocol is left unchanged.
func TestLeak(t *testing.T) {
	input, err := jsonx.Marshal(map[string]string{"say": leak})
	if err != nil {
		t.Fatal(err)
	}
	dirty := providertest.Step{providertest.Call("c1", "echo", string(input))}
	clean := providertest.Step{providertest.Call("c2", "echo", `{"say":"clean"}`)}
	done := providertest.Step{providertest.Text("done")}
	asGPT := func(o *agent.Options) { o.Model.ID = "gpt-5.4" }
	run(t, asGPT, func(w *world) {
		if r := w.prompt("go"); r.Err != nil {
			t.Errorf("%+v", r)
		}
		last := w.script.Requests()[2].Messages
		if call := last[1].ToolCalls()[0]; string(call.Input) != "{}" || !last[2].IsError || !strings.Contains(last[2].Text(), "did not run") || last[4].Text() != "clean" {
			t.Errorf("the model sees %s, %q, %q", call.Input, last[2].Text(), last[4].Text())
		}
	}, dirty, clean, done)
	run(t, asGPT, func(w *world) {
		if r := w.prompt("go"); kindOf(r.Err) != agent.ErrorProtocolLeak || len(w.script.Requests()) != 3 {
			t.Errorf("%+v after %d requests", r, len(w.script.Requests()))
		}
	}, dirty, dirty, dirty)
	run(t, asGPT, func(w *world) {
		if r := w.prompt("go"); r.Err != nil {
			t.Errorf("%+v", r)
		}
		last := w.script.Requests()[1].Messages
		if last[1].Text() != "I will." || !strings.Contains(last[2].Text(), "was cut off") {
			t.Errorf("the model sees %q, %q", last[1].Text(), last[2].Text())
		}
	}, providertest.Step{providertest.Text("I will. analysis to=functions.echo code 大发时时彩")}, done)
	for name, change := range map[string]struct {
		options func(*agent.Options)
		prompt  string
	}{
		"another family":   {nil, "go"},
		"the topic itself": {asGPT, "write a test for to=functions.echo leaks"},
	} {
		run(t, change.options, func(w *world) {
			if r := w.prompt(change.prompt); r.Err != nil || w.script.Requests()[1].Messages[2].Text() != leak {
				t.Errorf("%s: %+v", name, r)
			}
		}, dirty, done)
	}
}

// An answer that consists only of leaked protocol still counts toward the cost.
func TestLeak_Counts(t *testing.T) {
	run(t, func(o *agent.Options) { o.Model.ID, o.Model.Cost = "gpt-5.4", dear }, func(w *world) {
		if r := w.prompt("go"); r.Err != nil {
			t.Errorf("%+v", r)
		}
		if snap, _ := w.session.Snapshot(); snap.CostUSD != 3+10*5+4+10*1 {
			t.Errorf("cost %v", snap.CostUSD)
		}
	}, providertest.Step{providertest.Text("analysis to=functions.echo code 大发时时彩"), using(3, 5)}, providertest.Step{providertest.Text("ok"), using(4, 1)})
}

// The calls of a turn that ends because of leaks are charged too.
func TestLeak_CallsCount(t *testing.T) {
	input, err := jsonx.Marshal(map[string]string{"say": leak})
	if err != nil {
		t.Fatal(err)
	}
	dirty := providertest.Step{providertest.Call("c1", "echo", string(input)), using(2, 1)}
	run(t, func(o *agent.Options) { o.Model.ID, o.Model.Cost = "gpt-5.4", dear }, func(w *world) {
		if r := w.prompt("go"); kindOf(r.Err) != agent.ErrorProtocolLeak || r.Usage.Input != 3*2 {
			t.Errorf("%+v", r)
		}
		if snap, _ := w.session.Snapshot(); snap.CostUSD != 3*(2+10*1) {
			t.Errorf("cost %v", snap.CostUSD)
		}
	}, dirty, dirty, dirty)
}
