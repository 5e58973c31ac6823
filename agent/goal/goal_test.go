package goal_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/agent/goal"
	"github.com/gajae-code/gjc/sessions"
)

func at(minute int) time.Time { return time.Date(2026, 11, 1, 10, minute, 0, 0, time.UTC) }

func entry(t *testing.T, e sessions.Custom, err error) sessions.Entry {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// What is stored is loaded again, with the use that was recorded last for the same goal.
func TestOf(t *testing.T) {
	one, err := goal.New(" one ", 50, at(0))
	if err != nil {
		t.Fatal(err)
	}
	used := one.Used(goal.Use{Tokens: 7, Milliseconds: 1500}, at(1))
	blocked := used.To(goal.Blocked, strings.Repeat("é", 2000), at(2))
	two, err := goal.New("two", 0, at(3))
	if err != nil {
		t.Fatal(err)
	}
	var dropped *goal.Goal
	set := func(g *goal.Goal) sessions.Entry {
		e, err := g.Entry()
		return entry(t, e, err)
	}
	use := func(g *goal.Goal) sessions.Entry {
		e, err := g.UseEntry()
		return entry(t, e, err)
	}
	onlyUsed := *one
	onlyUsed.Use = used.Use
	for _, tt := range []struct {
		name   string
		branch []sessions.Entry
		want   *goal.Goal
	}{
		{"none", []sessions.Entry{sessions.ModeChange{Mode: "plan"}}, nil},
		{"set", []sessions.Entry{set(one)}, one},
		{"used", []sessions.Entry{set(one), use(two), use(used)}, &onlyUsed},
		{"blocked", []sessions.Entry{set(one), use(used), set(blocked)}, blocked},
		{"another", []sessions.Entry{set(one), use(used), set(two)}, two},
		{"dropped", []sessions.Entry{set(one), set(dropped), use(used)}, nil},
	} {
		if diff := cmp.Diff(tt.want, goal.Of(tt.branch)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
	if n := len([]rune(blocked.Reason)); n > 1000 {
		t.Errorf("the reason has %d characters", n)
	}
}

// Data of another program or of a damaged file is no goal; bad use is ignored.
func TestLoad_Bad(t *testing.T) {
	for _, stored := range []string{"", "null", "7", "{", `{}`, `{"objective":"x"}`, `{"objective":"x","status":"odd"}`, `{"objective":"","status":"active"}`, `{"objective":["x"],"status":"active"}`} {
		if g := goal.Load([]byte(stored), nil); g != nil {
			t.Errorf("%s: %+v", stored, g)
		}
	}
	if g := goal.Load([]byte(`{"objective":"x","status":"active","tokens":3}`), []byte(`{"tokens":"many"}`)); g == nil || g.Tokens != 3 {
		t.Errorf("got %+v", g)
	}
}

// A goal that has used its budget gets another one when it is resumed; others keep theirs.
func TestGoal_Resume(t *testing.T) {
	for _, tt := range []struct{ budget, used, again, want int }{{50, 60, 50, 110}, {50, 20, 70, 50}, {0, 60, 50, 0}} {
		g, err := goal.New("x", tt.budget, at(0))
		if err != nil {
			t.Fatal(err)
		}
		g = g.Used(goal.Use{Tokens: tt.used}, at(1)).To(goal.Limited, "because", at(2)).Resume(tt.again, at(3))
		if g.Budget != tt.want || g.Status != goal.Active || g.Reason != "" || !g.Updated.Equal(at(3)) || !g.Created.Equal(at(0)) {
			t.Errorf("%+v: %+v", tt, g)
		}
	}
}
