package agent_test

import (
	"context"
	"testing"

	"github.com/gajae-code/gjc/agent"
)

type firstValue struct{ closed *[]string }

func (v *firstValue) Close(context.Context) { *v.closed = append(*v.closed, "first") }

type secondValue struct{ closed *[]string }

func (v *secondValue) Close(context.Context) { *v.closed = append(*v.closed, "second") }

func TestValues(t *testing.T) {
	var closed []string
	values := agent.NewValues(nil)
	if _, ok := agent.LookupValue[*firstValue](values); ok {
		t.Error("LookupValue found a value that was not made")
	}
	one := agent.Value(values, func() *firstValue { return &firstValue{&closed} })
	agent.Value(values, func() *secondValue { return &secondValue{&closed} })
	if again := agent.Value(values, func() *firstValue { t.Error("made twice"); return nil }); again != one {
		t.Error("the second call got another value")
	}
	if found, ok := agent.LookupValue[*firstValue](values); !ok || found != one {
		t.Error("LookupValue did not find the value")
	}
	child := agent.NewValues(agent.NewValues(values))
	if child.Root() != values {
		t.Error("a grandchild has another root")
	}
	if agent.Value(child, func() *firstValue { return &firstValue{&closed} }) == one {
		t.Error("a child has its parent's value")
	}
	two := &firstValue{&closed}
	agent.SetValue(child, two)
	if found, _ := agent.LookupValue[*firstValue](child); found != two {
		t.Error("SetValue did not replace the value")
	}
	values.Close(t.Context())
	if got := len(closed); got != 2 || closed[0] != "second" {
		t.Errorf("closed: %v; want the newest first", closed)
	}
	agent.Value(values, func() *firstValue { return &firstValue{&closed} })
	if len(closed) != 3 {
		t.Error("a value that was made after Close is open")
	}
}
