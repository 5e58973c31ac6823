package sessions_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/gajae-code/gjc/internal/testenv"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/sessions"
)

// A history is a random sequence of operations on a few sessions, on a disk that fails once. After any failure, all
// acknowledged entries are present and in order, with nothing between them and at most the interrupted operation after
// them, and every session can be written to again.
type history struct {
	r       *rand.Rand
	disk    *memoryDisk
	process *memoryProcess
	store   *sessions.Store
	clock   time.Time
	ids     int
	// known has the acknowledged state of each session.
	known map[string]*known
	open  map[string]*sessions.Log
	// doing is the session of the current operation.
	doing string
}

// known is the acknowledged state of a session.
type known struct {
	entries []string // their ids, in order
	texts   map[string]string
	synced  int // the number of entries that survive a power cut
	// message reports that a message was acknowledged, so that the session survives a power cut.
	message bool
	// deleted and created report acknowledged operations; an interrupted operation may have either result.
	created, deleted, deleting bool
	// failed reports whether a write failed, whose line may still be complete.
	failed bool
}

const historyDir = "/agent/sessions"

func newHistory(seed uint64, fault diskFault) *history {
	h := &history{
		r: rand.New(rand.NewPCG(seed, 1)), clock: epoch,
		known: make(map[string]*known), open: make(map[string]*sessions.Log),
	}
	h.disk = newMemoryDisk(epoch)
	h.boot(diskFault{})
	h.seed()
	h.boot(fault)
	return h
}

// boot starts a process.
func (h *history) boot(fault diskFault) {
	h.process = h.disk.Process(fault)
	h.store = sessions.NewStore(historyDir, &sessions.StoreOptions{
		FS: h.process,
		Clock: func() time.Time {
			// The clock is sometimes set back.
			h.clock = h.clock.Add(time.Duration(h.r.IntN(2000)-100) * time.Millisecond)
			return h.clock
		},
		NewID: func() string { h.ids++; return fmt.Sprintf("s%d", h.ids) },
	})
	clear(h.open)
}

// seed creates old files of older versions.
func (h *history) seed() {
	for id, text := range map[string]string{
		"old1": `{"type":"session","id":"old1","timestamp":"2025-01-01T00:00:00.000Z","cwd":"/w/a"}
{"type":"message","timestamp":"","message":{"role":"user","content":"one"}}
{"type":"message","timestamp":"","message":{"role":"assistant","content":[{"type":"text","text":"two"}]}}
`,
		"old2": `{"type":"session","version":2,"id":"old2","timestamp":"2025-01-01T00:00:00.000Z","cwd":"/w/b"}
{"type":"message","id":"00000001","parentId":null,"timestamp":"","message":{"role":"hookMessage","content":"one"}}
`,
	} {
		dir := historyDir + "/--w-old--"
		if err := h.process.MkdirAll(dir, 0); err != nil {
			panic(err)
		}
		f, err := h.process.OpenFile(dir+"/2025-01-01T00-00-00-000Z_"+id+".jsonl", os.O_CREATE|os.O_WRONLY, 0)
		if err == nil {
			_, err = f.Write([]byte(text))
		}
		if err := errors.Join(err, f.Sync(), f.Close(), h.process.SyncDir(dir)); err != nil {
			panic(err)
		}
		t := &known{created: true, message: true, texts: make(map[string]string)}
		for i := range strings.Count(text, "\n") - 1 {
			t.entries = append(t.entries, fmt.Sprintf("%08x", i+1))
		}
		t.synced = len(t.entries)
		h.known[id] = t
	}
}

// run performs n operations. It reports whether the process was killed, and returns the first error that the fault does
// not explain.
func (h *history) run(n int) (killed bool, err error) {
	defer func() {
		if v := recover(); v != nil {
			if err, ok := v.(error); !ok || !errors.Is(err, errKilled) {
				panic(v)
			}
			killed = true
		}
	}()
	for range n {
		if err := h.step(); err != nil {
			return false, err
		}
	}
	return false, nil
}

