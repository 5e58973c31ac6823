// Package quota records how much of its limits an account has used, from what its provider reports.
package quota

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gajae-code/gjc/providers"
)

// shortWindow is the length below which a window is short: it is over before a user could react, so it causes no warning.
const shortWindow = 10 * time.Minute

// levels are the parts of a limit from which a warning is due.
var levels = [...]float64{0.8, 0.95}

// rearmed is the part of a limit without a reset below which its warnings are due again.
const rearmed = 0.7

// maxAccounts bounds the accounts of one provider.
const maxAccounts = 32

// A Book holds the windows of all accounts. It is safe for concurrent use.
type Book struct {
	now func() time.Time

	mu       sync.Mutex // guards accounts
	accounts map[string][]*account
}

// account is an account of a provider. The one that was used last is the last in its list.
type account struct {
	id      string
	windows []*window
}

type window struct {
	providers.Quota

	seen time.Time
	// short reports that the window was short when it was seen.
	short bool
	// warned is the number of levels of which the user has been warned, and until the time at which that window ends.
	warned int
	until  time.Time
}

// New returns an empty book. If now is nil, it uses [time.Now].
func New(now func() time.Time) *Book {
	if now == nil {
		now = time.Now
	}
	return &Book{now: now, accounts: make(map[string][]*account)}
}

// Account returns the ID of an account for [Book], which does not reveal its key.
func Account(key string) string {
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:8])
}

// Observe records the windows in the header of a response.
func (b *Book) Observe(provider, id string, status int, h http.Header) {
	b.Put(provider, id, FromHeader(status, h, b.now()))
}

// Put records windows of an account, which is then the one that was used last.
func (b *Book) Put(provider, id string, quotas []providers.Quota) {
	b.mu.Lock()
	defer b.mu.Unlock()
	a, now := b.use(provider, id), b.now()
	for _, q := range quotas {
		w := a.window(q.Name)
		if w == nil {
			if len(a.windows) == maxWindows {
				continue
			}
			w = new(window)
			a.windows = append(a.windows, w)
		}
		if w.warned > 0 && (!w.until.IsZero() && !w.until.After(now) || w.until.IsZero() && q.Used < rearmed) {
			w.warned = 0 // another window has begun
		}
		w.Quota, w.seen, w.short = q, now, short(&q, now)
	}
}

// use returns an account and makes it the last one.
func (b *Book) use(provider, id string) *account {
	list := b.accounts[provider]
	i := slices.IndexFunc(list, func(a *account) bool { return a.id == id })
	a := &account{id: id}
	if i >= 0 {
		a = list[i]
		list = slices.Delete(list, i, i+1)
	} else if len(list) == maxAccounts {
		list = slices.Delete(list, 0, 1)
	}
	b.accounts[provider] = append(list, a)
	return a
}

func (a *account) window(name string) *window {
	for _, w := range a.windows {
		if w.Name == name {
			return w
		}
	}
	return nil
}

// short reports whether a window is short. Without a length the time to its reset counts.
func short(q *providers.Quota, now time.Time) bool {
	if q.Window > 0 {
		return q.Window < shortWindow
	}
	return !q.ResetAt.IsZero() && q.ResetAt.Sub(now) < shortWindow
}

// current reports whether a window still is what it was when it was seen.
func (w *window) current(now time.Time) bool {
	if !w.ResetAt.IsZero() {
		return w.ResetAt.After(now)
	}
	return !w.short || now.Sub(w.seen) < shortWindow
}

// Quotas returns the windows of the account of a provider that was used last: the long ones first, and then by name.
func (b *Book) Quotas(provider string) []providers.Quota {
	b.mu.Lock()
	defer b.mu.Unlock()
	var all []*window
	now := b.now()
	for _, w := range b.last(provider) {
		if w.current(now) {
			all = append(all, w)
		}
	}
	slices.SortFunc(all, func(v, w *window) int {
		if v.short != w.short {
			if v.short {
				return 1
			}
			return -1
		}
		return cmp.Or(cmp.Compare(v.Window, w.Window), strings.Compare(v.Name, w.Name))
	})
	quotas := make([]providers.Quota, 0, len(all))
	for _, w := range all {
		quotas = append(quotas, w.Quota)
	}
	return quotas
}

func (b *Book) last(provider string) []*window {
	list := b.accounts[provider]
	if len(list) == 0 {
		return nil
	}
	return list[len(list)-1].windows
}

// Warnings returns the windows of which the user must be warned: those that have exceeded 80 % or 95 % of their limit since the last
// call. It returns each window once for each level, and no short ones.
func (b *Book) Warnings(provider string) []providers.Quota {
	b.mu.Lock()
	defer b.mu.Unlock()
	var due []providers.Quota
	now := b.now()
	for _, w := range b.last(provider) {
		if w.short || !w.current(now) {
			continue
		}
		reached := 0
		for _, level := range levels {
			if w.Used >= level {
				reached++
			}
		}
		if reached > w.warned {
			w.warned, w.until = reached, w.ResetAt
			due = append(due, w.Quota)
		}
	}
	return due
}
