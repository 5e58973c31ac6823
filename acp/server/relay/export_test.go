package relay

import "context"

// Accept accepts what is offered now.
func (h *Host) Accept(ctx context.Context) error { return h.accept(ctx) }