func (h *history) any() string {
	var ids []string
	for id, t := range h.known {
		if t.created && !t.deleted && !t.deleting {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return ""
	}
	slices.Sort(ids)
	return ids[h.r.IntN(len(ids))]
}

// log returns an open session.
func (h *history) log(id string) (*sessions.Log, error) {
	if l := h.open[id]; l != nil {
		if l.Err() == nil || h.r.IntN(2) == 0 {
			return l, nil // a log recovers from a failed write by itself
		}
		h.shut(id)
	}
	l, err := h.store.Open(bg, id)
	if err != nil {
		return nil, err
	}
	h.open[id] = l
	all, err := l.Entries()
	if err != nil {
		return nil, err
	}
	t := h.known[id]
	got := idsOf(all)
	if err := compare(t, got, false, false); err != nil {
		return nil, err
	}
	t.entries, t.failed = got, false
	return l, nil
}

func idsOf(entries []sessions.Entry) []string {
	var ids []string
	for _, e := range entries {
		ids = append(ids, e.Ref().ID)
	}
	return ids
}

func (h *history) shut(id string) {
	if l := h.open[id]; l != nil {
		delete(h.open, id)
		_ = l.Close()
	}
}

// expected reports whether a fault explains err.
func expected(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EIO)
}

func (h *history) step() error {
	id := h.any()
	h.doing = id
	what, err := "create", error(nil)
	if id == "" {
		err = h.create()
	} else {
		what, err = h.act(id, h.r.IntN(40))
	}
	if err != nil && !expected(err) {
		return fmt.Errorf("%s of %s: %w", what, id, err)
	}
	return nil
}

// act performs an operation on a session.
func (h *history) act(id string, what int) (string, error) {
	t := h.known[id]
	switch what {
	case 0:
		return "create", h.create()
	case 1:
		h.shut(id)
		return "close", nil
	case 2:
		return "fork", h.fork(id)
	case 3:
		h.shut(id)
		cwd := fmt.Sprintf("/w/%d", h.r.IntN(4))
		err := h.store.Move(bg, id, cwd)
		return "move", err
	case 4:
		if len(h.known) < 4 {
			return "", nil
		}
		h.shut(id)
		t.deleting = true
		err := h.store.Delete(bg, id)
		t.deleted = err == nil
		return "delete", err
	case 5:
		return "archive", h.store.Archive(bg, id)
	case 6:
		return "unarchive", h.store.Unarchive(bg, id)
	case 7:
		_, err := h.store.GC(bg, sessions.GCOptions{MinAge: time.Nanosecond})
		return "gc", err
	case 8:
		_, err := h.store.List(bg, sessions.ListOptions{})
		return "list", err
	}
	l, err := h.log(id)
	if err != nil {
		return "open", err
	}
	before := l.Leaf()
	var text string
	switch what {
	case 9:
		err = l.SetTitle(fmt.Sprint("title ", h.r.IntN(9)), "auto")
	case 10, 11:
		err = l.Rewind(h.entry(t))
	case 12:
		err = l.Clear()
	case 13:
		_, err = l.BranchWithSummary(h.entry(t), sessions.BranchSummary{Summary: "left"})
	case 14:
		if e := h.entry(t); e != "" {
			err = l.SetLabel(e, fmt.Sprint("label ", h.r.IntN(9)))
		}
	case 15:
		_, err = l.Append(sessions.Compaction{Summary: "so far", FirstKeptEntryID: h.entry(t)})
	case 16:
		err = l.SetDirectories([]string{fmt.Sprintf("/d/%d", h.r.IntN(3))})
	case 17, 18:
		_, err = l.Append(sessions.ModeChange{Mode: "plan"})
	case 19:
		_, err = l.Artifacts().Put(bg, "bash", []byte("output"))
	default:
		m := user(strings.Repeat("x", h.r.IntN(300)))
		if h.r.IntN(2) == 0 {
			m = assistant(m.Text())
		}
		if h.r.IntN(4) == 0 {
			m.Parts = append(m.Parts, providers.Image{MIMEType: "image/png", Data: bytes.Repeat([]byte{byte(h.r.IntN(3))}, 1000)})
		}
		text = shown(&m)
		_, err = l.AppendMessage(&m)
	}
	if leaf := l.Leaf(); leaf != before {
		t.entries = append(t.entries, leaf)
		if text != "" {
			t.texts[leaf] = text
		}
		if what >= 20 || what == 15 {
			t.synced, t.message = len(t.entries), true
		}
	}
	if errors.Is(err, sessions.ErrUserTitle) {
		err = nil
	}
	t.failed = t.failed || err != nil
	return "writing", err
}

