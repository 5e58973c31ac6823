package plugins

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"path"
	"path/filepath"
	"strings"
	"unicode"
)

// location says where a plugin or a marketplace comes from. Either Dir, URL or Market is set.
type location struct {
	// Dir is a directory, absolute after [location.resolve].
	Dir string
	// URL is the address of a git repository, and Ref a branch, tag or commit; empty for the default branch.
	URL, Ref string
	// Subdir is a slash-separated path below the top of the repository or directory; empty for the top.
	Subdir string
	// Plugin is the name of a plugin in the marketplace Market.
	Plugin, Market string
}

// errLocation is wrapped by the error for a source that cannot be parsed.
var errLocation = errors.New("it must be ./DIRECTORY, URL[#REF[:SUBDIRECTORY]], OWNER/REPOSITORY[@REF] or NAME@MARKETPLACE")

// parseLocation parses a source as users write it. A directory begins with a dot, "~" or a separator, so that its name cannot be taken for
// a repository.
func parseLocation(s string) (*location, error) {
	bad := badLocation(s)
	switch {
	case s == "" || len(s) > 2000:
		return bad("it is empty or too long")
	case strings.ContainsFunc(s, func(r rune) bool { return unicode.IsControl(r) || r == unicode.ReplacementChar }):
		return bad("it has a control character")
	case strings.HasPrefix(s, "-"):
		return bad("it begins with -")
	case strings.HasPrefix(s, ".") || strings.HasPrefix(s, "/") || strings.HasPrefix(s, "~") || filepath.IsAbs(s):
		return &location{Dir: s}, nil
	}
	if strings.Contains(s, "://") || isSCP(s) {
		return parseURL(s, bad)
	}
	if owner, rest, ok := strings.Cut(s, "/"); ok {
		repo, ref, _ := strings.Cut(rest, "@")
		if !validName(owner) || !validName(repo) {
			return bad("it is not a repository of GitHub")
		}
		return check(&location{URL: "https://github.com/" + owner + "/" + repo, Ref: ref}, bad)
	}
	name, market, ok := strings.Cut(s, "@")
	if !ok || !validName(name) || !validName(market) {
		return bad("it names no marketplace")
	}
	return &location{Plugin: name, Market: market}, nil
}

// badLocation returns a function that makes the error for a source.
func badLocation(s string) badFunc {
	return func(format string, args ...any) (*location, error) {
		return nil, fmt.Errorf("the source %q: %s; %w", s, fmt.Sprintf(format, args...), errLocation)
	}
}

type badFunc func(format string, args ...any) (*location, error)

func parseURL(s string, bad badFunc) (*location, error) {
	address, fragment, _ := strings.Cut(s, "#")
	ref, subdir, _ := strings.Cut(fragment, ":")
	return check(&location{URL: address, Ref: ref, Subdir: subdir}, bad)
}

// check checks the parts of a source that git receives, whether a user or a marketplace has written them.
func check(spec *location, bad badFunc) (*location, error) {
	if strings.HasPrefix(spec.Ref, "-") || strings.ContainsFunc(spec.Ref, func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r) || strings.ContainsRune("~^:?*[\\", r)
	}) ||
		strings.Contains(spec.Ref, "..") {
		return bad("%q is not a branch, tag or commit", spec.Ref)
	}
	if spec.Subdir != "" {
		if spec.Subdir = path.Clean(spec.Subdir); spec.Subdir == "." {
			spec.Subdir = ""
		} else if !fs.ValidPath(spec.Subdir) || strings.ContainsAny(spec.Subdir, "\\:") {
			return bad("%q is not a directory below the top", spec.Subdir)
		}
	}
	if spec.Dir != "" || isSCP(spec.URL) {
		return spec, nil
	}
	u, err := url.Parse(spec.URL)
	if err != nil {
		return bad("the address is not valid")
	}
	switch u.Scheme {
	case "https", "ssh":
		if u.Hostname() == "" || strings.HasPrefix(u.Host, "-") || strings.HasPrefix(u.User.Username(), "-") {
			return bad("the address has no valid host")
		}
		if _, secret := u.User.Password(); secret {
			return bad("the address has a password, which would be kept in plugins/lock.json; use a credential helper of git")
		}
	case "file":
		if u.Path == "" {
			return bad("the address has no path")
		}
	case "http", "git":
		return bad("with %s anyone in the network could replace the plugin; use https", u.Scheme)
	default:
		return bad("the scheme %q is not supported", u.Scheme)
	}
	return spec, nil
}

// isSCP reports whether s is an address of the form user@host:path.
func isSCP(s string) bool {
	s, _, _ = strings.Cut(s, "#")
	before, after, ok := strings.Cut(s, ":")
	user, host, at := strings.Cut(before, "@")
	return ok && at && validName(user) && validName(host) && after != "" && !strings.HasPrefix(after, "-") && !strings.Contains(s, "://") && !strings.ContainsFunc(s, unicode.IsSpace)
}

// validName reports whether s can be the name of a plugin: letters, digits, "-", "_" and "." inside.
func validName(s string) bool {
	if s == "" || len(s) > 64 || strings.ContainsRune("-.", rune(s[0])) || strings.HasSuffix(s, ".") {
		return false
	}
	return !strings.ContainsFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' || r == '.')
	})
}

// resolve makes a directory absolute. Relative ones are below base, and "~" is home.
func (s *location) resolve(base, home string) {
	if s.Dir == "" {
		return
	}
	if rest, ok := strings.CutPrefix(s.Dir, "~"); ok && home != "" && (rest == "" || strings.HasPrefix(rest, "/")) {
		s.Dir = filepath.Join(home, filepath.FromSlash(rest))
	}
	if !filepath.IsAbs(s.Dir) {
		s.Dir = filepath.Join(base, filepath.FromSlash(s.Dir))
	}
	s.Dir = filepath.Clean(s.Dir)
}

// String returns the source as a user could write it.
func (s *location) String() string {
	switch {
	case s.Market != "":
		return s.Plugin + "@" + s.Market
	case s.Dir != "":
		return filepath.Join(s.Dir, filepath.FromSlash(s.Subdir))
	}
	text := s.URL
	if s.Ref != "" || s.Subdir != "" {
		text += "#" + s.Ref
	}
	if s.Subdir != "" {
		text += ":" + s.Subdir
	}
	return text
}
