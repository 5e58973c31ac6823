package engines

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/internal/lockedfile"
	"github.com/gajae-code/gjc/internal/proc"
)

// Boundary keeps the engines of users apart. The zero value does not: it is for one user.
type Boundary struct {
	uids   *uids
	bwrap  string
	hidden []string // paths that no user may read
	share  []Share
}

// Share is a directory of the server that users may use.
type Share struct {
	Path string
	// Writable lets them change it.
	Writable bool
}

// FindOptions describes the machine to [FindBoundary].
type FindOptions struct {
	// UIDs is a range such as "200000-200999" for users without an account on this machine; empty for none.
	UIDs string
	// File keeps which user has which one.
	File string
	// Env is the environment, Children own the processes of the probe.
	Env      []string
	Children *proc.Group
	// Hidden are files that no user may read in bubblewrap, which has the rights of the server's own user: keys and tokens.
	Hidden []string
	// Share are directories that users see in bubblewrap, besides their own and the system's programs.
	Share []Share
}

// FindBoundary finds a boundary: users of the operating system of their own if the server runs as root, or else bubblewrap. Without either it
// returns the boundary that keeps none apart, and why. The error is about options that are wrong.
func FindBoundary(ctx context.Context, o *FindOptions) (b Boundary, why string, err error) {
	b = Boundary{hidden: o.Hidden, share: o.Share}
	if o.UIDs != "" || isRoot() {
		if b.uids, err = newUIDs(o.UIDs, o.File); err != nil {
			return Boundary{}, "", err
		}
		return b, "", nil
	}
	path, err := proc.LookPath("bwrap", o.Env)
	if err != nil {
		return b, "the server does not run as root, and bubblewrap is not installed", nil //nolint:nilerr // said in words
	}
	if err := probe(ctx, path, o); err != nil {
		return b, fmt.Sprintf("the server does not run as root, and bubblewrap does not work here: %v", err), nil
	}
	b.bwrap = path
	return b, "", nil
}

// None reports whether the boundary keeps no users apart.
func (b *Boundary) None() bool { return b.uids == nil && b.bwrap == "" }

// String names the boundary.
func (b *Boundary) String() string {
	switch {
	case b.uids != nil:
		return "users of the operating system"
	case b.bwrap != "":
		return "bubblewrap"
	}
	return "none"
}

// probe runs bubblewrap once as it is used later.
func probe(ctx context.Context, bwrap string, o *FindOptions) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	args := slices.Concat([]string{"--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"}, namespaces(), []string{"--", "true"})
	p, err := o.Children.Start(ctx, &proc.Options{Path: bwrap, Args: args, Env: proc.Environ(o.Env)})
	if err != nil {
		return err
	}
	state, err := p.Wait(ctx)
	if err != nil {
		p.Kill()
		return err
	}
	if !state.Success() {
		return &proc.ExitError{Program: "bwrap", State: state, Stderr: strings.TrimSpace(p.StderrTail())}
	}
	return nil
}

