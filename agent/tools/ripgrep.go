package tools

import (
	"context"
	"errors"

	"github.com/gajae-code/gjc/agent"
)

// ripgrep searches with the program rg.
type ripgrep struct {
	programs agent.Programs
	path     string
	dir      string
}

var _ searchEngine = (*ripgrep)(nil)

func (r *ripgrep) search(context.Context, *searchRequest) ([]fileHits, error) {
	return nil, errors.New("not yet")
}
