package sessions

import (
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// blobPrefix begins a reference to a file in the blob directory: the SHA-256 of its bytes in hex follows.
const blobPrefix = "blob:sha256:"

// readBlob returns the bytes behind a reference.
func readBlob(dir, ref string) ([]byte, error) {
	sum := strings.TrimPrefix(ref, blobPrefix)
	if b, err := hex.DecodeString(sum); err != nil || len(b) != 32 {
		return nil, fmt.Errorf("%.80q is not a blob reference", ref)
	}
	return os.ReadFile(filepath.Join(dir, sum))
}
