package meter

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/internal/lockedfile"
)

// Ledger has the costs of the present day by tokens, in a file, so that they survive a restart. It is safe for concurrent use.
type Ledger struct {
	file  *lockedfile.File
	clock func() time.Time

	mu sync.Mutex // guards owed
	// owed has the costs that are not in the file yet.
	owed map[string]float64
}

// day is the content of the file.
type day struct {
	Day   string             `json:"day"`
	Spent map[string]float64 `json:"spent"`
}

// OpenLedger returns the ledger in a file, which need not exist. It does no I/O.
func OpenLedger(path string, clock func() time.Time) *Ledger {
	return &Ledger{file: lockedfile.New(path), clock: clock, owed: make(map[string]float64)}
}

// add notes a cost, in dollars. It does no I/O: prices change several times in a turn.
func (l *Ledger) add(token string, amount float64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.owed[token] += amount
}

// store writes what is owed to the file.
func (l *Ledger) store(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.owed) == 0 {
		return nil
	}
	err := l.file.Change(ctx, func(data []byte) ([]byte, error) {
		d, err := l.parse(data)
		if err != nil {
			return nil, err
		}
		for token, amount := range l.owed {
			d.Spent[token] += amount
		}
		return jsonx.Marshal(d)
	})
	if err == nil {
		clear(l.owed)
	}
	return err
}

// spent returns the cost of a token today, in dollars.
func (l *Ledger) spent(ctx context.Context, token string) (float64, error) {
	if err := l.store(ctx); err != nil {
		return 0, err
	}
	data, err := l.file.Read()
	if err != nil {
		return 0, err
	}
	d, err := l.parse(data)
	return d.Spent[token], err
}

func (l *Ledger) parse(data []byte) (day, error) {
	today := day{Day: l.clock().UTC().Format(time.DateOnly), Spent: make(map[string]float64)}
	if len(data) == 0 {
		return today, nil
	}
	var d day
	if err := jsonx.Unmarshal(data, &d); err != nil {
		return day{}, fmt.Errorf("%s: %w", l.file.Path(), err)
	}
	if d.Day != today.Day || d.Spent == nil {
		return today, nil
	}
	return d, nil
}