// entry returns the ID of a random entry; "" for the start.
func (h *history) entry(t *known) string {
	if len(t.entries) == 0 || h.r.IntN(8) == 0 {
		return ""
	}
	return t.entries[h.r.IntN(len(t.entries))]
}

func (h *history) create() error {
	id := fmt.Sprintf("s%d", h.ids+1)
	t := &known{texts: make(map[string]string)}
	h.known[id], h.doing = t, id
	l, err := h.store.Create(bg, sessions.Header{Cwd: fmt.Sprintf("/w/%d", h.r.IntN(4))})
	if err == nil {
		t.created = true
		h.open[id] = l
	}
	return err
}

func (h *history) fork(id string) error {
	source := h.known[id]
	if !source.message {
		return nil
	}
	leaf := ""
	if h.r.IntN(2) == 0 {
		leaf = h.entry(source)
	}
	next := fmt.Sprintf("s%d", h.ids+1)
	t := &known{texts: source.texts}
	h.known[next], h.doing = t, next
	l, err := h.store.Fork(bg, id, sessions.ForkOptions{Cwd: fmt.Sprintf("/w/%d", h.r.IntN(4)), Leaf: leaf})
	if errors.Is(err, sessions.ErrNothingToFork) {
		delete(h.known, next)
		return nil
	}
	if err != nil {
		return err
	}
	h.open[next] = l
	all, err := l.Entries()
	if err != nil {
		return err
	}
	for _, e := range all {
		t.entries = append(t.entries, e.Ref().ID)
	}
	t.created, t.message, t.synced = true, true, len(t.entries)
	return nil
}

// shown returns a text that identifies a message.
func shown(m *providers.Message) string {
	var text strings.Builder
	text.WriteString(m.Text())
	for _, p := range m.Parts {
		if img, ok := p.(providers.Image); ok {
			fmt.Fprintf(&text, "image of %d bytes %x", len(img.Data), img.Data[:1])
		}
	}
	return text.String()
}

