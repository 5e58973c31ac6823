package providers

// Event is one thing that a model says while it streams: [TextDelta], [ThinkingDelta], [ToolCallStart],
// [ToolCallDelta], [UsageSoFar] or [Done].
type Event interface{ isEvent() }

// TextDelta is more text. Text is never empty.
type TextDelta struct{ Text string }

// ThinkingDelta is more reasoning. Text is never empty.
type ThinkingDelta struct{ Text string }

// ToolCallStart announces a tool call whose input is about to stream.
type ToolCallStart struct{ ID, Name string }

// ToolCallDelta is more of the input of the call named by ID. Input is a fragment of JSON text.
type ToolCallDelta struct{ ID, Input string }

// UsageSoFar is what the API has told so far of what the answer uses. It counts from the begin of the answer, so each one
// replaces the one before, and the usage of [Done] the last. A zero one says that the model has begun and no more: it stands
// where an API tells of a begin before anything is said. An answer that breaks off has used no less.
type UsageSoFar struct{ Usage Usage }

// Done ends a stream that succeeded. Message is the whole answer, with its stop reason and usage.
type Done struct{ Message Message }

func (TextDelta) isEvent()     {}
func (ThinkingDelta) isEvent() {}
func (ToolCallStart) isEvent() {}
func (ToolCallDelta) isEvent() {}
func (UsageSoFar) isEvent()    {}
func (Done) isEvent()          {}
