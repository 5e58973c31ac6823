package conformance

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/internal/testenv"
)

// TestDocument holds the list in docs/conformance.md to the checks. -update rewrites it.
func TestDocument(t *testing.T) {
	var doc strings.Builder
	area := ""
	counts := map[Tier]int{}
	for _, c := range Checks() {
		counts[c.Tier]++
		if a := c.area(); a != area {
			area = a
			fmt.Fprintf(&doc, "\n### %s\n\n| Check | Tier | Requirement | From |\n|---|---|---|---|\n", area)
		}
		fmt.Fprintf(&doc, "| `%s` | %s | %s | %s |\n", c.ID, c.Tier, c.Requirement, c.Spec)
	}
	list := fmt.Sprintf("\n%d checks: %d must, %d capability, %d should. Made by `go test ./conformance -run Document -update`.\n%s",
		len(Checks()), counts[TierMust], counts[TierCapability], counts[TierShould], doc.String())
	path := filepath.Join(testenv.ModuleRoot(t), "docs", "conformance.md")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const heading = "## The checks\n"
	before, _, ok := strings.Cut(string(text), heading)
	if !ok {
		t.Fatalf("%s has no heading %q", path, heading)
	}
	want := before + heading + list
	if testenv.Update() {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, string(text)); diff != "" {
		t.Errorf("the document is not what the checks are; run the test with -update (-want +got):\n%s", diff)
	}
}

// The table of checks is well formed.
func TestChecks(t *testing.T) {
	seen := make(map[string]bool)
	areas := make(map[string]bool)
	area := ""
	for _, c := range Checks() {
		if seen[c.ID] || strings.ToLower(c.ID) != c.ID || !strings.Contains(c.ID, ".") {
			t.Errorf("the id %q is taken, or odd", c.ID)
		}
		seen[c.ID] = true
		if a := c.area(); a != area {
			if areas[a] {
				t.Errorf("%s stands apart from its area", c.ID)
			}
			area, areas[a] = a, true
		}
		if c.Tier != TierMust && c.Tier != TierCapability && c.Tier != TierShould {
			t.Errorf("%s has the tier %q", c.ID, c.Tier)
		}
		if !strings.HasSuffix(c.Requirement, ".") || strings.Contains(c.Requirement, "|") || c.Spec == "" || c.run == nil {
			t.Errorf("%s is not complete: %+v", c.ID, c)
		}
	}
}
