// Package checkpoint records the state of directory trees, so that it can be restored. What is recorded are the files that git tracks
// or would track, with their modes, and symbolic links and directories. Ignored files are not recorded, and nothing in a directory
// called .git is read or changed, except for what says which files are ignored.
//
// The contents are kept by their hashes in a database outside of the tree, one for each tree. An index of the files' attributes makes
// recording an unchanged tree cost one system call for each file, and a changed one its own bytes. docs/design/checkpoints.md says why
// this is not git's object store.
package checkpoint

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/gajae-code/gjc/internal/text"
)

// Errors of a [Tree].
var (
	// ErrTooLarge reports that a tree has more or larger files than [Options.MaxFiles] and [Options.MaxBytes] allow.
	ErrTooLarge = errors.New("the directory is too large to record")
	// errDamaged reports that recorded content is missing or is not what was recorded.
	errDamaged = errors.New("the recorded state is damaged")
)

// Limits of what is recorded.
const (
	defaultMaxFiles = 250_000
	defaultMaxBytes = 2 << 30
	defaultMaxFile  = 50 << 20
)

// Options describe where and what to record. Only Dir is required.
type Options struct {
	// Dir is the directory of the databases. It is outside of every tree.
	Dir string
	// GlobalIgnore is the path of the user's global ignore file, or "".
	GlobalIgnore string
	// MaxFiles bounds the files and directories of a tree; if zero, 250,000. MaxBytes bounds the size of its files that are recorded; if
	// zero, 2 GiB. MaxFile bounds the size of a file; if zero, 50 MiB. A larger file is only noted.
	MaxFiles          int
	MaxBytes, MaxFile int64
	// Keep bounds the age of points, KeepBytes the size of the database; zero for no bound. [Tree.Prune] removes what is beyond them; a
	// day after it was done last, the first point that is recorded does it too.
	Keep      time.Duration
	KeepBytes int64
	// Known reports whether a session exists. Points of others are removed too. Optional.
	Known func(ctx context.Context, session string) bool
	// Exclude are directories that are no part of a tree, absolute: gjc's own. Dir is one.
	Exclude []string
	// LeaveOut reports that a file is only noted, for example because it holds secrets. Optional.
	LeaveOut func(path string) bool
	// Git runs git in a directory and returns its output. Without it, tracked files that are also ignored are not recorded.
	Git func(ctx context.Context, dir string, args ...string) ([]byte, error)
	// Clock returns the current time. If nil, [time.Now].
	Clock func() time.Time
}

// Kind says what a point precedes.
type Kind string

// The kinds.
const (
	Prompt Kind = "prompt" // a prompt of the user
	Call   Kind = "call"   // a tool call that may change files
	After  Kind = "after"  // nothing: it follows a call or a rewind
	Rewind Kind = "rewind" // a rewind
)

// Mark describes a point that is about to be recorded.
type Mark struct {
	Session string
	Kind    Kind
	// Entry is the ID of what follows: the prompt's entry in the session's log, or the tool call.
	Entry string
	// Title describes what follows, in one line.
	Title string
	// Agent says that what differs from the session's point before is the agent's work, not the user's.
	Agent bool
}

// Point is a recorded state of a tree.
type Point struct {
	ID   int64
	Time time.Time
	Mark
	tree hash
	// Skipped is the number of files that are only noted.
	Skipped int
}

// Same reports whether two points have the same state.
func (p *Point) Same(q *Point) bool { return p.tree == q.tree }

// Tree records one directory. It is safe for concurrent use, also by several processes.
type Tree struct {
	dir  string
	opts Options

	mu    sync.Mutex // guards the fields below; held while a state is recorded or read
	db    *database
	index *index // nil before the first use and after an error
}

// Open returns the tree of a directory, an absolute path. It opens no file. The caller closes it.
func Open(dir string, opts Options) *Tree {
	opts.MaxFiles = cmp.Or(opts.MaxFiles, defaultMaxFiles)
	opts.MaxBytes = cmp.Or(opts.MaxBytes, defaultMaxBytes)
	opts.MaxFile = cmp.Or(opts.MaxFile, defaultMaxFile)
	if opts.Clock == nil {
		opts.Clock = time.Now
	}
	opts.Exclude = append([]string{opts.Dir}, opts.Exclude...)
	for i, dir := range opts.Exclude {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			opts.Exclude[i] = real
		}
	}
	if opts.LeaveOut == nil {
		opts.LeaveOut = func(string) bool { return false }
	}
	return &Tree{dir: filepath.Clean(dir), opts: opts}
}