func namespaces() []string {
	return []string{"--unshare-user-try", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--die-with-parent"}
}

// enclose lets a process run within the boundary. home is the directory of its user, run that of its socket; both exist.
func (b *Boundary) enclose(o *proc.Options, home, run, name string) error {
	switch {
	case b.uids != nil:
		u, err := b.uids.of(name)
		if err != nil {
			return err
		}
		o.User = u
		return errors.Join(give(home, u), give(run, u))
	case b.bwrap != "":
		o.Args = slices.Concat(b.bwrapArgs(o.Path, home, run), []string{"--", o.Path}, o.Args)
		o.Path = b.bwrap
	}
	return nil
}

// bwrapArgs shows a user the system's programs, what is shared, and its own directories.
func (b *Boundary) bwrapArgs(program, home, run string) []string {
	args := append([]string{"--new-session", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--chdir", home}, namespaces()...)
	// Boundaries within this one, those of commands, mount on these, and can make no directory in the root.
	for _, dir := range []string{"/run", "/var", "/var/tmp", "/home", "/root", "/srv", "/mnt", "/media", "/sys"} {
		args = append(args, "--dir", dir)
	}
	for _, dir := range []string{"/usr", "/etc", "/opt", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix", "/run/systemd/resolve"} {
		if target, err := os.Readlink(dir); err == nil {
			args = append(args, "--symlink", target, dir)
			continue
		}
		args = append(args, "--ro-bind-try", dir, dir)
	}
	args = append(args, "--ro-bind", program, program)
	for _, s := range b.share {
		verb := "--ro-bind"
		if s.Writable {
			verb = "--bind"
		}
		args = append(args, verb, s.Path, s.Path)
	}
	args = append(args, "--bind", home, home, "--bind", run, run)
	for _, path := range b.hidden {
		if _, err := os.Stat(path); err == nil && b.shows(path) {
			args = append(args, "--ro-bind", os.DevNull, path)
		}
	}
	return args
}

// shows reports whether a path is in a directory that users see.
func (b *Boundary) shows(path string) bool {
	in := func(dir string) bool {
		rel, err := filepath.Rel(dir, path)
		return err == nil && filepath.IsLocal(rel)
	}
	return in("/usr") || in("/etc") || in("/opt") || in("/nix") || slices.ContainsFunc(b.share, func(s Share) bool { return in(s.Path) })
}

// userEnv is the environment of a user's engine: nothing of the server's but what programs need to run at all.
func userEnv(server []string, home, name string) []string {
	env := []string{"HOME=" + home, "USERPROFILE=" + home, "USER=" + name, "LOGNAME=" + name}
	for _, v := range server {
		key, _, _ := strings.Cut(v, "=")
		switch up := strings.ToUpper(key); {
		case up == "PATH", up == "LANG", up == "TZ", up == "SHELL", up == "SYSTEMROOT", up == "PATHEXT", up == "COMSPEC", up == "WINDIR",
			strings.HasPrefix(up, "LC_"), up == "HTTP_PROXY", up == "HTTPS_PROXY", up == "NO_PROXY", up == "SSL_CERT_FILE", up == "SSL_CERT_DIR",
			strings.HasPrefix(up, "OTEL_") && !strings.HasSuffix(up, "_HEADERS"): // headers may have a key
			env = append(env, v)
		}
	}
	return env
}

// uids are the users of the operating system that run engines.
type uids struct {
	first, last uint32 // zero for none
	file        *lockedfile.File
	accounts    func(name string) (*user.User, error)
}

// newUIDs parses a range.
func newUIDs(text, file string) (*uids, error) {
	if !isRoot() {
		return nil, errors.New("only root can run engines as other users")
	}
	u := &uids{file: lockedfile.New(file), accounts: user.Lookup}
	if text == "" {
		return u, nil
	}
	from, to, ok := strings.Cut(text, "-")
	first, err := strconv.ParseUint(from, 10, 32)
	last, err2 := strconv.ParseUint(to, 10, 32)
	if !ok || err != nil || err2 != nil || first < 1000 || last < first || last > math.MaxInt32 {
		return nil, fmt.Errorf("%q is not a range of user IDs such as 200000-200999, from 1000 on", text)
	}
	u.first, u.last = uint32(first), uint32(last)
	return u, nil
}

// of returns the user that runs the engine of a user: the account with the same name, or else one of the range, always the same.
func (u *uids) of(name string) (*proc.User, error) {
	if account, err := u.accounts(name); err == nil {
		return userOf(account)
	}
	if u.first == 0 {
		return nil, fmt.Errorf("%s has no account on this machine; make one, or start the server with --uids", name)
	}
	var uid uint32
	err := u.file.Change(context.Background(), func(data []byte) ([]byte, error) {
		var given struct {
			UIDs map[string]uint32 `json:"uids"`
		}
		if len(data) > 0 {
			if err := jsonx.Unmarshal(data, &given); err != nil {
				return nil, fmt.Errorf("%s: %w", u.file.Path(), err)
			}
		}
		if given.UIDs == nil {
			given.UIDs = make(map[string]uint32)
		}
		var ok bool
		if uid, ok = given.UIDs[name]; ok {
			return nil, nil //nolint:nilnil // unchanged
		}
		taken := make(map[uint32]bool)
		for _, id := range given.UIDs {
			taken[id] = true
		}
		for uid = u.first; taken[uid]; uid++ {
		}
		if uid > u.last {
			return nil, fmt.Errorf("all user IDs from %d to %d are taken; start the server with a larger --uids", u.first, u.last)
		}
		given.UIDs[name] = uid
		return jsonx.Marshal(given)
	})
	if err != nil {
		return nil, err
	}
	return &proc.User{UID: uid, GID: uid}, nil
}

// userOf returns the IDs of an account. It refuses that of root: a token is not a way to become root.
func userOf(account *user.User) (*proc.User, error) {
	uid, err := strconv.ParseUint(account.Uid, 10, 32)
	if err != nil {
		return nil, fmt.Errorf("the user ID of %s: %w", account.Username, err)
	}
	gid, err := strconv.ParseUint(account.Gid, 10, 32)
	if err != nil {
		return nil, fmt.Errorf("the group ID of %s: %w", account.Username, err)
	}
	if uid == 0 {
		return nil, fmt.Errorf("%s is an account with all rights, which no engine gets", account.Username)
	}
	u := &proc.User{UID: uint32(uid), GID: uint32(gid)}
	groups, err := account.GroupIds()
	if err != nil {
		return nil, err
	}
	for _, g := range groups {
		id, err := strconv.ParseUint(g, 10, 32)
		if err != nil {
			return nil, fmt.Errorf("a group of %s: %w", account.Username, err)
		}
		u.Groups = append(u.Groups, uint32(id))
	}
	return u, nil
}
