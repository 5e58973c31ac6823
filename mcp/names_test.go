package mcp_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/mcp"
)

func TestToolName(t *testing.T) {
	tests := []struct{ server, tool, want string }{
		{"github", "create_issue", "mcp__github_create_issue"},
		{"GitHub", "createIssue", "mcp__github_createissue"},
		{"my server!", "get-sum", "mcp__my_server_get_sum"},
		{"s3", "list.v2", "mcp__s3_list_v2"},
		{"git", "git_log", "mcp__git_log"},
		{"git", "git-log", "mcp__git_log"},
		{"git", "git_", "mcp__git_git"},
		{"git", "git", "mcp__git_git"},
		{"git", "github_log", "mcp__git_github_log"},
		{"日本", "読む", "mcp__server_tool"},
		{"--a--", "__b__", "mcp__a_b"},
		{"", "", "mcp__server_tool"},
		{"a", "b  //  c", "mcp__a_b_c"},
		{"K", "ſ", "mcp__k_tool"},
		{"\u212A", "x", "mcp__server_x"}, // the Kelvin sign is not a k
	}
	for _, tt := range tests {
		if got := mcp.ToolName(tt.server, tt.tool); got != tt.want {
			t.Errorf("%q, %q: %s, want %s", tt.server, tt.tool, got, tt.want)
		}
	}
	a, b := mcp.ToolName("s", strings.Repeat("x", 100)+"a"), mcp.ToolName("s", strings.Repeat("x", 100)+"b")
	if a == b || len(a) > 64 || len(b) > 64 {
		t.Errorf("two long names became %s and %s", a, b)
	}
}

func TestNames(t *testing.T) {
	n := mcp.NewNames()
	give := func(server int, name, tool, want string, clash bool) {
		t.Helper()
		got, taken := n.Name(server, name, tool)
		if got != want || (taken != "") != clash {
			t.Errorf("%d %s %s: %s (%q), want %s", server, name, tool, got, taken, want)
		}
	}
	give(0, "a", "x", "mcp__a_x", false)
	give(0, "a", "X", "mcp__a_x_2", true)
	give(1, "A", "x", "mcp__a_x_3", true)
	give(0, "a", "x", "mcp__a_x", false)
	give(1, "A", "x", "mcp__a_x_3", false)
	give(0, "a", "x_2", "mcp__a_x_2_2", true)
	long := strings.Repeat("l", 200)
	first, _ := n.Name(2, "s", long)
	second, _ := n.Name(3, "s", long)
	if first == second || len(second) > 64 {
		t.Errorf("long names: %s, %s", first, second)
	}
	for i := range 50 {
		n.Name(4, "many", fmt.Sprint("t", i))
	}
	held := n.Held()
	n.Forget(4, 100, nil)
	if n.Held() != held {
		t.Error("names were forgotten too early")
	}
	n.Forget(4, 10, map[string]bool{"t7": true})
	if n.Held() != held-49 {
		t.Errorf("%d names are held, want %d", n.Held(), held-49)
	}
}

// FuzzToolName checks that the model APIs accept all names, whatever the servers' names are, and that no two tools share one.
func FuzzToolName(f *testing.F) {
	f.Add("git", "git_log", "GIT", "log")
	f.Add("", "", "\x00", "💥")
	f.Add(strings.Repeat("é", 99), strings.Repeat("a-", 99), "b", "_")
	f.Fuzz(func(t *testing.T, s1, t1, s2, t2 string) {
		good := regexp.MustCompile(`^mcp__[a-z0-9][a-z0-9_]*$`)
		n := mcp.NewNames()
		one, _ := n.Name(0, s1, t1)
		two, _ := n.Name(1, s2, t2)
		for _, name := range []string{one, two} {
			if !good.MatchString(name) || len(name) > 64 {
				t.Fatalf("%q", name)
			}
		}
		if one == two {
			t.Fatalf("both are %q", one)
		}
		if again, _ := n.Name(0, s1, t1); again != one {
			t.Fatalf("%q became %q", one, again)
		}
	})
}
