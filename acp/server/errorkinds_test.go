package server_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/acp/server"
	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/internal/testenv"
	"github.com/gajae-code/gjc/providers"
)

// TestErrorKinds checks that every kind is listed. The error of each failed model call says what to do next, also after retries, and when a
// limit ends.
func TestErrorKinds(t *testing.T) {
	root := testenv.ModuleRoot(t)
	var known []string
	for _, k := range server.ErrorKinds() {
		known = append(known, k[0])
	}
	for file, expr := range map[string]string{
		"providers/error.go":    `Kind\w+ ErrorKind = "(\w+)"`,
		"agent/recovery.go":     `providers.ErrorKind = "(\w+)"`,
		"acp/server/secrets.go": `providers.ErrorKind = "(\w+)"`,
		"acp/server/errors.go":  `(?:Kind: |acp\.ErrorCode\w+, )"(\w+)"`,
	} {
		code, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(file)))
		if err != nil {
			t.Fatal(err)
		}
		found := regexp.MustCompile(expr).FindAllStringSubmatch(string(code), -1)
		if len(found) == 0 {
			t.Errorf("%s has no kinds", file)
		}
		for _, f := range found {
			if !slices.Contains(known, f[1]) {
				t.Errorf("the kind %s of %s is not in the table", f[1], file)
			}
		}
	}
	resets := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, k := range server.ModelErrorKinds() {
		cause := &providers.Error{Kind: providers.ErrorKind(k[0]), Provider: "acme", Message: "it says why", Status: 500, ResetsAt: resets}
		e := server.WireError(fmt.Errorf("%w (tried 4 times)", cause))
		var data struct {
			Kind     string `json:"kind"`
			ResetsAt string `json:"resetsAt"`
		}
		if err := jsonx.Unmarshal(e.Data, &data); err != nil || data.Kind != k[0] || data.ResetsAt != "2030-01-02T03:04:05Z" {
			t.Errorf("%s: %s", k[0], e.Data)
		}
		if code := map[bool]acp.ErrorCode{true: acp.ErrorCodeAuthenticationRequired, false: acp.ErrorCodeInternalError}[k[0] == "auth"]; e.Code != code {
			t.Errorf("%s: code %d, want %d", k[0], e.Code, code)
		}
		want := "acme: it says why (HTTP 500) (tried 4 times); the limit resets at 2030-01-02 03:04 UTC. "
		if next, ok := strings.CutPrefix(e.Message, want); !ok || len(next) < 20 || !strings.HasSuffix(next, ".") {
			t.Errorf("%s: %q", k[0], e.Message)
		}
	}
	if e := server.WireError(&providers.Error{Kind: providers.KindRateLimit, Provider: "acme", RetryAfter: time.Hour}); !strings.Contains(string(e.Data), `"resetsAt":"`) {
		t.Errorf("a wait alone: %s", e.Data)
	}
	// Some causes need other advice than their kind.
	full := &providers.Error{Kind: providers.KindContextOverflow, Provider: "acme", Message: "too long"}
	if e := server.WireError(fmt.Errorf("%w: %w", full, agent.ErrNoRoom)); strings.Contains(e.Message, "/compact") || !strings.Contains(e.Message, "larger window") {
		t.Errorf("after a compaction that failed: %q", e.Message)
	}
	lost := &providers.Error{Kind: providers.KindInvalid, Provider: "acme", Message: "a web page; check the base URL"}
	if e := server.WireError(lost); !strings.HasSuffix(e.Message, "check the base URL.") {
		t.Errorf("a wrong address: %q", e.Message)
	}
	if e := server.WireError(errors.New("anything")); e != (*acp.Error)(nil) {
		t.Errorf("anything else: %v", e)
	}
}
