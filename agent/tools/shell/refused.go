package shell

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/internal/boundary"
	"github.com/gajae-code/gjc/internal/lazyregexp"
)

// denied matches a line on which a program says that the system has refused something.
var denied = lazyregexp.New(`(?i)read-only file system|permission denied|operation not permitted|device or resource busy|\b(EROFS|EACCES|EPERM|EBUSY)\b`)

// unreachable matches what programs say if there is no way to a host.
var unreachable = lazyregexp.New(`(?i)could not resolve|name resolution|no such host|network is unreachable|no route to host|\b(ENOTFOUND|EAI_AGAIN|ENETUNREACH|EHOSTUNREACH)\b`)

// Limits of a search for what was refused.
const (
	maxDeniedLines = 50
	maxRefusals    = 5
)

// refusals returns what the boundary has refused to a command that failed, as far as its output and the proxy show.
func (r *bashRun) refusals(output string) []boundary.Refusal {
	if r.inside == nil {
		return nil
	}
	var found []boundary.Refusal
	add := func(refusal boundary.Refusal) {
		if slices.Contains(found, refusal) {
			return
		}
		if len(found) < maxRefusals {
			found = append(found, refusal)
		}
	}
	if e, ok := r.exec.(agent.EnclosedExecution); ok {
		for _, host := range e.RefusedHosts() {
			add(boundary.Refusal{Host: host})
		}
	}
	lines := 0
	for line := range strings.Lines(output) {
		if !denied().MatchString(line) {
			continue
		}
		if lines++; lines > maxDeniedLines {
			break
		}
		for _, path := range pathsIn(line) {
			if !filepath.IsAbs(path) {
				path = filepath.Join(r.command.dir, path)
			}
			if refusal, ok := r.inside.Refuses(path); ok {
				add(refusal)
				break
			}
		}
	}
	return found
}

// quotedPath matches what programs put between quotation marks: 'x', "x", ‘x’, `x'.
var quotedPath = lazyregexp.New("['\"‘`]([^'\"’`]+)['\"’`]")

// pathsIn returns the words of a line that may be paths: those in quotation marks first, and then the others from the end, because the
// name of the program comes first.
func pathsIn(line string) []string {
	var paths []string
	for _, m := range quotedPath().FindAllStringSubmatch(line, -1) {
		paths = append(paths, m[1])
	}
	words := strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune(" \t\r\n:,;'\"‘’`()[]<>=", r) })
	for _, word := range slices.Backward(words) {
		if strings.Trim(word, ".") != "" && strings.ContainsAny(word, "/.") {
			paths = append(paths, word)
		}
	}
	return paths
}

// settingRefusal begins git's message that it cannot change its settings. Some commands, such as "git push -u", succeed nevertheless.
const settingRefusal = "could not write config file"

// egressRefusal begins the page that the proxy shows for a host that it refuses; a program may take it for a success.
const egressRefusal = "gjc does not let this command reach "
