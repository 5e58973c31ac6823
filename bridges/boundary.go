package bridges

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/gajae-code/gjc/agent/approval"
	bounds "github.com/gajae-code/gjc/internal/boundary"
	"github.com/gajae-code/gjc/internal/egress"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/internal/proc"
	"github.com/gajae-code/gjc/internal/sandbox"
)

// ErrNoBoundary is wrapped by the error for a program that must run inside the boundary, which this machine lacks.
var ErrNoBoundary = errors.New("the command did not run, because it must run in a sandbox and there is none here; gjc doctor says what is missing")

// boundary starts the programs of one session inside. Programs with the same access share a box, if the machine has boxes.
type boundary struct {
	find     func() (*sandbox.Sandbox, error)
	children *proc.Group

	upstream func(*url.URL) (*url.URL, error)

	mu    sync.Mutex // guards the fields below
	boxes map[string]*sandbox.Box
	temp  string // see tempDir; empty until it is needed
	// proxy serves the boxes; nil until the first one. listener is for programs without one.
	proxy    *egress.Proxy
	listener *net.TCPListener
	// reachable counts, for each entry of [egress.Domains], the programs that may reach it.
	reachable map[string]int
	// refused are the hosts that the proxy has not let programs reach.
	refused []string
	serving sync.WaitGroup
}

// start describes a program that is about to be started.
type start struct {
	path string
	args []string
	dir  string
	env  []string
	// inside is set if the program starts inside the boundary; the starter must call its end.
	inside *enclosed
	// confined is set if the program restricts itself. What it leaves running must end with it, because it could not be found.
	confined bool
}

// enclosed is a program inside the boundary.
type enclosed struct {
	boundary *boundary
	box      *sandbox.Box // nil for a program that restricts itself; what the program leaves in a box may run on
	hosts    []string
	// seen is the number of hosts that had been refused when the program began.
	seen  int
	ended sync.Once
}

// end takes the program's way to hosts away. It may be called for nil and more than once.
func (e *enclosed) end() {
	if e == nil {
		return
	}
	e.ended.Do(func() {
		b := e.boundary
		b.mu.Lock()
		defer b.mu.Unlock()
		for _, host := range e.hosts {
			if b.reachable[host]--; b.reachable[host] == 0 {
				delete(b.reachable, host)
			}
		}
	})
}

// refusedHosts returns the hosts that have been refused since the program began.
func (e *enclosed) refusedHosts() []string {
	if e == nil {
		return nil
	}
	e.boundary.mu.Lock()
	defer e.boundary.mu.Unlock()
	hosts := slices.Clone(e.boundary.refused[e.seen:])
	slices.Sort(hosts)
	return slices.Compact(hosts)
}

// enclose makes a program start inside the boundary, if the permit of ctx says so.
func (b *boundary) enclose(ctx context.Context, s *start) error {
	access := approval.PermitOf(ctx).Inside()
	if access == nil {
		return nil
	}
	return b.encloseWith(ctx, access, s)
}

// encloseWith makes a program start inside the boundary.
func (b *boundary) encloseWith(ctx context.Context, access *bounds.Access, s *start) error {
	if b == nil || b.find == nil {
		return ErrNoBoundary
	}
	box, err := b.find()
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNoBoundary, err)
	}
	temp, err := b.tempDir()
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNoBoundary, err)
	}
	s.env = append(s.env[:len(s.env):len(s.env)], "TMPDIR="+temp)
	p := &sandbox.Policy{Write: access.Write, Keep: access.Keep, Fixed: access.Fixed, Hide: access.Hide, Show: access.Show, Network: access.Network, Temp: temp}
	if box.Kind != sandbox.Bubblewrap {
		return b.confine(box, p, s, access)
	}
	opened, err := b.boxFor(ctx, box, p, access.Wider)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNoBoundary, err)
	}
	s.path, s.args = opened.Wrap(s.dir, s.path, s.args)
	if !access.Network {
		s.env = append(s.env, proxyEnv(opened.Proxy().Addr().String())...)
	}
	s.inside = b.begin(access.Hosts)
	s.inside.box = opened
	return nil
}

// confine makes a program restrict itself, on a machine without boxes.
func (b *boundary) confine(box *sandbox.Sandbox, p *sandbox.Policy, s *start, access *bounds.Access) error {
	if box.Kind == sandbox.Seatbelt && !access.Network {
		address, err := b.listen()
		if err != nil {
			return fmt.Errorf("%w: %w", ErrNoBoundary, err)
		}
		p.ProxyPort = address.Port
		s.env = append(s.env, proxyEnv(address.String())...)
		s.inside = b.begin(access.Hosts)
	}
	s.confined = true
	p.Write = append(p.Write[:len(p.Write):len(p.Write)], p.Temp)
	s.path, s.args = box.Confine(p, s.path, s.args)
	return nil
}

// listen returns the address of the proxy for programs that share the machine's network. It starts the proxy.
func (b *boundary) listen() (*net.TCPAddr, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.listener == nil {
		l, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
		if err != nil {
			return nil, err
		}
		b.listener = l
		b.serve(l.Accept)
	}
	address, ok := b.listener.Addr().(*net.TCPAddr)
	if !ok {
		return nil, errors.New("the proxy has no address")
	}
	return address, nil
}

