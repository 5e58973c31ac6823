package agent_test

import (
	"context"
	"testing"

	"github.com/gajae-code/gjc/agent"
)

type keptThing struct{ closed *[]string }

func (k *keptThing) Close(context.Context) { *k.closed = append(*k.closed, "thing") }

type keptOther struct{ closed *[]string }

func (k *keptOther) Close(context.Context) { *k.closed = append(*k.closed, "other") }

func TestKept(t *testing.T) {
	var closed []string
	k := agent.NewKept(nil)
	one := agent.Keep(k, func() *keptThing { return &keptThing{&closed} })
	agent.Keep(k, func() *keptOther { return &keptOther{&closed} })
	if again := agent.Keep(k, func() *keptThing { t.Error("made twice"); return nil }); again != one {
		t.Error("the second call got another value")
	}
	child := agent.NewKept(agent.NewKept(k))
	if child.Root() != k {
		t.Error("the root of a child's child is another")
	}
	if agent.Keep(child, func() *keptThing { return &keptThing{&closed} }) == one {
		t.Error("a child has its parent's value")
	}
	k.Close(t.Context())
	if got := len(closed); got != 2 || closed[0] != "other" {
		t.Errorf("closed: %v; want the newest first", closed)
	}
	agent.Keep(k, func() *keptThing { return &keptThing{&closed} })
	if len(closed) != 3 {
		t.Error("a value that came too late is left open")
	}
}
