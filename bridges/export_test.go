package bridges

// Errors that tests look for.
var (
	ErrCannotAsk  = errCannotAsk
	ErrSecretForm = errSecretForm
)