// serve makes the proxy serve the connections that accept returns, until it fails. b.mu is locked.
func (b *boundary) serve(accept func() (net.Conn, error)) {
	if b.proxy == nil {
		b.proxy = egress.New(egress.Options{Allow: b.allow, Upstream: b.upstream})
	}
	proxy := b.proxy
	b.serving.Go(func() { // ends with the box or the listener
		for {
			c, err := accept()
			if err != nil {
				return
			}
			proxy.Serve(c)
		}
	})
}

// begin lets a program reach hosts.
func (b *boundary) begin(hosts []string) *enclosed {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.reachable == nil {
		b.reachable = make(map[string]int)
	}
	for _, host := range hosts {
		b.reachable[host]++
	}
	return &enclosed{boundary: b, hosts: hosts, seen: len(b.refused)}
}

// errHost is why a host cannot be reached.
var errHost = errors.New("it is not in network.allow, and the user has not allowed it")

// allow decides for the proxy.
func (b *boundary) allow(host string, _ int) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if egress.Domains(slices.Collect(maps.Keys(b.reachable))).Contain(host) {
		return nil
	}
	if len(b.refused) < maxRefused {
		b.refused = append(b.refused, host)
	}
	return errHost
}

// maxRefused bounds the memory for hosts that programs try.
const maxRefused = 10_000

// proxyEnv returns the variables by which programs find the proxy, and by which package managers do not look for newer versions of
// themselves: the user would be asked about their hosts. Servers in the box are reached without the proxy.
func proxyEnv(address string) []string {
	var env []string
	for name, value := range map[string]string{
		"HTTP_PROXY": "http://" + address, "HTTPS_PROXY": "http://" + address, "ALL_PROXY": "socks5h://" + address, "NO_PROXY": "localhost,127.0.0.1,::1",
	} {
		env = append(env, name+"="+value, strings.ToLower(name)+"="+value)
	}
	slices.Sort(env)
	return append(env, "NODE_USE_ENV_PROXY=1", "npm_config_update_notifier=false", "PIP_DISABLE_PIP_VERSION_CHECK=1")
}

// boxFor returns the box for a policy, which exceeds that of the session's other programs by the paths in wider. What a box keeps and
// hides may change while it runs, so programs with and without a new file to keep share one. A box that has ended, or that cannot
// protect its files any longer, is replaced.
func (b *boundary) boxFor(ctx context.Context, s *sandbox.Sandbox, p *sandbox.Policy, wider []string) (*sandbox.Box, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	key, err := jsonx.Marshal([]any{p.Write, p.Show, p.Network, wider})
	if err != nil {
		return nil, err
	}
	if box := b.boxes[string(key)]; box != nil {
		if err := box.Protect(ctx, p); err == nil {
			return box, nil
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		_ = box.Close(ctx) // its programs end with it
		delete(b.boxes, string(key))
	}
	box, err := s.Open(ctx, b.children, p)
	if err != nil {
		return nil, err
	}
	if b.boxes == nil {
		b.boxes = make(map[string]*sandbox.Box)
	}
	b.serve(box.Proxy().Accept)
	b.boxes[string(key)] = box
	return box, nil
}

// tempDir returns the directory for the session's temporary files, without symbolic links. Programs inside have it at the same path, and
// those of a box as /tmp, too.
func (b *boundary) tempDir() (string, error) {
	if b == nil {
		return "", nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.temp == "" {
		temp, err := os.MkdirTemp("", "gjc-tmp-")
		if err != nil {
			return "", err
		}
		if b.temp, err = filepath.EvalSymlinks(temp); err != nil {
			return "", err
		}
	}
	return b.temp, nil
}

// open returns the boxes.
func (b *boundary) open() []*sandbox.Box {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Collect(maps.Values(b.boxes))
}

// lingers reports whether programs run in a box.
func (b *boundary) lingers(ctx context.Context) bool {
	return b != nil && slices.ContainsFunc(b.open(), func(box *sandbox.Box) bool { return box.Busy(ctx) })
}

// endLingering ends what ended programs have left in the boxes. A box that cannot do so ends with all its programs.
func (b *boundary) endLingering(ctx context.Context) error {
	if b == nil {
		return nil
	}
	var errs []error
	for _, box := range b.open() {
		if err := box.EndRest(ctx); err != nil {
			errs = append(errs, box.Close(ctx))
		}
	}
	return errors.Join(errs...)
}

// existingTempDir is like tempDir, but creates nothing.
func (b *boundary) existingTempDir() string {
	if b == nil {
		return ""
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.temp
}

// close ends all boxes with their programs, and removes the temporary files.
func (b *boundary) close(ctx context.Context) {
	b.mu.Lock()
	boxes, proxy, listener := b.boxes, b.proxy, b.listener
	b.boxes, b.proxy, b.listener = nil, nil, nil
	b.mu.Unlock()
	if listener != nil {
		_ = listener.Close() // nothing is lost
	}
	var closing sync.WaitGroup
	for _, box := range boxes {
		closing.Go(func() { _ = box.Close(ctx) }) // the group ends its process in any case
	}
	closing.Wait()
	b.serving.Wait()
	if proxy != nil {
		proxy.Close() // its connections ask allow
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.temp != "" {
		_ = os.RemoveAll(b.temp) // best effort: it is in the temporary directory
		b.temp = ""
	}
}
