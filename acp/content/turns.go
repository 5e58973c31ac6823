package content

// TurnsMeta is the name in the _meta of a client's capabilities for true, if the client shows turns that the agent begins without a prompt.
const TurnsMeta = "gjc.turns"

// StateMeta is the name in the _meta of a session_info_update for the state of a session while no prompt runs, in the form of a state_update
// of version 2 of the protocol.
const StateMeta = "gjc.state"
