package approval

import (
	"testing"
)

// A member of an archive asks if its name is that of a file with secrets, however deep it is.
func TestFacts_H6SecretMembers(t *testing.T) {
	for member, secret := range map[string]bool{
		".env": true, "a/.ENV": true, `a\.env`: true, ".env:1-5": true, "b.tar:.env": true, "b.tar:c.zip:d/id_rsa:raw": true, "../../.env": true, "keys:.ssh/x": true, ".ssh": true,
		"": false, "docs/a.md": false, "a.md:1-5": false, "b.tar:a.md": false, ".env.example": false,
	} {
		for _, action := range []Action{ActionRead, ActionEdit} {
			e := &Effect{Action: action, Path: "/w/a.zip", Member: member}
			if f := FactsOf(new(Policy), "linux", "read", e, &Scope{Path: e.Path}, testPaths); len(f.Special) > 0 != secret {
				t.Errorf("%q: special %q, want %v", member, f.Special, secret)
			}
		}
	}
}

// Rules are for the archive's path, and those that do not allow are also for the member's name. One that allows an archive allows no
// member with secrets.
func TestFacts_H6Rules(t *testing.T) {
	for _, tt := range []struct {
		verdict      Verdict
		rule, member string
		want         Verdict
	}{
		{Deny, "read(a.zip)", "docs/a.md", Deny},
		{Deny, "read(*.md)", "docs/a.md", Deny},
		{Deny, "read(*.md)", "b.tar:docs/a.md:1-5", Deny},
		{Ask, "edit(docs/**)", "docs/a.md", Unruled},
		{Allow, "read(a.zip)", "docs/a.md", Allow},
		{Allow, "read(a.zip)", ".env", Unruled},
		{Allow, "read(*.md)", "docs/a.md", Unruled},
	} {
		r, err := ParseRule(tt.verdict, tt.rule)
		if err != nil {
			t.Fatal(err)
		}
		e := &Effect{Action: ActionRead, Path: "/w/a.zip", Member: tt.member}
		if f := FactsOf(&Policy{Rules: Rules{r}}, "linux", "read", e, &Scope{Path: e.Path}, testPaths); f.Rule != tt.want {
			t.Errorf("%s on %q: %d, want %d", tt.rule, tt.member, f.Rule, tt.want)
		}
	}
}

// An answer about a member with secrets is for that member.
func TestGrants_H6Members(t *testing.T) {
	scope := func(member string, special bool) *Scope {
		return &Scope{action: ActionRead, Path: "/w/a.zip", dir: "/w", member: member, Special: special}
	}
	show := func(path string) string { return path }
	if got, want := scope(".env", true).label(show), "reading /w/a.zip:.env"; got != want {
		t.Errorf("label %q, want %q", got, want)
	}
	for _, allowed := range []bool{true, false} {
		var g Grants
		remember(t, &g, scope(".env", true), allowed)
		for _, tt := range []struct {
			scope *Scope
			known bool
		}{{scope(".env", true), true}, {scope("id_rsa", true), false}, {scope("a.md", false), false}, {scope("", false), false}} {
			if got, known := g.lookup(tt.scope); known != tt.known || known && got != allowed {
				t.Errorf("%q: %v, %v", tt.scope.member, got, known)
			}
		}
	}
	var g Grants
	remember(t, &g, scope("", false), true)
	if _, known := g.lookup(scope(".env", true)); known {
		t.Error("an answer for the archive covers its secrets")
	}
	if _, known := g.lookup(scope("a.md", false)); !known {
		t.Error("an answer for the archive does not cover its other members")
	}
}