// check reads the disk as another process does, and then writes.
func (h *history) check(powerCut bool) error {
	doing := h.doing
	h.boot(diskFault{})
	ids := make([]string, 0, len(h.known))
	for id := range h.known {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	listed := make(map[string]bool)
	for round := range 2 {
		for _, id := range ids {
			t := h.known[id]
			if err := h.checkSession(id, t, powerCut && round == 0, id == doing && round == 0); err != nil {
				return fmt.Errorf("session %s, round %d: %w", id, round, err)
			}
		}
		page, err := h.store.List(bg, sessions.ListOptions{Limit: 1000, Archived: sessions.ArchivedInclude})
		if err != nil {
			return err
		}
		clear(listed)
		for _, info := range page.Sessions {
			listed[info.ID] = true
		}
		for id, t := range h.known {
			if t.created && !t.deleted && t.message && !listed[id] {
				return fmt.Errorf("session %s is not listed", id)
			}
			if t.deleted && listed[id] {
				return fmt.Errorf("session %s is listed and was deleted", id)
			}
		}
	}
	if _, err := h.store.GC(bg, sessions.GCOptions{MinAge: time.Nanosecond}); err != nil {
		return err
	}
	for _, name := range h.disk.Names() {
		if strings.HasSuffix(name, ".tmp") || strings.HasSuffix(name, ".bak") {
			return fmt.Errorf("%s is left", name)
		}
	}
	return nil
}

// checkSession opens one session, compares it with the acknowledged state, appends to it, and updates the state.
func (h *history) checkSession(id string, t *known, powerCut, doing bool) error {
	l, err := h.store.Open(bg, id)
	mayLack := !t.created || t.deleted || t.deleting || powerCut && !t.message
	if errors.Is(err, sessions.ErrNotFound) {
		if !mayLack {
			return fmt.Errorf("it is lost: %w", err)
		}
		t.created, t.deleted = false, true
		return nil
	}
	if !t.created || powerCut && !t.message {
		if _, ok := errors.AsType[*sessions.CorruptError](err); ok {
			// A header that was not written completely.
			t.deleted = true
			return h.store.Delete(bg, id)
		}
	}
	if err != nil {
		return err
	}
	defer func() { _ = l.Close() }()
	if t.deleted && !powerCut {
		return errors.New("it was deleted and is back")
	}
	all, err := l.Entries()
	if err != nil {
		return err
	}
	var got []string
	for i, e := range all {
		got = append(got, e.Ref().ID)
		if i > 0 && e.Ref().Time.Before(all[i-1].Ref().Time) {
			return fmt.Errorf("entry %s is older than the one before it", e.Ref().ID)
		}
		if m, ok := e.(sessions.MessageEntry); ok {
			if want, known := t.texts[e.Ref().ID]; known && shown(&m.Message) != want {
				return fmt.Errorf("entry %s is %.40q, was %.40q", e.Ref().ID, shown(&m.Message), want)
			}
		}
	}
	if err := compare(t, got, powerCut, doing); err != nil {
		return err
	}
	if _, err := l.Messages(); err != nil {
		return err
	}
	m := user("after the fault")
	next, err := l.AppendMessage(&m)
	if err != nil {
		return fmt.Errorf("appending: %w", err)
	}
	t.entries, t.created, t.deleted, t.deleting, t.message = append(got, next), true, false, false, true
	t.texts = map[string]string{next: m.Text()}
	return nil
}

// compare compares the entries of a file with the acknowledged ones. doing reports that an operation was interrupted.
func compare(t *known, got []string, powerCut, doing bool) error {
	if !t.created || t.deleting {
		return nil // an interrupted fork or deletion: all entries are those of another session
	}
	common := min(len(got), len(t.entries))
	if !slices.Equal(got[:common], t.entries[:common]) {
		return fmt.Errorf("other entries: %v, known %v", got, t.entries)
	}
	least := len(t.entries)
	if powerCut {
		least = t.synced
	}
	if len(got) < least {
		return fmt.Errorf("%d entries, %d were acknowledged", len(got), least)
	}
	if len(got) > len(t.entries)+1 || len(got) > len(t.entries) && !doing && !t.failed {
		return fmt.Errorf("%d entries, only %d were known", len(got), len(t.entries))
	}
	return nil
}

// live runs one history. It reports whether the fault has happened.
func live(seed uint64) (hit bool, err error) {
	choose := rand.New(rand.NewPCG(seed, 2))
	steps := 4 + choose.IntN(24)
	fault := diskFault{At: 1 + choose.IntN(3*steps), Rand: choose}
	powerCut := false
	switch choose.IntN(6) {
	case 0:
		fault.Err = syscall.ENOSPC
	case 1:
		fault.Err, fault.Lasting = syscall.ENOSPC, true
	case 2:
		fault.Err = syscall.EIO
	case 3:
		fault.Kill = true
	default:
		fault.Kill, powerCut = true, true
	}
	h := newHistory(seed, fault)
	_, err = h.run(steps)
	if err != nil {
		return false, fmt.Errorf("history %d: %w", seed, err)
	}
	hit = h.process.Steps >= fault.At
	h.process.Kill()
	if powerCut {
		h.disk.PowerCut(choose)
	}
	if err := h.check(powerCut); err != nil {
		return hit, fmt.Errorf("history %d (%d steps, fault %+v, power cut %t): %w", seed, steps, fault, powerCut, err)
	}
	return hit, nil
}

// histories is the number of histories; fewer where each is slow.
func histories() int {
	n := 10_000
	if testenv.Race {
		n /= 10
	}
	if testing.Short() {
		n /= 10
	}
	return n
}

func TestFaults_NothingAcknowledgedIsLost(t *testing.T) {
	n := histories()
	var next, hits atomic.Int64
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for seed := next.Add(1); seed <= int64(n) && !t.Failed(); seed = next.Add(1) {
				hit, err := live(uint64(seed))
				if err != nil {
					t.Error(err)
				}
				if hit {
					hits.Add(1)
				}
			}
		})
	}
	wg.Wait()
	if !t.Failed() && hits.Load() < int64(n/2) {
		t.Errorf("the fault happened in %d of %d histories", hits.Load(), n)
	}
	t.Logf("%d histories, a fault in %d", n, hits.Load())
}