// Dir returns the directory.
func (t *Tree) Dir() string { return t.dir }

// Database returns the path of the file that has the tree's states. It need not exist.
func (t *Tree) Database() string {
	sum := sha256.Sum256([]byte(t.dir))
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' {
			return r
		}
		return '_'
	}, text.Truncate(filepath.Base(t.dir), 40))
	return filepath.Join(t.opts.Dir, name+"-"+hex.EncodeToString(sum[:8])+databaseSuffix)
}

// Close closes the database.
func (t *Tree) Close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.close()
}

func (t *Tree) close() error {
	db := t.db
	t.db, t.index = nil, nil
	if db == nil {
		return nil
	}
	return db.close()
}

// open opens the database and loads the index.
func (t *Tree) open(ctx context.Context) error {
	if t.db == nil {
		if err := os.MkdirAll(t.opts.Dir, 0o700); err != nil {
			return err
		}
		db, err := openDatabase(t.Database(), t.dir)
		if err != nil {
			return fmt.Errorf("opening the checkpoints of %s: %w", t.dir, err)
		}
		t.db = db
	}
	if t.index == nil {
		x, err := t.db.loadIndex(ctx)
		if err != nil {
			return fmt.Errorf("reading the checkpoints of %s: %w", t.dir, err)
		}
		t.index = x
	}
	return nil
}

// Record records the state of the tree. If it is that of the session's last point, a new one is made only before a prompt and a
// rewind; otherwise Record returns the last one.
func (t *Tree) Record(ctx context.Context, m Mark) (*Point, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	p, err := t.record(ctx, m)
	if err != nil {
		// What the index says to be recorded may not be.
		if closeErr := t.close(); closeErr != nil {
			err = fmt.Errorf("%w (%w)", err, closeErr)
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, fmt.Errorf("recording the state of %s: %w", t.dir, err)
	}
	if t.due() {
		if _, err := t.prune(ctx); err != nil && ctx.Err() == nil {
			return p, fmt.Errorf("removing old states of %s: %w", t.dir, errors.Join(err, t.close()))
		}
	}
	return p, nil
}

func (t *Tree) record(ctx context.Context, m Mark) (*Point, error) {
	if err := t.open(ctx); err != nil {
		return nil, err
	}
	stop := t.db.interrupt(ctx)
	defer stop()
	if err := t.index.scan(ctx, t); err != nil {
		return nil, err
	}
	if err := t.removeLeftovers(); err != nil {
		return nil, err
	}
	if err := t.index.store(ctx, t); err != nil {
		return nil, err
	}
	last, err := t.db.last(m.Session)
	if err != nil {
		return nil, err
	}
	if last != nil && last.tree == t.index.root.hash && m.Kind != Prompt && m.Kind != Rewind {
		return last, t.db.commit()
	}
	if err := t.db.begin(); err != nil {
		return nil, err
	}
	// No process prunes now. Before, one may have removed what no point had yet.
	if pruned, err := t.db.pruned(); err != nil {
		return nil, err
	} else if pruned {
		t.index.restore()
		if err := t.index.store(ctx, t); err != nil {
			return nil, err
		}
	}
	p := &Point{Time: t.opts.Clock(), Mark: m, tree: t.index.root.hash, Skipped: t.index.skipped}
	if err := t.db.addPoint(p); err != nil {
		return nil, err
	}
	return p, t.db.commit()
}

// Points returns the points of a session, the first one first. Without a session it returns those of all.
func (t *Tree) Points(ctx context.Context, session string) ([]Point, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.db == nil {
		if _, err := os.Stat(t.Database()); errors.Is(err, os.ErrNotExist) {
			return nil, nil
		}
	}
	if err := t.open(ctx); err != nil {
		return nil, err
	}
	return t.db.points(session)
}
