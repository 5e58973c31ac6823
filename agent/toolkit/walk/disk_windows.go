package walk

import "os"

// ReadInto is like [ReadFile], but reads into buf, or into a larger buffer if buf is too small.
func ReadInto(buf []byte, path string, limit int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // read only
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() || info.Size() > limit {
		return nil, err
	}
	return readWhole(buf, info.Size(), limit, f.Read)
}
