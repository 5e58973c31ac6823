package conformance

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/internal/testenv"
)

// TestReference checks that docs/reference/conformance.md lists the checks. -update rewrites the document.
func TestReference(t *testing.T) {
	var doc strings.Builder
	area := ""
	counts := map[Tier]int{}
	for _, c := range Checks() {
		counts[c.Tier]++
		if a := c.area(); a != area {
			area = a
			fmt.Fprintf(&doc, "\n## %s\n\n| Check | Tier | Requirement | From |\n|---|---|---|---|\n", area)
		}
		fmt.Fprintf(&doc, "| `%s` | %s | %s | %s |\n", c.ID, c.Tier, c.Requirement, c.Spec)
	}
	testenv.Document(t, "docs/reference/conformance.md", fmt.Sprintf("# Checks of the conformance suite\n\n%d checks: %d must, %d capability, %d should. [Conformance](../conformance.md) "+
		"explains the tiers. `gjc-conformance --list` prints the same list.\n%s", len(Checks()), counts[TierMust], counts[TierCapability], counts[TierShould], doc.String()))
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
