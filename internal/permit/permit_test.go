package permit_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/gajae-code/gjc/internal/permit"
)

type only string

func (o only) Check(e permit.Effect) error {
	if e.Path != string(o) {
		return errors.New("no")
	}
	return nil
}

func TestZero_PermitsNothing(t *testing.T) {
	for _, action := range []permit.Action{permit.Read, permit.Change, permit.Run, permit.Reach, ""} {
		e := permit.Effect{Action: action, Path: "/x"}
		if err := new(permit.Permit).Check(e); !errors.Is(err, permit.ErrNone) {
			t.Errorf("zero, %s: %v", action, err)
		}
		if err := permit.Check(context.Background(), e); !errors.Is(err, permit.ErrNone) {
			t.Errorf("no permit, %s: %v", action, err)
		}
	}
}

// The innermost permit counts: a call has no more than its own, whatever surrounds it.
func TestWith_Replaces(t *testing.T) {
	ctx := permit.With(permit.With(t.Context(), permit.Own()), permit.New(only("/a")))
	if err := permit.Check(ctx, permit.Effect{Action: permit.Read, Path: "/a"}); err != nil {
		t.Error(err)
	}
	if err := permit.Check(ctx, permit.Effect{Action: permit.Read, Path: "/b"}); err == nil {
		t.Error("a call reads what it has no leave for")
	}
	if err := permit.Check(permit.With(ctx, permit.Permit{}), permit.Effect{Action: permit.Read, Path: "/a"}); !errors.Is(err, permit.ErrNone) {
		t.Errorf("without a permit again: %v", err)
	}
}

// Before a call is decided on, it may read and run its helpers.
func TestPreparation_OnlyReads(t *testing.T) {
	p := permit.Preparation(func(path string) bool { return path == "/usr/bin/rg" })
	for _, e := range []permit.Effect{{Action: permit.Read, Path: "/w/a"}, {Action: permit.Look, Path: "/w"}, {Action: permit.Run, Path: "/usr/bin/rg"}} {
		if err := p.Check(e); err != nil {
			t.Error(err)
		}
	}
	for _, e := range []permit.Effect{{Action: permit.Change, Path: "/w/a"}, {Action: permit.Run, Path: "/bin/sh"}, {Action: permit.Reach, Host: "example.com"}, {}} {
		if err := p.Check(e); !errors.Is(err, permit.ErrNone) {
			t.Errorf("%+v: %v", e, err)
		}
	}
}

// A record has what was permitted, except the names that files have only while they are changed, and not what was refused.
func TestRecord(t *testing.T) {
	var r permit.Record
	ctx := permit.With(t.Context(), permit.Own().Recorded(&r))
	for _, e := range []permit.Effect{
		{Action: permit.Read, Path: "/w/r"},
		{Action: permit.Change, Path: "/w/b"},
		{Action: permit.Change, Path: "/w/a"},
		{Action: permit.Change, Path: "/w/b"},
		{Action: permit.Change, Path: "/w/aside"},
		{Action: permit.Run, Path: "/bin/rg"},
	} {
		if err := permit.Check(ctx, e); err != nil {
			t.Fatal(err)
		}
	}
	permit.Aside(ctx, "/w/aside")
	permit.Aside(t.Context(), "/w/b") // another context
	refusing := permit.With(ctx, permit.New(only("/w/c")).Recorded(&r))
	if err := permit.Check(refusing, permit.Effect{Action: permit.Change, Path: "/w/d"}); err == nil {
		t.Fatal("permitted")
	}
	if got := r.Changed(); !slices.Equal(got, []string{"/w/b", "/w/a"}) {
		t.Errorf("changed %q", got)
	}
	rg := func(path string) bool { return path == "/bin/rg" }
	if r.Ran(rg) || !r.Ran(func(string) bool { return false }) {
		t.Error("a helper counts as a program, or no program counts")
	}
	if err := permit.Check(ctx, permit.Effect{Action: permit.Run, Path: "/bin/sh"}); err != nil || !r.Ran(rg) {
		t.Error("a program does not count")
	}
}
