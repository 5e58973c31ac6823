package lsp

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// errNotAFile is wrapped by the error for a URI that is not one of a file on this machine.
var errNotAFile = errors.New("not a file URI")

// FileURI returns the URI of an absolute path in the form of an operating system (GOOS). It percent-encodes all reserved
// characters.
func FileURI(path, goos string) string {
	host := ""
	if goos == "windows" {
		path = strings.ReplaceAll(path, `\`, "/")
		path = strings.TrimPrefix(path, "//?/") // the prefix of a long path
		if rest, unc := strings.CutPrefix(path, "UNC/"); unc {
			path = "//" + rest
		}
		if rest, share := strings.CutPrefix(path, "//"); share {
			host, path, _ = strings.Cut(rest, "/")
			path = "/" + path
		} else {
			if len(path) > 1 && path[1] == ':' { // most servers write drive letters in lower case
				path = strings.ToLower(path[:1]) + path[1:]
			}
			path = "/" + path
		}
	}
	return "file://" + escape(host, "") + escape(path, "/")
}

// escape percent-encodes s, except for unreserved characters and those in keep.
func escape(s, keep string) string {
	const hex = "0123456789ABCDEF"
	var b strings.Builder
	for _, c := range []byte(s) {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', strings.IndexByte("-._~", c) >= 0, strings.IndexByte(keep, c) >= 0:
			b.WriteByte(c)
		default:
			b.WriteString("%" + string(hex[c>>4]) + string(hex[c&15]))
		}
	}
	return b.String()
}

// FilePath returns the path of a file URI in the form of an operating system (GOOS). A drive letter is returned in upper case.
func FilePath(uri, goos string) (string, error) {
	u, err := url.Parse(uri)
	if err != nil || !strings.EqualFold(u.Scheme, "file") || u.Path == "" {
		return "", fmt.Errorf("%w: %q", errNotAFile, uri)
	}
	path := u.Path
	if strings.ContainsRune(path, 0) {
		return "", fmt.Errorf("%w: %q contains a NUL byte", errNotAFile, uri)
	}
	local := u.Host == "" || strings.EqualFold(u.Host, "localhost")
	if goos != "windows" {
		if !local {
			return "", fmt.Errorf("%w: %q is on the host %s", errNotAFile, uri, u.Host)
		}
		return path, nil
	}
	if !local {
		return `\\` + u.Host + strings.ReplaceAll(path, "/", `\`), nil
	}
	if len(path) > 2 && path[0] == '/' && path[2] == ':' {
		path = strings.ToUpper(path[1:2]) + path[2:]
	}
	return strings.ReplaceAll(path, "/", `\`), nil
}
