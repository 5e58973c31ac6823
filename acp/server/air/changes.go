package air

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/internal/jsonx"
)

// Limits of a report, as the extension states them.
const (
	maxPaths      = 1024
	maxPathLength = 4096       // in characters
	maxReport     = 256 * 1024 // in bytes
	maxRequestID  = 128
)

// reportOverhead is more than a report has besides its paths, in bytes.
const reportOverhead = 2048

// uncertainty explains an incomplete list.
const uncertainty = "Only files that gjc's own tools changed are listed. Commands, hooks and servers may have changed others, and so may a call that failed halfway."

// ReportRequest returns the ID with which the _meta of a prompt asks for a report on the files that the turn changes; empty for no
// request. A malformed request counts as none; the error, which is for a log, says what is wrong with it.
func ReportRequest(m acp.Meta) (id string, err error) {
	raw, err := lookup(m)
	if raw == nil || err != nil {
		return "", err
	}
	var air struct {
		Request jsonx.Raw `json:"agentFileChangeReportRequest"`
	}
	if err := jsonx.Unmarshal(raw, &air); err != nil {
		return "", fmt.Errorf("_meta.jetbrains.air: %w", err)
	}
	if jsonx.IsNull(air.Request) {
		return "", nil
	}
	var request map[string]jsonx.Raw
	if err := jsonx.Unmarshal(air.Request, &request); err != nil {
		return "", fmt.Errorf("agentFileChangeReportRequest: %w", err)
	}
	if len(request) != 2 || string(request["version"]) != "1" {
		return "", errors.New("agentFileChangeReportRequest must have the version 1, a requestId and nothing else")
	}
	if jsonx.Unmarshal(request["requestId"], &id) != nil || !validRequestID(id) {
		return "", errors.New("agentFileChangeReportRequest: the requestId must be 1 to 128 letters, digits, dots, colons, underscores and hyphens")
	}
	return id, nil
}

func validRequestID(id string) bool {
	return id != "" && len(id) <= maxRequestID && !strings.ContainsFunc(id, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("._:-", r)
	})
}

type (
	reported struct {
		Version          int      `json:"version"`
		RequestID        string   `json:"requestId"`
		Status           string   `json:"status"`
		Paths            []string `json:"paths"`
		DeclaredComplete bool     `json:"declaredComplete"`
		Truncated        bool     `json:"truncated"`
		Uncertainty      string   `json:"uncertainty,omitzero"`
	}
	unavailable struct {
		Version   int    `json:"version"`
		RequestID string `json:"requestId"`
		Status    string `json:"status"`
		Reason    string `json:"reason"`
	}
)

// Report returns the update with the report on a turn to the client that has asked for it with id. roots are the directories of the
// session: files elsewhere are left out, as are those over the limits; the report then says that it is truncated. asked reports whether a
// model was asked at all.
func Report(id string, roots []string, r *agent.TurnResult, asked bool) acp.SessionUpdate {
	u := new(acp.SessionInfoUpdate)
	no := func(reason string) acp.SessionUpdate {
		Set(&u.Meta, string(FileChangeReport), unavailable{version, id, "unavailable", reason})
		return u
	}
	switch {
	case r.Err != nil:
		return no("providerError")
	case r.Stop == agent.StopCancelled:
		return no("cancelled")
	case !asked && len(r.Changes.Paths) == 0:
		return no("notReported")
	}
	paths, truncated := listed(roots, r.Changes.Paths)
	report := reported{version, id, "reported", paths, !r.Changes.Incomplete && !truncated, truncated, ""}
	if r.Changes.Incomplete {
		report.Uncertainty = uncertainty
	}
	Set(&u.Meta, string(FileChangeReport), report)
	return u
}

// listed returns the paths that a report can have, and whether any is left out.
func listed(roots, all []string) (paths []string, truncated bool) {
	paths = []string{}
	seen := make(map[string]bool)
	size := reportOverhead
	for _, path := range all {
		path = filepath.Clean(path)
		if seen[path] {
			continue
		}
		seen[path] = true
		quoted, err := jsonx.Marshal(path)
		if err != nil || !listable(roots, path) || len(paths) == maxPaths || size+len(quoted)+1 > maxReport {
			truncated = true
			continue
		}
		size += len(quoted) + 1
		paths = append(paths, path)
	}
	return paths, truncated
}

// listable reports whether a report may have a path: a file below one of the roots, with a name that every client can show.
func listable(roots []string, path string) bool {
	if utf8.RuneCountInString(path) > maxPathLength || !utf8.ValidString(path) || strings.ContainsFunc(path, unicode.IsControl) {
		return false
	}
	for _, root := range roots {
		if rel, err := filepath.Rel(root, path); err == nil && rel != "." && filepath.IsLocal(rel) {
			return true
		}
	}
	return false
}
